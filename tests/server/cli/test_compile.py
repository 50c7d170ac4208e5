import io

import pytest
from rich.console import Console

from torqued.kernels.compilation import entries as compiled
from torqued.server.cli import compile as command
from torqued.server.cli.main import main


@pytest.fixture
def three_kernels(monkeypatch):
    """A compiler of three kernels in place of the real one."""

    def compile_all(report):
        for done, name in enumerate(["rnea", "crba", "aba"]):
            report(name, done, 3)
        report("", 3, 3)
        return compiled.CompileSummary(kernels=3, from_cache=2, seconds=1.25, cache="/some/folder")

    monkeypatch.setattr(compiled, "compile_all", compile_all)


def test_command_says_how_many_kernels_are_ready(three_kernels, capsys):
    assert main(["compile"]) == 0
    assert capsys.readouterr().out == (
        "3 kernels ready in 1.2 s, 2 of them from the cache\ncache: /some/folder\n"
    )


def test_terminal_shows_count_and_name_of_each_kernel(three_kernels):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    assert command.compile_with_progress(terminal).kernels == 3
    assert "3/3" in terminal.file.getvalue()


def test_log_gets_lines_of_progress_when_it_takes_long(three_kernels, monkeypatch):
    monkeypatch.setattr(command, "LOG_INTERVAL", -1.0)
    log = Console(file=io.StringIO(), width=100)
    command.compile_with_progress(log)
    assert "compiling kernels: 1 of 3\n" in log.file.getvalue()


def test_log_stays_quiet_when_it_is_quick(three_kernels):
    log = Console(file=io.StringIO(), width=100)
    command.compile_with_progress(log)
    assert "compiling" not in log.file.getvalue()
