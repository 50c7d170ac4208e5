"""Robots of recordings: with the joints that the daemon had locked, also where none is named."""

import argparse
import json
from types import SimpleNamespace

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
