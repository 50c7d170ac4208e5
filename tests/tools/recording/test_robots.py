"""Robots of recordings: with the joints that the daemon had locked, also where none is named."""

import argparse
import json
from types import SimpleNamespace

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.model.catalog import find_file
from torqued.server.config import load_config
from torqued.server.observation.directory import plain
from torqued.server.worker.source import Source
from torqued.tools.cli.replay import robot_of
from torqued.tools.recording.robots import described_robot

#: `[robot]` of a daemon that had no key `locked`.
OLD = {"model": "panda", "seed": 0, "gravity": [0.0, 0.0, -9.81], "armature": {}, "mimic": "follow"}


def recorded(**robot):
    """The robot of a daemon as its directory has it, loaded again from that alone."""
    options = {"robot": robot}
    description = Source.of(None, options, load_config(None, options, {})).description()
    text = description.pop("text")
    written = json.loads(json.dumps(plain({"base": "fixed", "source": description})))
    return described_robot(written, text, "recording")


@pytest.mark.parametrize(
    "locked", [None, [], ["panda_joint1"], {"panda_joint7": 0.5, "panda_joint1": None}]
)
def test_recording_keeps_what_was_locked(locked):
    given = {} if locked is None else {"locked": locked}
    robot = Robot.named("panda", **given)
    found = recorded(model="panda", **given)
    assert (found.locked, found.joint_names) == (robot.locked, robot.joint_names)


def test_recording_without_the_key_has_all_joints():
    text = find_file("panda").read_text()
    found = described_robot({"base": "fixed", "source": {"robot": OLD}}, text, "recording")
    assert (found.nv, found.locked) == (8, {})


@pytest.mark.parametrize("locked", [None, ()])
def test_named_robot_of_a_replay_has_the_joints_that_were_recorded(locked):
    robot = Robot.named("panda", locked=locked)
    recording = SimpleNamespace(robot={"joints": list(robot.joint_names)})
    args = argparse.Namespace(config=None, robot="panda")
    assert robot_of(args, recording).joint_names == robot.joint_names


MJCF = """<mujoco model="two"><include file="gravity.xml"/><worldbody>
<body name="a" euler="10 20 30" pos="0.1 0.2 0.3">
  <joint name="one" axis="1 2 3" range="-90 90" armature="0.1" pos="0.01 0.02 0"/>
  <geom type="capsule" size="0.1 0.3"/>
  <body name="b" pos="0 0 0.3"><joint name="two" type="ball"/>
    <geom type="box" size="0.1 0.2 0.3" euler="30 0 0"/></body>
</body></worldbody>
<keyframe><key name="home" qpos="0.3 0.6 0 0.8 0"/></keyframe></mujoco>"""


@pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")
def test_robot_of_a_file_of_another_kind_is_recorded_to_the_bit(tmp_path):
    """Its file may lie in several, which a recording does not have."""
    (tmp_path / "two.xml").write_text(MJCF)
    (tmp_path / "gravity.xml").write_text('<mujoco><option gravity="0 0.3 -3"/></mujoco>')
    corrections = {"joints": {"one": {"effort": 5.0}}, "payload": {"frame": "b", "mass": 0.3}}
    robot = Robot.load(tmp_path / "two.xml", **corrections)
    found = recorded(model=str(tmp_path / "two.xml"), **corrections)
    assert found.name == "two" and found.postures == ("home",)
    assert found.limits.effort[0] == 5.0
    q, v = robot.random_state(np.random.default_rng(0))
    np.testing.assert_array_equal(found.mass_matrix(q), robot.mass_matrix(q))
    np.testing.assert_array_equal(found.bias(q, v), robot.bias(q, v))
