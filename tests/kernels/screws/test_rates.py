"""Twists, accelerations, jerks, J, J̇ and J̈ in four representations: against finite differences,
the conversions of [M18] eq. 98-107, Pinocchio and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import cases, examples
from support.chart_cases import NAMES, random_chart_case
from torqued.kernels import InputError, Robot
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.model.description import Array
from torqued.kernels.screws.representations import adjoint, convert, convert_wrench, transformation

representations = pytest.mark.parametrize("representation", REPRESENTATIONS)


class Motion:
    """A motion of a robot whose v is a given polynomial of time."""

    def __init__(self, case) -> None:
        self.robot, self.q, self.v, self.a = case.robot, case.q, case.v, case.a
        self.jerk = case.vector()
        # Along it nothing turns by more than a few hundredths of a radian.
        self.step = 0.05 / max(1.0, largest(self.v) * len(self.v))

    def state(self, t: float) -> tuple[Array, Array, Array]:
        """q, v, a; q to the second order in t, more than first rates at t = 0 can see."""
        mean = self.v + 0.5 * t * self.a + t * t / 6.0 * self.jerk
        v = self.v + t * self.a + 0.5 * t * t * self.jerk
        return self.robot.integrate(self.q, mean, t), v, self.a + t * self.jerk


@representations
@examples(10, case=cases())
def test_rates_are_those_of_the_represented_numbers(case, representation):
    robot, motion = case.robot, Motion(case)
    where = (case.frame(), representation, case.rng.normal(size=3))
    q, v, a, jerk = motion.q, motion.v, motion.a, motion.jerk

    def rate(f):
        return derivative(f, motion.step, levels=3)

    J = robot.frame_jacobian(q, *where)
    size = max(1.0, largest(J)) * max(1.0, largest(v), largest(a), largest(jerk)) ** 3
    along = rate(lambda t: robot.frame_jacobian(motion.state(t)[0], *where))
    assert_agree(robot.frame_jacobian_rate(q, v, *where), along, within=1e-7, size=size)
    along = rate(lambda t: robot.frame_jacobian_rate(*motion.state(t)[:2], *where))
    second = robot.frame_jacobian_second_rate(q, v, a, *where)
    assert_agree(second, along, within=1e-7, size=10 * size)
    along = rate(lambda t: robot.frame_velocity(*motion.state(t)[:2], *where))
    assert_agree(robot.frame_acceleration(q, v, a, *where), along, within=1e-7, size=size)
    along = rate(lambda t: robot.frame_acceleration(*motion.state(t), *where))
    found = robot.frame_jerk(q, v, a, jerk, *where)
    assert_agree(found, along, within=1e-7, size=10 * size)


@representations
@examples(10, case=cases())
def test_motions_are_sums_of_the_jacobian_and_its_rates(case, representation):
    robot, q, v, a, jerk = case.robot, case.q, case.v, case.a, case.vector()
    where = (case.frame(), representation, case.rng.normal(size=3))
    J = robot.frame_jacobian(q, *where)
    Jdot = robot.frame_jacobian_rate(q, v, *where)
    Jddot = robot.frame_jacobian_second_rate(q, v, a, *where)
    size = max(1.0, largest(J)) * max(largest(v), largest(a), largest(jerk), 1.0) ** 3
    assert_agree(Jdot @ v, robot.frame_bias(q, v, *where), size=size)
    assert_agree(J @ a + Jdot @ v, robot.frame_acceleration(q, v, a, *where), size=size)
    expected = J @ jerk + 2.0 * Jdot @ a + Jddot @ v
    assert_agree(robot.frame_jerk(q, v, a, jerk, *where), expected, size=size)


@pytest.mark.parametrize("source", REPRESENTATIONS)
@pytest.mark.parametrize("target", REPRESENTATIONS)
@examples(5, case=cases())
def test_conversions_give_what_the_other_representation_gives(case, source, target):
    robot, q, v, a, jerk = case.robot, case.q, case.v, case.a, case.vector()
    frame = case.frame()
    pose = robot.frame_pose(q, frame)

    def motion(kind: str) -> tuple[Array, ...]:
        return (
            robot.frame_velocity(q, v, frame, kind),
            robot.frame_acceleration(q, v, a, frame, kind),
            robot.frame_jerk(q, v, a, jerk, frame, kind),
        )

    own = motion(source)
    size = max(1.0, *(largest(x) for x in own)) ** 3
    for count in (1, 2, 3):
        found = convert(source, target, pose, *own[:count])
        assert len(found) == count
        for x, expected in zip(found, motion(target), strict=False):
            assert_agree(x, expected, size=size)
    T, Tdot, Tddot = transformation(source, target, pose, *own[:2])
    J, other = (robot.frame_jacobian(q, frame, kind) for kind in (source, target))
    Jdot, other_rate = (robot.frame_jacobian_rate(q, v, frame, kind) for kind in (source, target))
    Jddot, other_second = (
        robot.frame_jacobian_second_rate(q, v, a, frame, kind) for kind in (source, target)
    )
    assert_agree(T @ J, other, size=1.0)
    assert_agree(T @ Jdot + Tdot @ J, other_rate, size=size)
    assert_agree(T @ Jddot + 2.0 * Tdot @ Jdot + Tddot @ J, other_second, size=size)
    wrench = case.rng.normal(size=6)
    moved = convert_wrench(source, target, pose, wrench)
    assert_agree(moved @ motion(target)[0], wrench @ own[0], size=size)


def test_body_to_spatial_is_the_adjoint_of_the_pose():
    robot = Robot.family("chain", 5)
    q, _ = robot.random_state(np.random.default_rng(0))
    pose = robot.frame_pose(q, robot.frame_names[-1])
    (T,) = transformation("body", "spatial", pose)
    assert_agree(T, adjoint(pose))


@representations
def test_order_by_order_one_walk_gives_what_the_methods_give(representation):
    robot = Robot.family("biped", 6)
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    a, jerk = rng.normal(size=(2, robot.nv))
    frames = robot.frame_names[-3:]
    methods = {
        "pose": lambda f: robot.frame_pose(q, f),
        "velocity": lambda f: robot.frame_velocity(q, v, f, representation),
        "J": lambda f: robot.frame_jacobian(q, f, representation),
        "acceleration": lambda f: robot.frame_acceleration(q, v, a, f, representation),
        "Jdot": lambda f: robot.frame_jacobian_rate(q, v, f, representation),
        "jerk": lambda f: robot.frame_jerk(q, v, a, jerk, f, representation),
        "Jddot": lambda f: robot.frame_jacobian_second_rate(q, v, a, f, representation),
    }
    brought = (1, 3, 5, 7)
    for order in range(4):
        found = robot.kinematics(q, frames, v, representation, order=order, a=a, jerk=jerk)
        assert set(found) == set(list(methods)[: brought[order]])
        for word, by_frame in found.as_dict().items():
            assert list(by_frame) == list(frames)
            for frame, value in by_frame.items():
                assert_agree(value, methods[word](frame), size=1.0)


@pytest.mark.parametrize("name", NAMES)
@representations
def test_rates_in_charts_are_those_of_the_chart(name, representation):
    case = random_chart_case(name, 0)
    robot, q, v, a = case.robot, case.q, case.v, case.a
    frame, at = robot.frame_names[-1], name
    where = (frame, representation)
    Jdot = robot.in_coordinates(at).frame_jacobian_rate(q, v, *where)
    rate = derivative(
        lambda h: robot.in_coordinates(at).frame_jacobian(case.moved(h), *where), case.step
    )
    assert_agree(Jdot, rate, within=1e-7, size=1.0)
    found = robot.in_coordinates(at).kinematics(q, (frame,), v, representation, order=2, a=a)
    assert_agree(found["J"][frame], robot.in_coordinates(at).frame_jacobian(q, *where))
    assert_agree(found["Jdot"][frame], Jdot)
    assert_agree(
        found["velocity"][frame], robot.in_coordinates(at).frame_velocity(q, v, *where), size=1e-3
    )
    acceleration = robot.in_coordinates(at).frame_acceleration(q, v, a, *where)
    assert_agree(found["acceleration"][frame], acceleration, size=1.0)


@pytest.mark.parametrize("name", NAMES)
def test_second_rates_in_every_chart_are_rates_of_the_first(name):
    case = random_chart_case(name, seed=4)
    robot, chart, v, a, at = case.robot, case.chart, case.v, case.a, name
    frame = robot.frame_names[-1]
    native_a = chart.A(case.native_q) @ a + chart.A_rate(case.native_q, v) @ v
    jerk = np.random.default_rng(0).normal(size=len(v))

    def later(t):
        """q, v and a of the chart; what is differentiated sees them to the first order."""
        return case.moved(t), v + t * a, a + t * jerk

    def rate(of):
        return derivative(lambda t: of(*later(t)), 0.1 * case.step)

    expected = rate(lambda q, v, a: robot.in_coordinates(at).frame_acceleration(q, v, a, frame))
    found = robot.in_coordinates(at).frame_jerk(case.q, v, a, jerk, frame)
    assert_agree(found, expected, within=1e-7, size=largest(native_a))
    expected = rate(lambda q, v, a: robot.in_coordinates(at).frame_jacobian_rate(q, v, frame))
    Jddot = robot.in_coordinates(at).frame_jacobian_second_rate(case.q, v, a, frame)
    assert_agree(Jddot, expected, within=1e-7, size=largest(native_a))
    walk = robot.in_coordinates(at).kinematics(case.q, (frame,), v, order=3, a=a, jerk=jerk)
    assert_agree(walk["Jddot"][frame], Jddot)
    assert_agree(walk["jerk"][frame], found)


class TestErrors:
    def test_order(self):
        robot = Robot.family("chain", 2)
        with pytest.raises(InputError, match="order is 4, expected a whole number from 0 to 3"):
            robot.kinematics(np.zeros(2), (), order=4)
        with pytest.raises(InputError, match="a: given without an order"):
            robot.kinematics(np.zeros(2), (), a=np.zeros(2))
        assert robot.kinematics(np.zeros(2), (), order=0).as_dict() == {"pose": {}}

    def test_without_v_the_robot_is_at_rest(self):
        robot = Robot.family("chain", 2)
        found = robot.kinematics(np.ones(2), robot.frame_names, order=2)
        assert not any(x.any() for x in found.velocity.values())
        assert not any(x.any() for x in found.Jdot.values())

    def test_without_an_order_there_are_poses_and_jacobians(self):
        robot = Robot.family("chain", 2)
        frame = robot.frame_names[-1]
        for at in (robot, robot.in_coordinates("pinocchio")):
            assert set(at.kinematics(np.ones(2), (frame,))) == {"pose", "J"}
            found = at.kinematics(np.ones(2), (frame,), np.ones(2))
            assert set(found) == {"pose", "J", "Jdot_v"}
            assert_agree(found.Jdot_v[frame], at.frame_bias(np.ones(2), np.ones(2), frame))

    def test_missing_motion(self):
        robot = Robot.family("chain", 2)
        zero = np.zeros(2)
        with pytest.raises(InputError, match=r"jerk: expected numbers of shape \(2,\)"):
            robot.frame_jerk(zero, zero, zero, None, robot.frame_names[-1])

    def test_unknown_representation(self):
        with pytest.raises(InputError, match="target: 'local' is unknown, allowed: 'hybrid'"):
            transformation("body", "local", np.eye(4))
