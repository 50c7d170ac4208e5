"""`elastic`: its torque in extended precision, and what it makes of an arm with springs."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import extended_precision
from oracles.extended_precision import IS_EXTENDED, Extended
from oracles.finite_differences import derivative
from support.cases import GRAVITY, random_case
from support.robots import without_effort_limits
from support.spring_arm import SpringArm, state_of
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.model.catalog import find_file

UNBOUNDED = {"error_limit": 1e6, "acceleration_limit": 1e6}
RATES = ("q_ref", "v_ref", "a_ref", "jerk_ref", "snap_ref")
ROBOTS = {
    "chain": without_effort_limits(Robot.family("chain", 4, seed=3)),
    "ur5": without_effort_limits(Robot.from_urdf(find_file("ur5"))),
    "panda": without_effort_limits(Robot.from_urdf(find_file("panda"))),  # a finger follows another
}


def arm_of(robot, seed, damping=0.0):
    rng = np.random.default_rng(seed)
    stiffness, inertia = rng.uniform(100, 900, robot.nv), rng.uniform(0.05, 0.3, robot.nv)
    return SpringArm(robot, stiffness, inertia, damping)


def state_and_references(robot, seed):
    """A state (4, nv), and references (5, nv) nearby."""
    rng = np.random.default_rng(seed)
    q = robot.random_state(rng)[0]
    x = np.stack([q, 0.5 * rng.normal(size=robot.nv), q, rng.normal(size=robot.nv)])
    x[2] += 0.02 * rng.normal(size=robot.nv)
    wanted = rng.normal(size=(5, robot.nv)) * [[0.01], [0.3], [2.0], [10.0], [100.0]]
    wanted[0] += q
    return x, wanted


def section(gains, frequency, ratio):
    """b and c of y'' + b y' + c y."""
    return 2.0 * gains[ratio] * gains[frequency], gains[frequency] ** 2


def snap_of(gains, e):
    """e⁗ (nv,) of two sections of second order, from e … e⃛."""
    b, c = section(gains, "frequency", "damping_ratio")
    b2, c2 = section(gains, "spring_frequency", "spring_damping_ratio")
    y, rate = e[2] + b * e[1] + c * e[0], e[3] + b * e[2] + c * e[1]
    return -b * e[3] - c * e[2] - b2 * rate - c2 * y


@pytest.mark.skipif(not IS_EXTENDED, reason="needs numbers with more than 53 bits")
@pytest.mark.parametrize("seed", range(3))
def test_torque_is_that_of_differences_in_extended_precision(seed):
    """Nothing of the oracle is the law's, nor its recursion for rates: τ of the papers' recursion
    along the motion, and differences of it."""
    case = random_case(seed, 5, "fixed", ("revolute", "prismatic", "fixed"))
    robot, tree = without_effort_limits(case.robot), case.free_tree()
    arm = arm_of(robot, seed)
    x, wanted = state_and_references(robot, seed)
    controller = Controller(robot, "elastic", springs=arm.springs, gains=UNBOUNDED)
    (q, v), motors = state_of(x)
    found = controller.torque(q, v, **motors, **dict(zip(RATES, wanted, strict=True)))

    def tau(q, v, a):
        return extended_precision.rnea(tree, q, v, a, np.array(GRAVITY))

    def along(t, a, jerk, snap):
        """τ after a time along the motion with these derivatives."""
        t = Extended(t)
        place = q + t * v + t**2 / 2 * a + t**3 / 6 * jerk + t**4 / 24 * snap
        return tau(
            place, v + t * a + t**2 / 2 * jerk + t**3 / 6 * snap, a + t * jerk + t**2 / 2 * snap
        )

    zero = np.zeros(robot.nv)
    n = tau(q, v, zero)
    M = np.stack([tau(q, v, e_k) - n for e_k in np.eye(robot.nv)], axis=1).astype(float)
    a = np.linalg.solve(M, np.asarray(arm.torque(x) - n, float))
    rate = extended_precision.slope(lambda t: along(t, a, zero, zero))
    jerk = np.linalg.solve(M, arm.K * (x[3] - v) - rate)
    snap = wanted[4] + snap_of(controller.gains, np.stack([q, v, a, jerk]) - wanted[:4])
    second = extended_precision.slope(
        lambda t: derivative(lambda h: along(t + h, a, jerk, snap), 1e-3, 4), 1e-3
    )
    u = arm.torque(x) + arm.B * (a + second / arm.K)
    assert np.abs(found.tau - u).max() < 1e-8 * np.abs(u).max()


@pytest.mark.parametrize("name", ROBOTS)
def test_error_has_the_dynamics_of_its_gains_exactly(name):
    """u in the equations of the arm: the fourth derivative of q by differences of its motion."""
    robot = ROBOTS[name]
    for seed in range(2):
        arm = arm_of(robot, seed)
        x, wanted = state_and_references(robot, seed)
        law = Controller(robot, "elastic", springs=arm.springs, gains=UNBOUNDED)
        state, motors = state_of(x)
        u = law.torque(*state, **motors, **dict(zip(RATES, wanted, strict=True))).tau

        def acceleration(t, arm=arm, x=x, u=u):
            return arm.acceleration(arm.moved(x, u, t))

        a, jerk = acceleration(0.0), derivative(acceleration, 1e-3)
        snap = derivative(lambda t: derivative(lambda h: acceleration(t + h), 1e-3), 1e-3)
        e = np.stack([x[0], x[1], a, jerk]) - wanted[:4]
        expected = snap_of(law.gains, e)
        assert np.abs(snap - wanted[4] - expected).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_an_arm_follows_the_error_that_its_gains_say(damping):
    """From rest and off its reference, with and without damping beside springs."""
    robot = ROBOTS["ur5"]
    arm = arm_of(robot, 0, damping)
    law = Controller(robot, "elastic", springs=arm.springs, gains=UNBOUNDED)
    q = np.array([0.3, -1.2, 1.4, -0.6, 0.5, 0.2])
    dt, offset = 1e-4, 0.02
    states, _ = arm.run(arm.at_rest(q + offset), law.torque, 0.2, dt, q_ref=q)
    e = np.zeros((4, robot.nv))
    e[0] = offset
    expected = [e[0]]
    for _ in range(len(states) - 1):  # Taylor's series of the linear equation
        terms = [e, *np.zeros((5, *e.shape))]
        for k in range(5):
            terms[k + 1] = np.vstack([terms[k][1:], snap_of(law.gains, terms[k])[None]])
        e = sum(dt**k / np.prod(range(1, k + 1), initial=1.0) * terms[k] for k in range(6))
        expected.append(e[0])
    off = np.abs(states[:, 0] - q - np.array(expected)).max()
    assert off < 0.01 * offset  # a torque that is held for 0.1 ms


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("limit", [1e6, 0.005])  # rad; and rad/s², a thousand times that
def test_storage_changes_by_what_the_law_accounts_for(name, limit):
    """With torques at motors that nobody knows of; and where errors are bounded."""
    robot = ROBOTS[name]
    arm, step = arm_of(robot, 1), 1e-6
    x, wanted = state_and_references(robot, 1)
    bounds = {"error_limit": limit, "acceleration_limit": 1e3 * limit}
    law = Controller(robot, "elastic", springs=arm.springs, gains=bounds)

    def outputs(x, t):
        state, motors = state_of(x)
        moving = [
            sum(t**k / np.prod(range(1, k + 1), initial=1.0) * wanted[i + k] for k in range(5 - i))
            for i in range(5)
        ]
        return law.torque(*state, **motors, **dict(zip(RATES, moving, strict=True)))

    now = outputs(x, 0.0)
    unknown = 3.0 * np.sign(now.port)
    before, after = (
        float(outputs(arm.moved(x, now.tau + unknown, h), h).storage) for h in (-step, step)
    )
    expected = float(-now.dissipation + now.port @ unknown)
    size = float(now.dissipation) + float(np.abs(now.port * unknown).sum()) + float(now.storage)
    assert abs((after - before) / (2 * step) - expected) < 1e-5 * size
    assert now.dissipation > 0.0 and now.reference_power == 0.0
    assert abs(now.port @ unknown) > 1e-4 * size


def test_bounded_errors_draw_no_faster_than_speed_limits():
    robot = Robot.from_urdf(find_file("ur5"))
    arm = SpringArm(robot, [843.0] * 3 + [250.0] * 3, [0.3] * 3 + [0.05] * 3)
    law = Controller(robot, "elastic", springs=arm.springs)
    q = np.array([0.3, -1.2, 1.4, -0.6, 0.5, 0.2])
    states, _ = arm.run(arm.at_rest(q), law.torque, 1.5, 1e-3, q_ref=q + 1.0)
    assert (np.abs(states[:, 1]) / robot.limits.velocity).max() < 1.1
    assert np.abs(states[-1, 0] - q - 1.0).max() < 0.05


def test_integral_action_takes_a_constant_torque_on_links_away():
    robot = ROBOTS["ur5"]
    arm = arm_of(robot, 3)
    q, pull = np.array([0.3, -1.2, 1.4, -0.6, 0.5, 0.2]), np.array([3.0, -4.0, 2.0, 1.0, 0.5, 0.2])
    off = {}
    for integral in (False, 5.0):
        law = Controller(robot, "elastic", springs=arm.springs, integral=integral)
        if integral:
            law.data.bias_limit[:] = 10.0
        states, _ = arm.run(arm.at_rest(q), law.torque, 1.5, 1e-3, pull, q_ref=q)
        off[integral] = np.abs(states[-1, 0] - q).max()
    assert off[False] > 1e-3
    assert off[5.0] < 0.02 * off[False]


def test_observer_measures_external_torques_through_springs():
    robot = ROBOTS["ur5"]
    arm = arm_of(robot, 4)
    q, pull = np.array([0.3, -1.2, 1.4, -0.6, 0.5, 0.2]), np.array([3.0, -4.0, 2.0, 1.0, 0.5, 0.2])
    law = Controller(robot, "elastic", springs=arm.springs, observer={"gain": 50.0})
    _, outputs = arm.run(arm.at_rest(q), law.torque, 0.5, 1e-3, pull, q_ref=q)
    assert np.abs(outputs[-1].external - pull).max() < 0.02 * np.abs(pull).max()


GOOD = {"stiffness": 300.0, "motor_inertia": 0.1}


@pytest.mark.parametrize(
    ("springs", "message"),
    [
        (None, r"^springs is missing, expected a map with stiffness"),
        (3.0, r"^springs: 3.0, expected a map"),
        ({}, r"^springs.stiffness is missing"),
        ({"stiffness": 300.0}, r"^springs.motor_inertia is missing"),
        (GOOD | {"stiffness": -1.0}, r"^springs.stiffness has -1.0, expected positive"),
        (GOOD | {"motor_inertia": 0.0}, r"^springs.motor_inertia has 0.0, expected positive"),
        (GOOD | {"damping": -0.1}, r"^springs.damping has -0.1, expected zero or positive"),
        (GOOD | {"stiffness": [1.0, 2.0]}, r"^springs.stiffness"),
        (GOOD | {"mass": 1.0}, r"^springs: 'mass' is unknown, allowed: stiffness"),
    ],
)
def test_springs_that_make_no_sense_are_refused_by_name(springs, message):
    with pytest.raises(InputError, match=message):
        Controller(ROBOTS["chain"], "elastic", springs=springs)


def test_states_without_motors_are_refused():
    robot = ROBOTS["chain"]
    law = Controller(robot, "elastic", springs=GOOD)
    zero = np.zeros(robot.nv)
    with pytest.raises(InputError, match=r"^motor_q is missing, law 'elastic' needs it"):
        law.torque(zero, zero)
    with pytest.raises(InputError, match=r"^motor_v"):
        law.torque(zero, zero, motor_q=zero, motor_v=[1.0])
    with pytest.raises(InputError, match="reference 'motor_q' is unknown"):
        Controller(robot, "pd").torque(zero, zero, motor_q=zero)


def test_robots_without_a_held_base_or_with_ball_joints_are_refused():
    with pytest.raises(InputError, match="needs a fixed base"):
        Controller(Robot.family("biped", 4), "elastic", springs=GOOD)
    ball = random_case(1, 3, "fixed", ("spherical",)).robot
    with pytest.raises(InputError, match="joints with several coordinates"):
        Controller(ball, "elastic", springs=GOOD)
