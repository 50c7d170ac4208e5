"""A jump of reference becomes a motion within limits of speed, acceleration and jerk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torqued.common.errors import NumericalError
from torqued.common.status import LIMITED_REFERENCE, status_names
from torqued.kernels import Robot
from torqued.kernels.control import Controller

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

DT = 1e-3
LIMITED = status_names(LIMITED_REFERENCE)[0]


@pytest.fixture(scope="module", params=["panda", "ur5", "kinova"])
def robot(request):
    return Robot.named(request.param)


def middle(robot):
    lower = np.where(np.isfinite(robot.limits.lower), robot.limits.lower, -1.0)
    upper = np.where(np.isfinite(robot.limits.upper), robot.limits.upper, 1.0)
    return 0.5 * (lower + upper)


class Course:
    """References in effect, tick by tick, of a robot that does not move."""

    def __init__(self, robot, law="pd_plus", **options):
        self.robot, self.q, self.v = robot, middle(robot), np.zeros(robot.nv)
        self.controller = Controller(robot, law, walls=False, **options)
        self.status: set[str] = set()

    def step(self, **references):
        answer = self.controller.step(self.q, self.v, DT, **references)
        self.status = set(answer.status)
        nq, nv = self.robot.nq, self.robot.nv
        return self.controller.data.state[nq + nv : 2 * nq + 3 * nv].copy()

    def run(self, ticks, **references):
        return np.array([self.step(**references) for _ in range(ticks)])


def test_jump_stays_within_limits_and_arrives_without_overshoot(robot):
    course, n = Course(robot), robot.nv
    q = course.q
    course.run(5)
    goal = q + 0.4 * (middle(robot) * 0.0 + 1.0)
    goal = np.clip(goal, robot.limits.lower, robot.limits.upper)
    seen = course.run(6000, q_ref=goal)
    p, w, a = seen[:, : robot.nq], seen[:, robot.nq : robot.nq + n], seen[:, robot.nq + n :]
    data = course.controller.data
    own = data.coordinate >= 0
    assert (np.abs(w) <= data.speed * (1 + 1e-12)).all()
    assert (np.abs(a) <= data.acceleration * (1 + 1e-9))[:, own].all()
    jerk = np.abs(np.diff(a, axis=0)) / DT
    assert (jerk <= data.jerk * (1 + 1e-6))[: np.argmax(a[:, 0] == 0.0) or None, own].all()
    way = goal - q
    over = (p - goal) * np.sign(way)
    assert (over <= 1e-6).all()
    assert np.allclose(p[-1], goal) and not w[-1].any()
    assert LIMITED not in course.status


def test_speed_is_the_rate_of_the_position(robot):
    course, n = Course(robot), robot.nv
    course.run(5)
    seen = course.run(800, q_ref=np.clip(course.q + 0.5, robot.limits.lower, robot.limits.upper))
    data = course.controller.data
    for k in range(n):
        i = data.coordinate[k]
        rate = np.diff(seen[:, i]) / DT
        assert np.allclose(rate, seen[1:, robot.nq + k], atol=0.02 * data.speed[k])


def test_smooth_trajectory_passes_unchanged(robot):
    course = Course(robot)
    q0 = course.q
    speed = course.controller.data.speed
    course.run(3, q_ref=q0)
    omega, size = 2.0, 0.2 * speed / 2.0
    for k in range(3000):
        t = k * DT
        # From rest: the acceleration of a sine begins with a jump of speed.
        s, ds, dds = 1 - np.cos(omega * t), omega * np.sin(omega * t), omega**2 * np.cos(omega * t)
        wanted = q0.copy()
        data = course.controller.data
        for j in range(robot.nv):
            wanted[data.coordinate[j]] += 0.5 * size[j] * s
        inside = np.clip(wanted, robot.limits.lower, robot.limits.upper)
        if not np.array_equal(inside, wanted):
            pytest.skip("the middle of a joint's range is too close to its ends")
        seen = course.step(q_ref=wanted, v_ref=0.5 * size * ds, a_ref=0.5 * size * dds)
        assert np.array_equal(seen[: robot.nq], wanted), k
        assert LIMITED not in course.status


def test_what_is_beyond_limits_is_cut_and_flagged():
    robot = Robot.named("panda")
    course = Course(robot)
    course.run(3)
    seen = course.run(8000, q_ref=course.q + 10.0)
    assert np.allclose(seen[-1, : robot.nq], robot.limits.upper)
    assert LIMITED in course.status
    assert not seen[-1, robot.nq : robot.nq + robot.nv].any()


def test_continuous_joints_go_the_shorter_way():
    robot = Robot.named("kinova")
    course = Course(robot)
    data = course.controller.data
    turning = np.flatnonzero(data.wraps)
    assert len(turning), "this robot has joints without limits"
    k = turning[0]
    i = data.coordinate[k]
    course.q[i] = 3.1
    course.run(3)
    goal = course.q.copy()
    goal[i] = -3.1
    seen = course.run(3000, q_ref=goal)
    assert np.isclose(seen[-1, i], 2 * np.pi - 3.1)
    assert seen[:, i].min() >= 3.1 - 1e-9


@settings(max_examples=30)
@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=6), st.integers(1, 400))
def test_any_sequence_of_jumps_stays_within_limits(jumps, ticks):
    robot = Robot.family("chain", 2)
    course = Course(robot)
    data = course.controller.data
    w_before, a_before = np.zeros(2), np.zeros(2)
    for jump in jumps:
        for seen in course.run(ticks, q_ref=course.q + jump):
            w, a = seen[2:4], seen[4:6]
            assert (np.abs(w) <= data.speed * (1 + 1e-12)).all()
            assert (np.abs(w - w_before) <= data.acceleration * DT * 1.01 + 1e-12).all()
            w_before, a_before = w, a
    assert np.isfinite(a_before).all()


def test_frame_goes_along_a_screw_within_limits():
    robot = Robot.named("panda")
    course = Course(robot, "impedance", frame="panda_hand")
    first = course.run(2)[-1]
    p, turn = first[:3], first[3:7]
    to_p = p + np.array([0.2, -0.1, 0.15])
    to_turn = np.array([turn[3], turn[2], -turn[1], -turn[0]])  # half a turn about one axis
    seen = course.run(5000, position=to_p, orientation=to_turn)
    _, _, angular, linear, rate, _ = course.controller.data.motions[0].limits
    w, u = np.linalg.norm(seen[:, 7:10], axis=1), np.linalg.norm(seen[:, 10:13], axis=1)
    assert np.maximum(w / angular, u / linear).max() == pytest.approx(1.0, abs=0.01)
    assert np.allclose(seen[-1, :3], to_p)
    assert np.isclose(abs(seen[-1, 3:7] @ to_turn), 1.0)
    fd = np.diff(seen[:, :3], axis=0) / DT
    assert np.allclose(fd, seen[1:, 10:13], atol=0.012)
    bend = np.diff(seen[:, 10:13], axis=0) / DT
    moving = slice(10, 300)
    assert np.allclose(bend[moving], seen[1:, 16:19][moving], atol=0.05 * rate)
    # Along a screw the axis of rotation stays where it is.
    axes = seen[50:400, 7:10] / w[50:400, None]
    assert np.allclose(axes, axes[0], atol=1e-6)


def test_huge_references_leave_no_trace():
    robot = Robot.named("panda")
    course = Course(robot, "impedance", frame="panda_hand")
    before = course.run(3)[-1]
    with pytest.raises(NumericalError):
        course.run(3, position=[1e300, 0.0, 0.0])
    course.controller.hold()
    assert np.allclose(course.run(2)[-1], before)
