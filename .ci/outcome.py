"""A pytest plugin that writes how a run ended to the directory $OUTCOME, for .ci/test_twice.

exit      1: every test ran and some failed; pytest's exit code otherwise, CRASHED where a process
          of pytest-xdist died. Missing where pytest itself died
failed    node ids of tests that failed, sorted
passed    node ids of tests that passed, sorted
summary   how many tests passed, failed and were skipped
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

CRASHED = 3

_failed: set[str] = set()
_passed: set[str] = set()
_skipped: set[str] = set()
_problems: set[int] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)
    elif report.skipped:
        _skipped.add(report.nodeid)
    elif report.when == "call":
        _passed.add(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _problems.add(int(pytest.ExitCode.INTERRUPTED))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    if error:
        _problems.add(CRASHED)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if hasattr(session.config, "workerinput"):  # a process of pytest-xdist, not the one that counts
        return
    passed = _passed - _failed
    counts = Counter(failed=len(_failed), passed=len(passed), skipped=len(_skipped))
    folder = Path(os.environ["OUTCOME"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (
        ("failed", sorted(_failed)),
        ("passed", sorted(passed)),
        ("summary", [", ".join(f"{count} {kind}" for kind, count in counts.items() if count)]),
        ("exit", [str(max(_problems, default=int(exitstatus)))]),
    ):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
