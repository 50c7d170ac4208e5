"""Payloads of controllers: the same torques as of a model that has the load, and nobody else's."""

from __future__ import annotations

import numpy as np
import pytest

from support.disturbances import follow, plant_of, rms, swing
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.payload import ask_for, is_taken, ramp_load, take_wanted_load
from torqued.kernels.model.catalog import describe
from torqued.tools.demos.models import with_payload
from torqued.tools.demos.plant import Plant

#: By law, what it needs.
OPTIONS = {
    "gravity": {},
    "pd": {},
    "pd_plus": {},
    "computed_torque": {},
    "passivity": {},
    "adaptive": {"frame": "panda_hand"},
    "impedance": {"frame": "panda_hand"},
    "wholebody": {"tasks": [{"kind": "posture"}]},
    "stream": {"want": ["M", "C", "g", "bias", "energy", "com"]},
}
LOAD = {"frame": "panda_hand", "mass": 1.5, "center": [0.02, 0.0, 0.1]}


@pytest.fixture(scope="module")
def robot():
    return Robot.named("panda")


#: Damping of `impedance` is designed for the robot as it is in its file.
@pytest.mark.parametrize("law", [law for law in OPTIONS if law != "impedance"])
def test_torques_are_those_of_a_robot_that_has_the_load(robot, law):
    here = Controller(robot, law, payload=LOAD, **OPTIONS[law])
    gains = {} if law == "stream" else {"gains": here.gains}
    there = Controller(robot.with_payload(LOAD), law, **gains, **OPTIONS[law])
    bare = Controller(robot, law, **gains, **OPTIONS[law])
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v = robot.random_state(rng)
        references = {
            name: q for name in ("q_ref", "posture", "posture.position") if name in here.references
        }
        outputs = [vars(c.torque(q, 0.1 * v, **references)) for c in (here, there, bare)]
        name = "g" if law == "stream" else "tau"
        for key in here.outputs:
            assert np.allclose(outputs[0][key], outputs[1][key], rtol=1e-9, atol=1e-9), key
        assert not np.allclose(outputs[0][name], outputs[2][name], atol=1e-3)


def test_a_payload_leaves_the_robot_and_other_controllers_alone(robot):
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    other = Controller(robot, "passivity", observer=True)
    before = other.torque(q, v, q_ref=q).tau
    model = robot.model.bodies.tobytes()
    with_load = Controller(robot, "passivity", payload=LOAD)
    for _ in range(3):
        with_load.torque(q, v, q_ref=q)
        assert np.array_equal(other.torque(q, v, q_ref=q).tau, before)
    assert robot.model.bodies.tobytes() == model
    # In the workspace that has had it on as well, to the bit.
    assert with_load._workspace().arrays.bodies.tobytes() == model


def test_what_is_carried_can_change(robot):
    q = robot.neutral()
    still = np.zeros(robot.nv)
    controller = Controller(robot, "gravity")
    controller.carry(LOAD)
    assert np.allclose(controller.torque(q, still).tau, robot.with_payload(LOAD).gravity(q))
    controller.carry({"frame": "panda_link4", "mass": 2.0})
    both = robot.with_payload([LOAD, {"frame": "panda_link4", "mass": 2.0}])
    assert np.allclose(controller.torque(q, still).tau, both.gravity(q))
    controller.carry({"frame": "panda_hand", "mass": 0.0})
    controller.carry({"frame": "panda_link4", "mass": 0.0})
    assert np.allclose(controller.torque(q, still).tau, robot.gravity(q), atol=1e-12)


def test_ramps_are_even_and_end_where_they_should(robot):
    """Torques are linear in what is carried: equal steps, and the last one ends exactly."""
    q, still, ticks = robot.random_state(np.random.default_rng(2))[0], np.zeros(robot.nv), 50
    controller = Controller(robot, "gravity", payload={"frame": "panda_hand", "mass": 1e-9})
    data, payload = controller.data, controller.payload
    ask_for(payload.changed(LOAD), payload, data, ticks)
    assert not is_taken(data)
    seen = [controller.torque(q, still).tau]
    for _ in range(ticks + 5):
        take_wanted_load.py_func(data)
        ramp_load.py_func(data)
        seen.append(controller.torque(q, still).tau)
    assert is_taken(data)
    wanted = robot.with_payload(LOAD).gravity(q)
    steps = np.diff(np.array(seen), axis=0)
    assert np.allclose(steps[:ticks], (wanted - robot.gravity(q)) / ticks, atol=1e-7)
    assert not steps[ticks:].any()
    assert np.array_equal(data.load, data.load_target)
    assert np.allclose(seen[-1], wanted, atol=1e-12)
    # In the middle of another ramp a new one starts from there.
    ask_for(payload.changed({"frame": "panda_hand", "mass": 0.0}), payload, data, ticks)
    for _ in range(ticks):
        take_wanted_load.py_func(data)
        ramp_load.py_func(data)
    assert not data.load.any()


@pytest.mark.parametrize("name", ["panda", "ur5", "xarm7", "z1"])
def test_arms_that_are_told_of_their_load_are_followed_closely(name):
    """MuJoCo's arm has the load, the model does not."""
    description = describe(name)
    bare = plant_of(name)
    frames = bare.robot.frame_table
    link = [item.name for item in description.links if not frames.is_fixed(item.name)][-1]
    mass, at, edge = 0.01 * float(bare.robot.limits.effort[1]), [0.02, 0.0, 0.05], 0.1
    plant = Plant(with_payload(description, link, mass, np.array(at), edge))
    load = {"frame": link, "mass": mass, "center": at, "inertia": mass * edge**2 / 6 * np.eye(3)}
    motion = swing(bare, name)
    told = Controller(bare.robot, "computed_torque", payload=load)
    untold = Controller(bare.robot, "computed_torque")
    close = rms(follow(plant, told, motion, 1.2)["error"][300:])
    far = rms(follow(plant, untold, motion, 1.2)["error"][300:])
    assert close < 1e-3
    assert close < 0.1 * far
