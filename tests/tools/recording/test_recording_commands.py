"""`torqued record`, `replay`, `plot` and `identify` from the outside.

One arm in MuJoCo, in lock step with a daemon that knows neither its payload nor its friction.
"""

import json
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from mcap.records import Message

from support.daemons import DaemonProcess
from support.disturbances import STEP, friction_of, plant_of, rub, swing
from support.eventually import eventually
from support.viewing import Recording
from torqued.kernels import Robot
from torqued.tools.cli.main import main
from torqued.tools.demos.models import panda, with_payload, write_urdf
from torqued.tools.demos.plant import Plant
from torqued.tools.demos.trajectories import Sines
from torqued.tools.recording import recording
from torqued.tools.recording.reader import Values
from torqued.tools.recording.recording import read_recording, records_of

MASS, AT = 1.5, np.array([0.03, -0.02, 0.08])
SECONDS = 3.0


def torqued(*arguments):
    command = [sys.executable, "-m", "torqued.tools.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A recording of the arm under `computed_torque`."""
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o700)
    out = tmp_path_factory.mktemp("recorded")
    urdf = write_urdf(panda(), folder / "arm.urdf")
    bare, plant = plant_of("panda"), Plant(with_payload(panda(), "panda_hand", MASS, AT, 0.1))
    rub(plant, **friction_of(bare))
    center = swing(bare, "panda")(0.0)[0]
    amplitude = np.minimum(0.6, 0.2 * bare.robot.limits.velocity)
    motion = Sines(center, amplitude, 0.4 + 0.13 * np.arange(7), start=0.5)
    daemon = DaemonProcess(folder, "arm", "--urdf", str(urdf), "--base", "fixed").start()
    try:
        with Recording(daemon, out) as recorder, daemon.client() as client:
            path = recorder.file  # it has begun
            plant.reset(*motion(0.0)[:2])
            with client.session("computed_torque", reference_limits=False) as session:
                for _ in range(round(SECONDS / STEP)):
                    q_ref, v_ref, a_ref = motion(plant.time)
                    output = session.step(
                        plant.q, plant.v, q_ref, v_ref, a_ref, at=plant.time, timeout=60.0
                    )
                    plant.step(output.tau, STEP)
            number = session.number
            eventually(lambda: is_whole(path, number))
    finally:
        daemon.stop()
    return path


def is_whole(path, number):
    recorded = read_recording(path).sessions.get(number)
    return recorded is not None and recorded.ticks["status"][-1] & 128


def test_replay_says_the_same_and_goes_by_its_exit_code(file):
    done = torqued("replay", file, "--tolerance", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "computed_torque" in done.stdout
    assert done.stdout.count("identical to the last bit") == 6
    other = torqued("replay", file, "--robot", "ur5")
    assert other.returncode == 2 and "references and outputs of law" in other.stderr


def test_replay_of_a_changed_robot_tells_the_first_tick(file, tmp_path):
    (tmp_path / "arm.urdf").write_text(read_recording(file).robot_text)
    settings = '[robot]\nurdf = "arm.urdf"\nbase = "fixed"\ngravity = [0.0, 0.0, -9.8]\n'
    (tmp_path / "arm.toml").write_text(settings)
    done = torqued("replay", file, "--config", tmp_path / "arm.toml")
    assert done.returncode == 1
    (tau,) = [line for line in done.stdout.splitlines() if line.split()[0] == "tau"]
    assert "largest difference" in tau and "first beyond the tolerance" in tau
    assert (
        torqued("replay", file, "--config", tmp_path / "arm.toml", "--tolerance", "1").returncode
        == 0
    )


def test_identify_finds_the_payload_and_writes_its_table(file, tmp_path):
    out, figures = tmp_path / "x.toml", tmp_path / "x.json"
    done = torqued("identify", file, "--frame", "panda_hand", "--out", out, "--json", figures)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(figures.read_text())
    assert abs(found["delay"]) < 3.0 * found["delay_error"] < 2e-3
    assert f"delay   {1e3 * found['delay']:.3g} ± " in done.stdout
    table = tomllib.loads((tmp_path / "x.toml").read_text())["robot"]
    assert table["payload"]["mass"] == pytest.approx(MASS, rel=0.02)
    assert np.allclose(table["payload"]["center"], AT, atol=3e-3)
    assert table["friction"]["viscous"]["panda_joint1"] == pytest.approx(1.0, rel=0.1)
    same = torqued("identify", file, "--frame", "panda_hand", "--unloaded", file)
    once, twice = (int(x.stdout.split(" samples")[0].split()[-1]) for x in (done, same))
    assert twice == 2 * once > 0, same.stdout + same.stderr
    carried = tomllib.loads(same.stdout[same.stdout.index("[robot.payload]") :])["robot"]["payload"]
    assert carried["mass"] < 0.01 * MASS  # it is in both recordings
    refused = torqued("identify", file, "--frame", "nowhere")
    assert refused.returncode == 2 and "nowhere" in refused.stderr


def test_identify_finds_the_arm_and_writes_what_a_configuration_takes(file, tmp_path):
    out, figures = tmp_path / "x.toml", tmp_path / "x.json"
    done = torqued("identify", file, "--arm", "--out", out, "--json", figures)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found, table = json.loads(figures.read_text()), tomllib.loads(out.read_text())["robot"]
    said = done.stdout.splitlines()
    for name, value in zip(found["names"], found["base"], strict=True):
        assert any(line.strip().startswith(name) and f"{value:.4g}" in line for line in said)
    better = np.array(found["held_out_file"]) / np.array(found["held_out_found"])
    assert (better > 3.0).all()
    assert [link["frame"] for link in table["links"]] == [f"panda_link{k}" for k in range(1, 8)]
    true = Plant(with_payload(panda(), "panda_hand", MASS, AT, 0.1)).robot
    robot = Robot.load("panda", **table)
    for motion in np.linspace(-0.2, 0.2, 5):
        q = swing(plant_of("panda"), "panda")(0.0)[0] + motion
        assert np.allclose(robot.gravity(q), true.gravity(q), atol=0.3)
    assert (found["unclear"] != []) == (done.returncode == 1)


def test_identify_refuses_what_is_not_one_arm_without_a_payload(file, monkeypatch, capsys):
    def said(*arguments):
        assert main(["identify", str(file), *map(str, arguments)]) == 2
        return capsys.readouterr().err

    assert "--arm takes several" in said(file, "--frame", "panda_hand")
    assert "--unloaded is for a payload" in said("--arm", "--unloaded", file)
    loaded, other = read_recording(file), read_recording(file)
    carried = Values(1, 500, np.array([0.0] * 60 + [1.2] + [0.0] * 9))
    loaded.session().loads.append(carried)
    other.directory = {**other.directory, "robot": {**other.robot, "nv": 6}}
    recordings = iter([loaded, read_recording(file), other])
    monkeypatch.setattr(recording, "read_recording", lambda path: next(recordings))
    assert "had a payload: record the arm without" in said("--arm")
    assert "is of another robot than" in said(file, "--arm")


def test_messages_of_another_layout_are_refused_by_name(file, monkeypatch):
    def shortened(path):
        for record in records_of(path):
            if isinstance(record, Message):
                record.data = record.data[:-1]
            yield record

    monkeypatch.setattr(recording, "records_of", shortened)
    with pytest.raises(recording.RecordingError, match="do not have this version's layout"):
        read_recording(file)


def test_plot_draws_what_is_asked_for(file, tmp_path):
    done = torqued("plot", file, "--what", "tau,error,lateness", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (picture,) = tmp_path.glob("*.png")
    assert picture.read_bytes().startswith(b"\x89PNG") and str(picture) in done.stdout
    wrong = torqued("plot", file, "--what", "happiness", "--out", tmp_path)
    assert wrong.returncode == 2 and "choose from q, v, q_ref" in wrong.stderr


@pytest.mark.parametrize("command", ["replay", "plot", "identify"])
def test_missing_file_and_session_are_told_in_a_line(file, tmp_path, command):
    frame = ["--frame", "panda_hand"] if command == "identify" else []
    done = torqued(command, tmp_path / "none.mcap", *frame)
    assert done.returncode == 2 and "no such file" in done.stderr
    done = torqued(command, file, "--session", "5", *frame)
    assert done.returncode == 2 and "unknown session 5 (recorded:" in done.stderr
