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

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.server.demos import live, live_setup, results
from torqued.server.demos.daemon import ProcessError, demo

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "torqued.server.cli.main", "demo"]
LONGEST = 300.0


def running_in(folder):
    """Process numbers of all that has a demo's folder on its command line."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    if str(folder).encode() in file.read():
                        found.append(int(entry))
            except OSError:
                continue  # has ended meanwhile
    return found


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
    assert outcome["rms_error"] < live.LARGEST_RMS
    assert outcome["requests"] > 0
    assert outcome["round_trip_p99"] >= outcome["round_trip_p50"] > 0
    assert outcome["statuses"]["OK"] > 0
    fallback = outcome["statuses"].get("FALLBACK", 0)  # a matter of the machine
    assert done.returncode == (1 if fallback else 0)
    assert (tmp_path / "demo_live.png").stat().st_size > 10_000
    assert not list(folder.glob("torqued-demo-*"))
    assert not running_in(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_demo_leaves_nothing_behind(place, number):
    environment, folder = place
    process = subprocess.Popen(
        [*COMMAND, "--seconds", "600"], stdout=subprocess.DEVNULL, env=environment
    )
    try:
        while len(running_in(folder)) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(LONGEST) == 130
    finally:
        process.kill()
        process.wait()
    assert not running_in(folder)
    assert not list(folder.glob("torqued-demo-*"))


def test_failed_process_is_told_with_its_own_words():
    with demo() as here:
        child = here.start("torqued.server.demos.live_robot", "{not json")
        with pytest.raises(ProcessError, match="JSONDecodeError"):
            child.wait(LONGEST)


def outcome(**changed):
    good = dict.fromkeys(live.Outcome.__dataclass_fields__, 0) | {"finite": True, "statuses": {}}
    return live.Outcome(**(good | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"rms_error": 1.01 * live.LARGEST_RMS},
        {"max_error": 1.01 * live.LARGEST_ERROR},
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
    assert 0.5 * live_setup.LARGEST_SHARE < share <= live_setup.LARGEST_SHARE
    assert setup.reference.amplitude.min() > 0.01


@pytest.mark.parametrize("seconds", [-1.0, 0.0, float("nan"), 1e9])
def test_senseless_durations_are_refused(seconds):
    with pytest.raises(InputError, match="--seconds"):
        results.duration(seconds, 8.0, 0.5)
