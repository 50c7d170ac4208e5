"""What robots carry, against Pinocchio's own sums of inertias."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.model_cases import arm
from torqued.kernels import InputError, ModelError, ModelWarning, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.model.catalog import find_file
from torqued.kernels.model.description import Limits
from torqued.kernels.model.payloads import MAX_LOADS, load_of, symmetric

LOAD = {
    "frame": "panda_hand",
    "mass": 2.0,
    "center": [0.03, -0.02, 0.1],
    "inertia": [0.012, 0.001, -0.002, 0.013, 0.0005, 0.009],
}


@pytest.fixture(scope="module")
def panda():
    return Robot.named("panda")


def pinocchio_with(load):
    """Pinocchio's Panda with the same load, joined by Pinocchio."""
    model = pin.buildModelFromUrdf(str(find_file("panda")))
    frame = model.frames[model.getFrameId(load["frame"])]
    rotational = symmetric(load["inertia"])
    inertia = pin.Inertia(load["mass"], np.array(load["center"]), rotational)
    model.appendBodyToJoint(frame.parentJoint, inertia, frame.placement)
    return model


def test_dynamics_are_those_of_pinocchio(panda):
    loaded, model = panda.with_payload(LOAD), pinocchio_with(LOAD)
    free = Robot.named("panda", mimic="free", locked=()).with_payload(LOAD)
    model.armature = free.limits.armature
    data, rng = model.createData(), np.random.default_rng(0)
    for _ in range(5):
        q, v = free.random_state(rng)
        a = rng.normal(size=free.nv)
        assert np.allclose(free.inverse_dynamics(q, v, a), pin.rnea(model, data, q, v, a))
    assert loaded.total_mass == pytest.approx(panda.total_mass + 2.0)
    q = panda.random_state(rng)[0]
    point_jacobian = panda.frame_jacobian(q, "panda_hand", point=LOAD["center"])[3:]
    weight = point_jacobian.T @ [0.0, 0.0, 2.0 * 9.81]
    assert np.allclose(loaded.gravity(q) - panda.gravity(q), weight, atol=1e-12)


def test_several_loads_and_the_robot_itself_is_left_alone(panda):
    q, before = panda.neutral(), panda.gravity(panda.neutral())
    hand, elbow = LOAD, {"frame": "panda_link4", "mass": 1.0}
    both = panda.with_payload([hand, elbow])
    one_by_one = panda.with_payload(hand).with_payload(elbow)
    assert np.allclose(both.mass_matrix(q), one_by_one.mass_matrix(q), rtol=1e-12)
    assert np.array_equal(panda.gravity(q), before)


def test_without_an_inertia_it_is_a_ball_of_water(panda):
    load = load_of(panda.model, {"frame": "panda_hand", "mass": 4.0 / 3.0 * np.pi})
    radius = 0.1  # of 4π/3 litres
    assert np.allclose(load.own.rotational, 0.4 * load.own.mass * radius**2 * np.eye(3))
    assert not load.own.com.any()


@settings(max_examples=50)
@given(st.lists(st.floats(-1.0, 1.0), min_size=12, max_size=12), st.floats(0.1, 5.0))
def test_every_set_of_points_is_possible(positions, mass):
    """Whatever four points with mass have for an inertia is taken."""
    points = np.array(positions).reshape(4, 3)
    center = points.mean(axis=0)
    about = sum(
        mass / 4 * ((p - center) @ (p - center) * np.eye(3) - np.outer(p - center, p - center))
        for p in points
    )
    robot = Robot.family("chain", 2)
    given_load = {"frame": robot.frame_names[-1], "mass": mass, "center": center, "inertia": about}
    load = load_of(robot.model, given_load)
    m, h = load.parameters[0], load.parameters[1:4]
    about_origin = symmetric(load.parameters[4:])
    second = 0.5 * np.trace(about_origin) * np.eye(3) - about_origin
    pseudo = np.block([[second, h[:, None]], [h[None, :], np.array([[m]])]])
    assert np.linalg.eigvalsh(pseudo).min() > -1e-9


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mass": -1.0}, r"loads.mass is -1.0, expected zero or a positive number"),
        ({"mass": float("nan")}, "loads.mass is nan, expected a finite number"),
        ({"mass": 1e12}, r"loads.mass has 1e\+12, expected numbers up to 1e\+09"),
        ({"mass": None}, "loads.mass is missing"),
        ({"mass": 0.0}, "loads.inertia: a load without mass has no inertia"),
        ({"center": [0.0, 1.0]}, r"loads.center: shape \(2,\), expected \(3,\)"),
        ({"inertia": [1.0, 0.0, 0.0, 1.0, 0.0, 3.0]}, "no body has the principal moments 1, 1, 3"),
        ({"inertia": [-1.0, 0.0, 0.0, 1.0, 0.0, 1.0]}, "no body has the principal moments -1, 1"),
        ({"inertia": np.triu(np.ones((3, 3)))}, "loads.inertia is not symmetric"),
        ({"frame": "hand"}, "loads.frame: frame 'hand' is unknown"),
        ({"frame": "panda_link0"}, "loads.frame: 'panda_link0' does not move"),
        ({"weight": 1.0}, "payloads: 'weight' is unknown, allowed: frame, mass, center, inertia"),
    ],
)
def test_what_no_robot_can_carry_is_refused(panda, changed, message):
    with pytest.raises(InputError, match=message):
        panda.with_payload(LOAD | changed)


def test_lists_are_checked(panda):
    with pytest.raises(InputError, match="frame 'panda_hand' has more than one load"):
        panda.with_payload([LOAD, LOAD])
    with pytest.raises(InputError, match=r"loads\[0\]: 3, expected a map with frame, mass"):
        panda.with_payload([3])
    with pytest.raises(InputError, match=f"expected at most {MAX_LOADS} loads"):
        panda.with_payload([LOAD] * (MAX_LOADS + 1))


def test_load_that_no_motor_could_hold_is_warned_of():
    ur5, load = Robot.named("ur5"), {"frame": "tool0", "mass": 100.0}
    expected = (
        r"payloads: 100 kg at frame 'tool0' take up to \d\.\d* times the effort limit of joint "
        r"'wrist_1_joint', 28: grams\?"
    )
    with pytest.warns(ModelWarning, match=expected):
        loaded = ur5.with_payload(load)
    (*_, note) = loaded.warnings
    assert re.fullmatch(expected, note) and len(loaded.warnings) == len(ur5.warnings) + 1
    with pytest.warns(ModelWarning, match="payload: 100 kg at frame 'tool0'"):
        controller = Controller(ur5, "gravity", payload=load)
    with pytest.warns(ModelWarning, match="payload: 200 kg at frame 'tool0'"):
        controller.carry(load | {"mass": 200.0})
    assert ur5.with_payload(load | {"mass": 20.0}).warnings == ur5.warnings  # four times the rated


def test_load_of_a_sliding_joint_is_compared_with_its_force():
    limits = Limits(0.0, 1.0, 1.0, 100.0)
    lift = Robot.from_description(arm(type="prismatic", limits=limits))
    heavy = {"frame": "hand", "mass": 60.0, "center": [3.0, 0.0, 0.0]}
    with pytest.warns(ModelWarning, match="take up to 5.89 times the effort limit of joint 'elb"):
        lift.with_payload(heavy)
    assert lift.with_payload(heavy | {"mass": 50.0}).warnings == ()


TOML = """
urdf = "{urdf}"
[tool]
frame = "panda_hand"
mass = 0.5
[[payload]]
frame = "panda_link7"
mass = 1.0
center = [0.0, 0.0, 0.1]
[friction]
coulomb = 0.2
viscous = {{ panda_joint1 = 1.5 }}
"""


def test_a_configuration_has_tool_payload_and_friction(tmp_path, panda):
    file = tmp_path / "robot.toml"
    file.write_text(TOML.format(urdf=find_file("panda")))
    robot = Robot.from_config(file)
    assert robot.total_mass == pytest.approx(panda.total_mass + 1.5)
    assert robot.limits.damping[:2].tolist() == [1.5, 0.003]
    assert (robot.limits.friction == 0.2).all() and robot.model.friction_measured
    file.write_text(TOML.format(urdf=find_file("panda")).replace("panda_hand", "hand"))
    with pytest.raises(ModelError, match=r"tool\.frame: frame 'hand' is unknown"):
        Robot.from_config(file)


@pytest.mark.parametrize(
    ("given_friction", "message"),
    [
        ({"viscous": -1.0}, "friction.viscous is -1.0, expected zero or a positive number"),
        ({"coulomb": {"joint1": 1.0}}, "friction.coulomb: joint 'joint1' is unknown"),
        ({"coulomb": {"panda_joint1": "x"}}, "friction.coulomb.panda_joint1: expected numbers"),
        ({"drag": 1.0}, "friction: 'drag' is unknown, allowed: viscous, coulomb"),
        (3, "friction: 3, expected a map"),
    ],
)
def test_wrong_friction_is_refused(panda, given_friction, message):
    with pytest.raises(InputError, match=message):
        panda.with_friction(given_friction)
