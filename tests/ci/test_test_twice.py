"""The gate's two passes, on tiny projects: what is flaky, what stops a merge."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "test_twice"
#: Fails in the first pass alone: it leaves a file behind.
ONCE = """
from pathlib import Path

def test_once(request):
    known = Path("known")
    before = known.exists()
    known.touch()
    assert before
"""
GOOD, BAD = "def test_good(): pass\n", "def test_bad(): assert False\n"


@pytest.fixture
def gate(tmp_path):
    """Runs both passes on test files; the exit code and the report."""
    (tmp_path / "Makefile").write_text(f"test:\n\t{sys.executable} -m pytest -q $(ARGS)\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    # The surrounding run's own arguments are not this one's.
    foreign = ("PYTEST", "MAKE", "MFLAGS", "OUTCOME", "PYTHONPATH")
    variables = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}

    def run(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        report = tmp_path / "report"
        command = ["bash", str(SCRIPT), str(report)]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
        return done.returncode, report.read_text().splitlines()

    return run


def test_first_pass_that_succeeds_is_the_only_one(gate):
    assert gate(test_a=GOOD) == (0, ["first pass: 1 passed"])


def test_failure_that_passes_alone_is_flaky_and_does_not_stop_a_merge(gate):
    assert gate(test_a=GOOD + ONCE) == (
        0,
        ["first pass: 1 failed, 1 passed", "second pass: 1 passed", "FLAKY: test_a.py::test_once"],
    )


def test_failure_that_fails_again_stops_a_merge(gate):
    assert gate(test_a=GOOD + BAD + ONCE) == (
        1,
        [
            "first pass: 2 failed, 1 passed",
            "second pass: 1 failed, 1 passed",
            "FLAKY: test_a.py::test_once",
            "FAILED twice: test_a.py::test_bad",
        ],
    )


def test_failure_that_is_skipped_in_the_second_pass_stops_a_merge(gate):
    skips = ONCE.replace("assert before", "import pytest; before and pytest.skip(); assert False")
    status, report = gate(test_a=skips)
    assert status == 1
    assert report[-1] == "FAILED twice: test_a.py::test_once"


def test_parameters_of_any_kind_are_found_again(gate):
    cases = ["a b", "c::d", "$HOME", "é'\"", "[x]"]
    head = f"import pytest\n@pytest.mark.parametrize('case', {cases!r})\n"
    status, report = gate(test_a=head + "def test_case(case): assert False\n")
    assert status == 1
    assert report[1] == "second pass: 5 failed"


def test_many_failures_are_not_retried(gate):
    status, report = gate(test_a="".join(f"def test_{k}(): assert False\n" for k in range(21)))
    assert status == 1
    assert report[-1] == "21 tests failed: more than 20 are not retried"
    assert not any(line.startswith("second pass") for line in report)


INTERRUPTED = ONCE + "\ndef test_end(): raise KeyboardInterrupt\n"
DYING = ONCE + "\nimport os\ndef test_end(): os._exit(0)\n"


@pytest.mark.parametrize(
    "files",
    [
        {"test_a": ONCE, "test_b": "import nothing_of_that_name"},
        {"test_a": INTERRUPTED},
        {"test_a": ONCE, "conftest": "def pytest_runtest_logfinish(): raise RuntimeError"},
        {"test_a": DYING},
        {"test_a": ONCE, "conftest": "pytest_plugins = ['nothing_of_that_name']"},
    ],
    ids=["collection error", "interrupted", "internal error", "death", "usage"],
)
def test_run_that_does_not_end_is_a_failure_and_never_flaky(gate, files):
    status, report = gate(**files)
    assert status == 1
    assert report[-1] == "the tests did not run to their end"
    assert not any(line.startswith(("second", "FLAKY")) for line in report)


@pytest.mark.parametrize("what", ["death", "collection error"])
def test_processes_side_by_side_are_counted_the_same(gate, tmp_path, what):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -n2\n")
    broken = DYING if what == "death" else "import nothing_of_that_name"
    status, report = gate(test_a=ONCE, test_b=broken)
    assert status == 1
    assert report[-1] == "the tests did not run to their end"


def test_second_pass_undoes_processes_side_by_side(gate, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -n2\n")
    status, report = gate(test_a=ONCE, test_b=GOOD)
    assert (status, report[-1]) == (0, "FLAKY: test_a.py::test_once")
