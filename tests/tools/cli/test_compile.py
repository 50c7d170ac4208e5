import io
import os
import signal
import subprocess
import sys

import pytest
from rich.console import Console

from support.eventually import PATIENCE, eventually
from torqued.kernels.compilation import entries as compiled
from torqued.kernels.compilation import jit
from torqued.tools.cli import compile as command
from torqued.tools.cli.main import main


@pytest.fixture
def three_kernels(monkeypatch):
    """A compiler of three kernels in place of the real one."""

    def compile_all(report):
        for done, name in enumerate(["rnea", "crba", "aba"]):
            report(name, done, 3, [42.0, 7.2, 0.0][done])
        report("", 3, 3, 0.0)
        return compiled.CompileSummary(kernels=3, from_cache=2, seconds=1.25, cache="/some/folder")

    monkeypatch.setattr(compiled, "compile_all", compile_all)
    monkeypatch.setattr(jit, "is_cached", lambda name: name == "crba")


def test_command_says_how_many_kernels_are_ready(three_kernels, capsys):
    assert main(["compile"]) == 0
    assert capsys.readouterr().out == (
        "compiling kernels once for this machine; about 40 s left, 0 of 3 ready\n"
        "3 kernels ready in 1.2 s, 2 of them from the cache\ncache: /some/folder\n"
    )


def test_terminal_shows_what_is_done_and_the_time_left(three_kernels):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=150)
    assert command.compile_with_progress(terminal).kernels == 3
    assert "3/3" in terminal.file.getvalue()
    assert "compiling kernels once for this machine" in terminal.file.getvalue()
    assert "loading kernels" in terminal.file.getvalue()
    assert "about 40 s left" in terminal.file.getvalue()


def test_log_gets_lines_of_progress_when_it_takes_long(three_kernels, monkeypatch):
    monkeypatch.setattr(command, "LOG_INTERVAL", -1.0)
    log = Console(file=io.StringIO(), width=100)
    command.compile_with_progress(log)
    assert log.file.getvalue() == (
        "compiling kernels once for this machine; about 40 s left, 0 of 3 ready\n"
        "compiling kernels once for this machine; about 7 s left, 1 of 3 ready\n"
        "loading kernels; 2 of 3 ready\n"
        "loading kernels; 3 of 3 ready\n"
    )


def test_log_says_at_once_that_kernels_are_compiled_and_nothing_when_they_are_loaded(three_kernels):
    log = Console(file=io.StringIO(), width=100)
    command.compile_with_progress(log)
    line = "compiling kernels once for this machine; about 40 s left, 0 of 3 ready\n"
    assert log.file.getvalue() == line

    def load(report):
        report("rnea", 0, 1, 0.0)
        report("", 1, 1, 0.0)
        return compiled.CompileSummary(1, 1, 0.1, "/some/folder")

    command.compile_with_progress(log, load)
    assert log.file.getvalue() == line


@pytest.mark.parametrize("folder, problem", [("/", ""), (None, "cache folder /x is full")])
def test_cache_that_keeps_nothing_is_told_before_the_work(
    three_kernels, monkeypatch, capsys, folder, problem
):
    monkeypatch.setattr(jit, "CACHE_FOLDER", folder)
    monkeypatch.setattr(jit, "CACHE_PROBLEM", problem)
    monkeypatch.setattr(jit, "ENTRIES", dict.fromkeys(["rnea", "crba", "aba"]))
    monkeypatch.setattr(command.os, "access", lambda path, mode: False)
    command.warn_if_not_cached()
    said = capsys.readouterr().err
    assert said.startswith(
        f"torqued: warning: {problem or 'cache directory / is not writable'}: 2 "
    )


def test_cache_that_lacks_nothing_need_not_be_writable(three_kernels, monkeypatch, capsys):
    monkeypatch.setattr(jit, "CACHE_FOLDER", None)
    monkeypatch.setattr(jit, "ENTRIES", {"crba": None})
    command.warn_if_not_cached()
    assert not capsys.readouterr().err


#: The command with a compiler that never lets the main thread answer a signal.
BUSY = """
import ctypes, subprocess, sys
from torqued.kernels.compilation import entries
from torqued.tools.cli.main import main

def compile_all(report, names=()):
    with entries._helper(list(entries.ENTRIES)) as helper:
        print(helper.pid if helper else 0, flush=True)
        ctypes.CDLL(None).pause()      # returns after a signal, and the loop calls it again
        while True:
            ctypes.CDLL(None).sleep(600)

entries.compile_all = compile_all
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def compiling(tmp_path):
    """A command that compiles, in a group of its own like a terminal's; its helper's number."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", BUSY, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"TORQUED_CACHE_DIR": str(tmp_path / "cache")},
        )
        started.append(process)
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.slow
def test_interruption_while_compiling_ends_all_at_once_without_a_traceback(compiling):
    process, helper = compiling("compile")
    assert helper and not has_ended(helper)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted; finished kernels stay in the cache\n"
    eventually(lambda: has_ended(helper))  # sees that the pipe to it has closed


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_daemon_that_still_compiles_stops_at_once_and_leaves_no_files(compiling, tmp_path, number):
    folder = tmp_path / "run"
    process, _ = compiling("serve", "--robot", "chain2", "--folder", str(folder))
    assert list(folder.iterdir())
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert out == "stopped before it was ready\n"
    assert not list(folder.iterdir())
