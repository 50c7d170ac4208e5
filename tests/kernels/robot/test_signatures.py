"""What all methods of a robot have in common: rest without v, results into the caller's arrays, and
the same names and order of arguments for one state, for many, and in a chart."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from support.cases import random_case
from support.mechanisms import wrist_on_a_slider
from torqued.common.errors import InputError
from torqued.common.results import Dynamics, Kinematics
from torqued.kernels import Robot
from torqued.kernels.batch.batch import Batch
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.primitives.wide import WIDTH

#: Arguments of a call by name; others have defaults.
NEEDED = ("q", "v", "a", "tau", "w", "b", "v_ref", "a_ref", "frame", "jerk")

WITH_OUT = sorted(
    name
    for name, method in inspect.getmembers(Robot, inspect.isfunction)
    if "out" in inspect.signature(method).parameters
    and not name.startswith("_")
    and name not in ("dynamics", "results_of")
)
WITH_V = sorted(
    name
    for name, method in inspect.getmembers(Robot, inspect.isfunction)
    if {"q", "v"} <= set(inspect.signature(method).parameters)
    and not {"contacts", "constraints", "seconds"} & set(inspect.signature(method).parameters)
    and not name.startswith("_")
    and name not in ("contact_terms", "solve_contacts", "dynamics", "kinematics")
)


ROBOTS = {
    "plain": lambda: Robot.family("biped", 4),
    "fixed": lambda: Robot.family("chain", 3),
    "mimics": lambda: random_case(3, 9, "floating", mimics=True).robot,
    "far-reaching": wrist_on_a_slider,
}


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request) -> Robot:
    return ROBOTS[request.param]()


@pytest.fixture(scope="module", params=["native", "pinocchio"])
def charted(robot, request):
    """The robot, and in a chart."""
    return robot.in_coordinates(request.param)


def test_far_reaching_robot_needs_the_precision_check():
    assert ROBOTS["far-reaching"]().needs_precision_check


def arguments(robot: Robot | ChartedRobot, name: str) -> dict[str, object]:
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    given = dict.fromkeys(NEEDED, v) | {"q": q, "frame": robot.frame_names[-1], "dt": 0.1}
    given["snap"] = v
    taken = inspect.signature(getattr(Robot, name)).parameters
    return {key: value for key, value in given.items() if key in taken}


@pytest.mark.parametrize("name", WITH_OUT)
def test_result_goes_into_the_callers_array(charted, name):
    method, given = getattr(charted, name), arguments(charted, name)
    expected = method(**given)
    out = np.full(expected.shape, np.nan)
    assert method(**given, out=out) is out
    assert np.array_equal(out, expected)
    with pytest.raises(InputError, match=r"out: .*expected a writeable float64 array"):
        method(**given, out=np.zeros(1 + expected.size))


@pytest.mark.parametrize("name", WITH_OUT)
def test_result_of_many_states_goes_into_the_callers_array(charted, name):
    method, given = getattr(charted.batch(), name), repeated(arguments(charted, name))
    expected = method(**given)
    out = np.full(expected.shape, np.nan)
    assert method(**given, out=out) is out
    assert np.array_equal(out, expected)
    with pytest.raises(InputError, match=r"out: .*expected a writeable float64 array"):
        method(**given, out=np.zeros(1 + expected.size))


@pytest.mark.parametrize(
    "name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives", "generalized_momentum"]
)
def test_results_of_many_states_go_into_the_callers_arrays(charted, name):
    method, given = getattr(charted.batch(), name), repeated(arguments(charted, name))
    expected = method(**given)
    out = tuple(np.full(x.shape, np.nan) for x in expected)
    for x, array, y in zip(method(**given, out=out), out, expected, strict=True):
        assert x is array
        assert np.array_equal(x, y)


def repeated(given: dict[str, object]) -> dict[str, object]:
    """For so many states that several are computed at a time, and some are left."""
    count = WIDTH + 1
    return {x: y if x == "frame" else np.array([y] * count) for x, y in given.items()}


@pytest.mark.parametrize("states", [None, WIDTH + 1], ids=["one", "many"])
def test_results_go_into_the_callers_arrays(charted, states):
    q, v = charted.random_state(np.random.default_rng(0))
    dynamics, lead = charted.dynamics, ()
    if states:
        q, v, lead = np.tile(q, (states, 1)), np.tile(v, (states, 1)), (states,)
        dynamics = charted.batch().dynamics
    frames, want = charted.frame_names[-2:], ("M", "Gamma", "J", "g")
    expected = dynamics(q, v, want, frames)
    out = {
        "Gamma": np.full_like(expected.Gamma, np.nan),
        "J": np.full((*lead, 2, 6, charted.nv), np.nan),
    }
    found = dynamics(q, v, want, frames, out=out)
    assert found.Gamma is out["Gamma"]
    for name in want:
        np.testing.assert_equal(found[name], expected[name])
    of_frames = np.moveaxis(out["J"], -3, 0)
    np.testing.assert_equal(dict(zip(frames, of_frames, strict=True)), expected.J)
    with pytest.raises(InputError, match="out: 'C' is not wanted, expected some of M"):
        dynamics(q, v, ("M",), out={"C": np.zeros((*lead, charted.nv, charted.nv))})
    with pytest.raises(InputError, match=r"^out\['M'\]: .*expected a writeable float64 array"):
        dynamics(q, v, ("M",), out={"M": np.zeros(3)})
    with pytest.raises(InputError, match=r"^out: .*expected a map"):
        dynamics(q, v, ("M",), out=np.zeros(3))


def test_result_does_not_go_where_arguments_are():
    robot = Robot.family("chain", 3)
    q = np.ones(3)
    with pytest.raises(InputError, match="out: shares its memory with an argument"):
        robot.gravity(q, out=q)


@pytest.mark.parametrize("name", WITH_V)
def test_no_velocity_is_rest(charted, name):
    if not hasattr(charted, name):
        pytest.skip("no such method in a chart")
    given = arguments(charted, name)
    rest = getattr(charted, name)(**given | {"v": np.zeros(charted.nv)})
    found = getattr(charted, name)(**given | {"v": None})
    for x, y in zip(parts(found), parts(rest), strict=True):
        assert np.array_equal(x, y)


def parts(result):
    if isinstance(result, tuple):
        return result
    return vars(result).values() if hasattr(result, "__dict__") else (result,)


IN_BATCHES = sorted(
    name
    for name, _ in inspect.getmembers(Batch, inspect.isfunction)
    if not name.startswith("_") and hasattr(Robot, name)
)


@pytest.mark.parametrize("name", IN_BATCHES)
def test_batch_has_the_same_arguments_in_the_same_order(name):
    """But that one state's results go into one array, and many states' into several."""
    one, many = (inspect.signature(getattr(of, name)).parameters for of in (Robot, Batch))
    assert [x for x in one if x in many] == [x for x in many if x in one]
    assert set(one) <= set(many) and set(many) - set(one) <= {"out"}
    assert {x: p.default for x, p in many.items() if x in one} == {
        x: p.default for x, p in one.items() if x in many
    }


def test_results_are_named():
    robot = Robot.family("chain", 3)
    q, v = robot.random_state(np.random.default_rng(0))
    frame = robot.frame_names[-1]
    found = robot.dynamics(q, v, ("M", "energy", "J"), (frame,))
    assert type(found) is Dynamics and set(found) == {"M", "energy", "J"}
    assert np.array_equal(found.M, robot.mass_matrix(q))
    assert np.array_equal(found.energy, robot.energy(q, v))
    assert np.array_equal(found.J[frame], robot.frame_jacobian(q, frame))
    with pytest.raises(AttributeError, match="no 'C' in this result, which has M, energy, J"):
        _ = found.C
    assert type(robot.kinematics(q, (frame,))) is Kinematics
    many = robot.batch().dynamics(q[None], v[None], ("energy",))
    assert type(many) is Dynamics and many.energy.shape == (1, 2)


class TestJoints:
    def test_joint_has_its_places_and_limits(self):
        robot = Robot.named("panda")
        q, _ = robot.random_state(np.random.default_rng(0))
        for k, name in enumerate(robot.joint_names):
            joint = robot.joint(name)
            assert (joint.name, joint.nq, joint.nv) == (name, 1, 1)
            assert q[joint.q] == q[k]
            assert joint.lower == robot.limits.lower[k] and joint.upper == robot.limits.upper[k]
            assert joint.effort == robot.limits.effort[k]

    def test_floating_base_is_a_joint(self):
        robot = Robot.family("biped", 4)
        base = robot.joint(robot.joint_names[0])
        assert (base.q, base.v) == (slice(0, 7), slice(0, 6))

    def test_places_leave_followers_out(self):
        robot = random_case(3, 9, "floating", mimics=True).robot
        joints = [robot.joint(name) for name in robot.joint_names]
        assert [joint.v.start for joint in joints[1:]] == [joint.v.stop for joint in joints[:-1]]
        assert joints[-1].q.stop == robot.nq and joints[-1].v.stop == robot.nv

    def test_configuration_by_names(self):
        robot = Robot.named("panda")
        q = robot.q_from({"panda_joint2": -0.4, "panda_joint4": [-1.5]})
        expected = robot.neutral()
        expected[[1, 3]] = -0.4, -1.5
        assert np.array_equal(q, expected)
        assert np.array_equal(robot.q_from({}), robot.neutral())

    def test_unknown_name_is_refused_with_those_that_come_near(self):
        robot = Robot.named("panda")
        with pytest.raises(InputError, match="joint 'panda_joint22' is unknown; did you mean"):
            robot.joint("panda_joint22")
        with pytest.raises(InputError, match="did you mean"):
            robot.q_from({"panda_joint22": 1.0})

    @pytest.mark.parametrize("value", [np.nan, "far", [1.0, 2.0], None])
    def test_positions_of_junk_are_refused(self, value):
        with pytest.raises(InputError, match=r"positions\['panda_joint1'\]"):
            Robot.named("panda").q_from({"panda_joint1": value})
