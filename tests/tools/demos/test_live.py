"""The demo as a user runs it: three processes beside the command, and nothing left of them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from support.eventually import eventually
from support.viewing import running_in
from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.tools.demos import live, live_setup, results
from torqued.tools.demos.daemon import ProcessError, Signals, demo

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "torqued.tools.cli.main", "demo"]
LONGEST = 300.0


@pytest.fixture
def place():
    """A folder for temporary files, with a path short enough for sockets, and an environment."""
    with tempfile.TemporaryDirectory(prefix="tqd") as folder:
        yield {**os.environ, "TMPDIR": folder}, Path(folder)


def test_demo_tracks_and_tells_what_happened(place, tmp_path):
    environment, folder = place
    done = subprocess.run(
        [*COMMAND, "--seconds", "1", "--plot", str(tmp_path), "--json", str(tmp_path / "o.json")],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        env=environment,
    )
    assert done.stdout.count("holds") + done.stdout.count("FAILED") == 4, done.stderr
    outcome = json.loads((tmp_path / "o.json").read_text())
    assert outcome["plant"] == "mujoco"
    assert outcome["finite"]
    assert outcome["requests"] > 0
    assert outcome["round_trip_p99"] >= outcome["round_trip_p50"] > 0
    assert outcome["statuses"]["OK"] > 0
    # How late torques are, and so how well they track, is a matter of the machine here; that the
    # law tracks is shown in lock step (test_experiments.py).
    assert done.returncode == (0 if all_hold(outcome) else 1)
    assert (tmp_path / "demo_live.png").stat().st_size > 10_000
    assert not list(folder.glob("torqued-demo-*"))
    assert not running_in(folder)


def all_hold(outcome):
    return all(check.holds for check in live.checks(live.Outcome(**outcome)))


@pytest.fixture
def running(place):
    """A demo that would run for long, with so many of its processes already there."""
    environment, folder = place
    started = []

    def start(processes):
        process = subprocess.Popen(
            [*COMMAND, "--seconds", "600"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
        )
        started.append(process)

        def has_started():
            assert process.poll() is None, process.stderr.read()
            return len(running_in(folder)) >= processes

        eventually(has_started)
        return process, folder

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("number", "processes"), [(signal.SIGINT, 3), (signal.SIGTERM, 1), (signal.SIGHUP, 3)]
)
def test_interrupted_demo_leaves_nothing_behind(running, number, processes):
    process, folder = running(processes)
    process.send_signal(number)
    _, said = process.communicate(timeout=LONGEST)
    assert (process.returncode, said) == (130, b"")
    assert not running_in(folder)
    assert not list(folder.glob("torqued-demo-*"))


@pytest.mark.parametrize("processes", [1, 3])
def test_killed_demo_leaves_nothing_behind_either(running, processes):
    """Its processes find out by themselves, so that they have a moment to end."""
    process, folder = running(processes)
    process.kill()
    process.wait()
    deadline = time.monotonic() + LONGEST
    while running_in(folder) or list(folder.glob("torqued-demo-*")):
        assert time.monotonic() < deadline, running_in(folder)
        time.sleep(0.02)


def test_interruption_waits_for_the_end_of_what_must_not_be_cut(monkeypatch):
    steps = []
    with pytest.raises(KeyboardInterrupt), Signals() as signals:
        with signals.held():
            os.kill(os.getpid(), signal.SIGTERM)
            with signals.held():
                steps.append("inner")
            steps.append("outer")
        steps.append("never")
    assert steps == ["inner", "outer"]


def test_signals_that_are_ignored_stay_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Signals():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "cores, robot_rate", [(64, 1000), (4, 1000), (3, 500), (2, 500), (1.5, 250), (1, 250)]
)
def test_fewer_cores_make_a_slower_robot(cores, robot_rate):
    assert 1 / live_setup.pace(cores).period == pytest.approx(robot_rate)


@pytest.mark.parametrize("limit, cores", [("50000 100000", 0.5), ("max 100000", None), ("", None)])
def test_cores_are_those_that_a_container_may_use(tmp_path, limit, cores):
    file = tmp_path / "cpu.max"
    file.write_text(limit)
    everything = len(os.sched_getaffinity(0))
    assert live_setup.usable_cores(file) == (everything if cores is None else cores)
    assert live_setup.usable_cores(tmp_path / "none") == everything


def test_what_was_reached_is_said_in_plain_words():
    assert live.real_time(outcome(ticks=8000, seconds=8.0)).startswith(
        "kept: the loop left out none of"
    )
    busy = outcome(ticks=7000, missed=1000, halted=1.9, seconds=8.0, realtime="not granted")
    assert live.real_time(busy) == (
        "the loop left out 1000 of 8000 ticks; the simulated robot waited for 1900 ms of 8 s: "
        "other programs had the processors meanwhile, which realtime priority would prevent for "
        "the loop (docs/OPERATIONS.md)"
    )


def test_failed_process_is_told_with_its_own_words():
    with demo() as here:
        child = here.start("torqued.tools.demos.live_robot", "{not json")
        with pytest.raises(ProcessError, match="JSONDecodeError"):
            child.wait(LONGEST)


def outcome(**changed):
    good = dict.fromkeys(live.Outcome.__dataclass_fields__, 0) | {"finite": True, "statuses": {}}
    return live.Outcome(**(good | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"rms_error": 1.01 * live.MAX_RMS},
        {"max_error": 1.01 * live.MAX_ERROR},
        {"max_error": float("nan")},
        {"finite": False},
        {"statuses": {"FALLBACK": 1}},
    ],
)
def test_each_fault_by_itself_fails_the_demo(changed):
    assert all(check.holds for check in live.checks(outcome()))
    assert sum(not check.holds for check in live.checks(outcome(**changed))) == 1


def test_without_mujoco_torqueds_own_equations_move_the_robot(monkeypatch):
    monkeypatch.setattr(live_setup.importlib.util, "find_spec", lambda name: None)
    assert live_setup.choose().plant == "torqued"


def test_without_named_robots_it_is_a_chain_whose_torques_have_room(monkeypatch):
    monkeypatch.setattr(live_setup.catalog, "urdf_files", dict)
    setup = live_setup.choose()
    assert setup.name == "chain20"
    robot = Robot.from_description(setup.description)
    share = live_setup.torque_share(robot, setup.reference)
    assert 0.5 * live_setup.MAX_SHARE < share <= live_setup.MAX_SHARE
    assert setup.reference.amplitude.min() > 0.01


@pytest.mark.parametrize("seconds", [-1.0, 0.0, float("nan"), 1e9])
def test_senseless_durations_are_refused(seconds):
    with pytest.raises(InputError, match="--seconds"):
        results.duration(seconds, 8.0, 0.5)
