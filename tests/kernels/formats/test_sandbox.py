"""What a program in the sandbox can reach, once it is out of its own language."""

from __future__ import annotations

import os
import sys

import pytest

from torqued.kernels import ModelError
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sandbox import evaluated

#: The statement of the request runs there, with what a program could have loaded before.
PROGRAM = """
import os, shutil, socket, subprocess, sys
def answer(request):
    found = {}
    exec(request["text"], globals(), found)
    return {"found": found.get("x", "")}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "program_of_test.py").write_text(PROGRAM)
    (tmp_path / "secret").write_text("plan")
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "mesh").write_text("triangles")
    (folder / "link").symlink_to(tmp_path / "secret")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(folder)

    def run(text: str, inside: bool = True) -> str:
        file = RobotFile(text, "robot", folder if inside else None)
        return evaluated(file, "program_of_test", {}, seconds=1)["found"]

    return run


def test_files_of_its_folder_can_be_read(run):
    assert (
        run("x = open('mesh').read() + str(sorted(os.listdir('.')))") == "triangles['link', 'mesh']"
    )


@pytest.mark.parametrize("paths", [[], ["a\0b"]])
def test_process_that_cannot_start_is_told(run, monkeypatch, paths):
    monkeypatch.setattr(sys, "path", paths)
    with pytest.raises(ModelError, match="no process can read it: "):
        run("x = 'never'")


def test_environment_is_empty(run, monkeypatch):
    monkeypatch.setenv("TOKEN", "plan")
    usual = {"LD_LIBRARY_PATH", "LC_CTYPE", "OPENBLAS_NUM_THREADS"}
    assert run(f"x = str({{*os.environ}} - {usual})") == "set()"


@pytest.mark.parametrize(
    "statement",
    [
        "x = open('../secret').read()",
        "x = open('link').read()",
        "x = open('/proc/self/environ').read()",
        "x = str(os.listdir('..'))",
        "x = str(os.open('../secret', 0))",
        "open('new', 'w')",
        "os.open('mesh', os.O_RDWR)",
        "os.remove('mesh')",
        "os.rename('mesh', 'other')",
        "os.mkdir('new')",
        "shutil.rmtree('.')",
        "os.system('touch new')",
        "os.fork()",
        "subprocess.run(['touch', 'new'])",
        "os.kill(os.getppid(), 0)",
        "socket.socket()",
        "import ctypes",
        "import http.client",
    ],
)
def test_nothing_else_can_be_done(run, statement):
    with pytest.raises(ModelError, match=r"PermissionError: (opens|does what)") as caught:
        run(statement)
    assert "plan" not in str(caught.value)
    assert sorted(os.listdir()) == ["link", "mesh"]


def test_text_without_a_folder_reads_nothing(run):
    with pytest.raises(ModelError, match="opens 'mesh'"):
        run("x = open('mesh').read()", inside=False)


@pytest.mark.parametrize(
    "statement",
    [
        "while True: pass",
        "10**10**8",
        "x = [0] * 10**9",
        "x = 'a' * 10**8",
        "os._exit(0)",
        "sys.exit()",
    ],
)
def test_bounds_of_time_memory_and_output_hold(run, statement):
    with pytest.raises(ModelError, match="cannot be read within 1 s of CPU time, 2048 MiB"):
        run(statement)


def test_what_it_prints_is_not_its_answer(run):
    assert run("print('{}'); sys.stderr.write('a' * 10**6); x = 'robot'") == "robot"
