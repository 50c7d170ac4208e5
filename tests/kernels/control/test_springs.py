"""Springs between motors and links: when a loop is stable with them, and what keeps it safe."""

from __future__ import annotations

import numpy as np
import pytest

from support.robots import without_effort_limits
from support.spring_arm import SpringArm, state_of
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.elastic_stability import elastic_radii
from torqued.kernels.control.poses import Poses, poses_of
from torqued.kernels.control.springs import Springs, springs_of
from torqued.kernels.model.catalog import find_file

PERIOD = 1e-3
UR5 = Robot.from_urdf(find_file("ur5"))
STIFFNESS = np.array([843.0, 843.0, 843.0, 250.0, 250.0, 250.0])
INERTIA = np.array([0.3, 0.3, 0.3, 0.05, 0.05, 0.05])
Q = np.array([0.3, -1.2, 1.4, -0.6, 0.5, 0.2])


@pytest.mark.parametrize("delay", [0.0, 1e-3, 1.5e-3, 2e-3])
@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_decay_is_that_of_the_arm(delay, damping):
    """The step that is checked, against small motions of the arm's own equations."""
    robot = without_effort_limits(Robot.from_urdf(find_file("ur5"), gravity=(0.0, 0.0, 0.0)))
    arm = SpringArm(robot, STIFFNESS, INERTIA, damping)
    law = Controller(robot, "elastic", springs=arm.springs)
    M = robot.mass_matrix(Q)[None]
    radius = elastic_radii(M, springs_of(robot, arm.springs), law.gains, PERIOD, delay)[0]

    substep, late = PERIOD / 4, round(4 * delay / PERIOD)
    x = arm.at_rest(Q)
    x[0] += 1e-7 * np.array([1.0, -1.0, 0.5, 1.0, 0.3, -0.7])
    queue, sizes = [np.zeros(robot.nv)] * late, []
    for k in range(4 * 500):
        if k % 4 == 0:
            state, motors = state_of(x)
            u = law.torque(*state, PERIOD, **motors, q_ref=Q).tau
            sizes.append(np.abs(x - arm.at_rest(Q)).max())
        queue.append(u)
        x = arm.moved(x, queue.pop(0), substep, 1)
    sizes = np.array(sizes)
    found = (np.log(sizes[450]) - np.log(sizes[250])) / 200
    assert radius < 1.0
    assert abs(found - np.log(radius)) < 0.15 * abs(np.log(radius))


def test_springs_that_the_loop_is_too_slow_for_are_refused_and_named():
    stiff = {"stiffness": 1e5, "motor_inertia": 0.3}
    law = Controller(UR5, "elastic", springs=stiff)
    with pytest.raises(InputError, match=r"unstable with a delay of 2 ms: .*less delay"):
        law.stabilize(PERIOD)


@pytest.mark.parametrize("period", [1e-3, 5e-4])
def test_delay_that_would_take_long_to_check_is_refused_and_named(period):
    law = Controller(UR5, "elastic", springs={"stiffness": STIFFNESS, "motor_inertia": INERTIA})
    law.stabilize(period, 2e-3)
    with pytest.raises(InputError, match=rf"delay is 0.05, expected 0 … {6 * period:g} s, 6") as e:
        law.stabilize(period, 0.05)
    assert e.value.field == "delay" and e.value.value == 0.05


def test_arms_beside_each_other_decay_as_each_by_itself():
    springs, M = Springs(STIFFNESS, INERTIA, np.zeros(6)), poses_of(UR5).M[:8]
    given = {"stiffness": STIFFNESS, "motor_inertia": INERTIA}
    gains = Controller(UR5, "elastic", springs=given).gains
    alone = elastic_radii(M, springs, gains, PERIOD, 2e-3)
    both = np.zeros((len(M), 12, 12))
    both[:, :6, :6], both[:, 6:, 6:] = M[::-1], M
    twice = Springs(np.tile(STIFFNESS, 2), np.tile(INERTIA, 2), np.zeros(12))
    doubled = {name: np.tile(value, 2) for name, value in gains.items()}
    found = elastic_radii(both, twice, doubled, PERIOD, 2e-3)
    assert np.allclose(found, np.maximum(alone, alone[::-1]), rtol=1e-9)


def test_default_gains_are_stable_in_poses_that_they_were_not_chosen_for():
    springs = {"stiffness": STIFFNESS, "motor_inertia": INERTIA}
    law = Controller(UR5, "elastic", springs=springs)
    found = law.stabilize(PERIOD, 2e-3)
    assert found.stable and found.factor == 1.0 and found.margin > 5.0
    rng = np.random.default_rng(7)
    q = np.array([UR5.random_state(rng)[0] for _ in range(100)])
    others = Poses(q, np.array([UR5.mass_matrix(pose) for pose in q]))
    given = springs_of(UR5, springs)
    radii = elastic_radii(others.M, given, law.gains, PERIOD, 2e-3)
    assert radii.max() < 1.0
    # Slow springs under a fast delay are what the defaults are there to avoid.
    slow = law.gains | {"spring_frequency": np.full(6, 8.0), "frequency": np.full(6, 8.0)}
    stiffer = springs_of(UR5, springs | {"stiffness": 10.0 * STIFFNESS})
    assert elastic_radii(poses_of(UR5).M, stiffer, slow, PERIOD, 2e-3).max() > 1.0


def test_tuned_gains_keep_the_loop_stable_or_are_refused():
    law = Controller(UR5, "elastic", springs={"stiffness": STIFFNESS, "motor_inertia": INERTIA})
    faster = law.tuned({"frequency": 30.0}, PERIOD)
    assert np.allclose(faster["frequency"], 30.0)
    assert np.allclose(faster["error_limit"], law.gains["error_limit"])
    with pytest.raises(InputError, match="unstable"):
        law.tuned({"spring_frequency": 2000.0}, PERIOD)
    with pytest.raises(InputError, match=r"gains.frequency has -1.0"):
        law.tuned({"frequency": -1.0})


@pytest.mark.parametrize("wall", [True, False])
def test_walls_hold_links_through_their_springs(wall):
    """A reference beyond the limits, which nothing else keeps the law from."""
    arm = SpringArm(UR5, STIFFNESS, INERTIA)
    law = Controller(UR5, "elastic", springs=arm.springs, walls=wall, reference_limits=False)
    end = float(law.data.upper[2])
    law.data.upper[2] = 1.6  # of the elbow, nearer than its own
    wanted = Q + np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0])
    states, outputs = arm.run(arm.at_rest(Q), law.step, 1.0, PERIOD, q_ref=wanted)
    assert end > 1.6
    beyond = states[:, 0, 2].max() - 1.6
    assert (beyond < 0.02) == wall
    assert any("WALL" in out.status for out in outputs) == wall
    if wall:
        late = states[-200:]
        assert np.abs(late[:, 0, 2] - 1.6).max() < 5e-3 and np.abs(late[:, 1, 2]).max() < 0.1


def test_a_jump_of_the_reference_becomes_a_motion_that_springs_can_follow():
    arm = SpringArm(UR5, STIFFNESS, INERTIA)
    law = Controller(UR5, "elastic", springs=arm.springs)
    off = []

    def step(q, *given, **references):
        out = law.step(q, *given, **references)
        off.append(np.abs(q - law.data.state[24:30]).max())  # behind q, v and motors
        return out

    states, outputs = arm.run(arm.at_rest(Q), step, 2.0, PERIOD, q_ref=Q + 0.5)
    assert np.abs(states[-1, 0] - Q - 0.5).max() < 1e-3
    assert max(off) < 0.01
    # Torques change as fast as they may while the jerk turns round, and no longer.
    assert sum("CLAMPED" in out.status for out in outputs) < 20
    assert (np.abs(states[:, 1]) / UR5.limits.velocity).max() < 1.0


def test_smooth_references_pass_with_jerk_and_snap():
    law = Controller(UR5, "elastic", springs={"stiffness": STIFFNESS, "motor_inertia": INERTIA})
    zero, w = np.zeros(6), 2.0
    for k in range(200):
        t = k * PERIOD
        given = [0.1 * w**i * np.sin(w * t + 0.5 * np.pi * (i - 1)) * np.ones(6) for i in range(5)]
        given[0] = given[0] + Q + 0.1
        names = ("q_ref", "v_ref", "a_ref", "jerk_ref", "snap_ref")
        motors = {"motor_q": given[0], "motor_v": given[1]}
        law.step(given[0], given[1], PERIOD, **motors, **dict(zip(names, given, strict=True)))
        if k > 100:
            in_effect = law.data.state[24:].reshape(5, 6)
            assert np.allclose(in_effect, given, atol=1e-12)
    # What is not given is zero, and held.
    law.hold()
    law.step(Q, zero, PERIOD, motor_q=Q, motor_v=zero)
    assert np.array_equal(law.data.state[24:].reshape(5, 6), [Q, zero, zero, zero, zero])
