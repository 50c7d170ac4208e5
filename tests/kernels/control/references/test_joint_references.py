"""Whatever is ordered and whenever: references of joints keep their limits by differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from torqued.common.status import LIMITED_REFERENCE, status_names
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.references.follow import hold, move
from torqued.kernels.control.session_arrays import arrays_of, control_at, sizes_of

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

DT = 1e-3
LIMITED = status_names(LIMITED_REFERENCE)[0]
ROBOTS = {
    "chain": lambda: Robot.family("chain", 3),
    "tree": lambda: Robot.family("tree", 4),
    "panda": lambda: Robot.named("panda"),
    "kinova": lambda: Robot.named("kinova"),
    "z1": lambda: Robot.named("z1"),
}


@njit
def give_order(address, seconds):
    """As the loop does: a movement, or with 0 s a hold."""
    control = control_at(address)
    if seconds > 0.0:
        move(control, sizes_of(control), arrays_of(control), seconds)
    else:
        hold(control, sizes_of(control), arrays_of(control))


class Course:
    """References in effect, tick by tick, of a robot that stands in the middle of its ranges."""

    def __init__(self, robot, **options):
        self.robot, self.rest = robot, np.zeros(robot.nv)
        ends = robot.limits.lower, robot.limits.upper
        lower, upper = (np.where(np.isfinite(x), x, y) for x, y in zip(ends, (-3, 3), strict=True))
        self.q = 0.5 * (lower + upper)
        self.room = np.minimum(0.4 * (upper - lower), 1.0)
        self.controller = Controller(robot, "pd_plus", walls=False, **options)
        self.data = self.controller.data
        self.seen, self.limited = [], []

    def step(self, **references):
        status = self.controller.step(self.q, self.rest, DT, **references).status
        n = self.robot.nv
        state = self.data.state[2 * n :]
        self.seen.append([state[:n].copy(), state[n : 2 * n].copy(), state[2 * n : 3 * n].copy()])
        self.limited.append(LIMITED in status)

    def run(self, ticks, **references):
        for _ in range(ticks):
            self.step(**references)

    def order(self, seconds, goal=None):
        self.controller.references = self.controller._not_given(self.controller.references)
        self.data.command[:] = np.nan
        if goal is not None:
            self.data.ordered[:] = np.nan
            self.data.ordered[: self.robot.nq] = goal
        give_order(np.uint64(self.controller.record.ctypes.data), seconds)

    def swing(self, ticks, start, only_positions=False):
        """A sine about `start` from rest, eased in; half of the limits of speed and jerk."""
        data, omega = self.data, 3.0
        size = 0.5 * np.minimum(data.speed / omega, data.jerk / (20.0 * omega**3))
        size = np.minimum(size, np.minimum(self.room, 0.5 * data.acceleration / (4.0 * omega**2)))
        for k in range(ticks):
            s = omega * k * DT
            # (1 − exp(−s³)) sin s and its derivatives, by differences of a fine grid's polynomial
            q, v, a = eased_sine(s)
            given = {"q_ref": start + size * q}
            if not only_positions:
                given |= {"v_ref": size * omega * v, "a_ref": size * omega**2 * a}
            self.step(**given)

    def check(self):
        p, w, a = (np.array(x) for x in zip(*self.seen, strict=True))
        data = self.data
        v_most, a_most, j_most = data.speed, data.acceleration, data.jerk
        u = np.diff(p, axis=0) / DT
        assert (np.abs(u) <= v_most + 1e-9).all()
        assert (np.abs(w) <= v_most + 1e-9).all()
        assert (np.abs(a) <= a_most * (1 + 1e-6)).all()
        for rate in (u, w):
            assert (np.abs(np.diff(rate, axis=0)) <= a_most * DT * (1 + 1e-3) + 1e-9).all()
        jerks = {
            "p": np.diff(u, 2, axis=0) / DT**2,
            "w": np.diff(w, 2, axis=0) / DT**2,
            "a": np.diff(a, axis=0) / DT,
        }
        for name, jerk in jerks.items():
            # Accelerations are a tick's mean while limited and its end's otherwise: half a tick.
            # Positions are sums of mean speeds, which what is commanded has its own rule for.
            most, share = 1.001 if name == "w" else 1.55, np.abs(jerk) / j_most
            assert share.max() <= most, (name, share.max(), np.argwhere(share > most)[0])


def eased_sine(s):
    """f = (1 − exp(−s³)) sin s with its first two derivatives."""
    e, de = np.exp(-(s**3)), 3 * s**2
    g, dg, ddg = 1 - e, de * e, (6 * s - de**2) * e
    return g * np.sin(s), dg * np.sin(s) + g * np.cos(s), (ddg - g) * np.sin(s) + 2 * dg * np.cos(s)


@pytest.fixture(scope="module")
def robots():
    return {name: make() for name, make in ROBOTS.items()}


ORDERS = st.tuples(
    st.sampled_from(["jump", "step", "hold", "move", "swing", "positions", "nothing"]),
    st.floats(-1.0, 1.0),
    st.integers(1, 500),
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(ROBOTS)), st.lists(ORDERS, min_size=1, max_size=6))
def test_any_orders_at_any_time_stay_within_limits(robots, name, orders):
    course = Course(robots[name])
    course.run(3)
    for order, where, ticks in orders:
        goal = course.q + where * course.room
        now = course.seen[-1][0]
        if order == "jump":
            course.run(ticks, q_ref=goal, v_ref=course.rest, a_ref=course.rest)
        elif order == "step":
            course.run(ticks, q_ref=np.clip(now + 0.01 * where, *ends(course)))
        elif order == "move":
            course.order(0.5 + 0.002 * ticks, goal)
            course.run(ticks)
        elif order == "hold":
            course.order(0.0)
            course.run(ticks)
        elif order == "nothing":
            course.run(ticks)
        else:
            course.swing(ticks, 0.5 * (course.q + goal), order == "positions")
    course.check()


def ends(course):
    return course.q - course.room, course.q + course.room


@pytest.mark.parametrize("only_positions", [False, True])
@pytest.mark.parametrize("name", sorted(ROBOTS))
def test_smooth_trajectory_passes_to_the_bit_also_after_a_jump(robots, name, only_positions):
    course = Course(robots[name])
    course.run(3)
    course.swing(600, course.q, only_positions)
    assert not any(course.limited)
    given = course.controller.references["q_ref"]
    assert np.array_equal(course.seen[-1][0], given)
    if only_positions:  # the law gets the speed that positions have, at the end of the tick
        p, w, a = (np.array(x) for x in zip(*course.seen[-100:], strict=True))
        np.testing.assert_allclose(w[1:-1], (p[2:] - p[:-2]) / (2 * DT), atol=1e-3)
        np.testing.assert_allclose(a[1:-1], (w[2:] - w[:-2]) / (2 * DT), atol=0.2)
    start = course.q + 0.2 * course.room
    course.swing(2500, start, only_positions)
    assert any(course.limited) and not course.limited[-1]
    assert np.array_equal(course.seen[-1][0], course.controller.references["q_ref"])
    course.check()


def test_small_steps_are_followed_without_being_reported(robots):
    """As of states and references whose times differ: by up to five ticks at full speed."""
    course = Course(robots["panda"])
    course.run(3)
    rng = np.random.default_rng(0)
    for k in range(800):
        late = DT * (k - rng.uniform(0.0, 2.0))
        s = 0.5 * (1.0 - np.cos(2.0 * late)), np.sin(2.0 * late), 2.0 * np.cos(2.0 * late)
        q, v, a = (0.3 * x * np.ones(7) for x in s)
        course.step(q_ref=course.q + q, v_ref=v, a_ref=a)
        off = np.abs(course.seen[-1][0] - course.q - 0.15 * (1.0 - np.cos(2.0 * DT * k)))
        assert (off < 2e-3).all(), "it lags no more than what is given"
    assert not any(course.limited)


@pytest.mark.parametrize("name", ["panda", "z1"])
def test_rounding_at_the_end_of_a_joint_is_not_reported(robots, name):
    course = Course(robots[name])
    robot = course.robot
    course.q = robot.limits.upper.copy()
    course.run(3)
    for off in (0.0, 1e-16, 1e-12, -1e-12, 1e-9):
        course.run(5, q_ref=robot.limits.upper * (1.0 + off) + off)
        assert not course.limited[-1], off
    course.run(5, q_ref=robot.limits.upper + 1e-3)
    assert course.limited[-1]


def test_joint_outside_of_its_limits_stays_or_goes_back_but_no_further(robots):
    course = Course(robots["panda"])
    out = course.robot.limits.upper[3] + 0.07  # about zero
    course.q[3] = out
    course.run(3)
    others = course.q + 0.1 * np.arange(7.0) * (np.arange(7) != 3)
    course.order(1.0, others)
    course.run(1200)
    assert not any(course.limited), "others move while it stays"
    assert np.array_equal(course.seen[-1][0], others)
    course.run(300, q_ref=others + 0.1)
    assert course.limited[-1] and course.seen[-1][0][3] == out
    course.order(1.0, others - 0.2)
    course.limited.clear()
    course.run(1200)
    assert not any(course.limited) and np.isclose(course.seen[-1][0][3], out - 0.2)
    course.check()


@pytest.mark.parametrize("name", ["chain", "panda"])
@pytest.mark.parametrize("times", [(5.0, 0.0), (0.0, 5.0), (-50.0, 50.0)])
def test_rates_beyond_limits_do_not_lead_away_from_a_position_that_stays(name, times):
    course = Course(ROBOTS[name]())
    speed, acceleration = times[0] * course.data.speed, times[1] * course.data.acceleration
    for _ in range(3000):
        course.step(q_ref=course.q, v_ref=speed, a_ref=acceleration)
    q = np.array([row[0] for row in course.seen])
    # At its speed limit the way of braking is what balances it.
    braking = course.data.speed**2 / course.data.acceleration
    assert (np.abs(q - course.q) < 2.0 * braking + 0.1).all()
    assert np.abs(course.seen[-1][1]).max() < 1e-3
