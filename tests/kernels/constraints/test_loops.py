"""Loops along chosen axes and rows of one's own: by finite differences, and as joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from support.contact_cases import box
from support.robots import random_motion
from torqued.kernels import Contact, InputError, Loop, Robot, Rows, Wrench
from torqued.kernels.constraints.types import LOOP_KINDS, ROWS
from torqued.kernels.model.rotations import rotation_from_rpy

EPS = 1e-6
LEFT, RIGHT = "link_left_06", "link_right_06"


@pytest.fixture(scope="module")
def robot():
    return Robot.family("biped", 12)


@pytest.fixture(scope="module")
def state(robot):
    return random_motion(robot, 3)


def loop(**options):
    options = {"axis": (1.0, 2.0, 3.0), "point": (0.1, 0.0, 0.2), **options}
    return Loop(LEFT, options.pop("other", RIGHT), other_point=(0.0, 0.3, 0.0), **options)


@pytest.mark.parametrize("other", [RIGHT, None])
@pytest.mark.parametrize("held", [ROWS, ("rx", "x", "z"), ("y",), ("rx", "ry"), ("x", "y", "z")])
def test_gamma_and_velocity_are_rates(robot, state, held, other):
    q, v, _ = state
    given = loop(held=held, other=other)
    terms = robot.constraint_terms(q, v, [given])
    assert_agree(terms.velocity, terms.G @ v)

    def at(h):
        return robot.constraint_terms(robot.integrate(q, v, h), v, [given])

    ahead, behind = at(EPS), at(-EPS)
    assert_agree((ahead.velocity - behind.velocity) / (2 * EPS), -terms.gamma, 1e-6, size=1.0)
    shifts = [k for k, row in enumerate(held) if not row.startswith("r")]
    rate = (ahead.position - behind.position) / (2 * EPS)
    assert_agree(rate[shifts], terms.velocity[shifts], within=1e-6, size=1.0)


#: Rows that a loop of every kind holds, and pairs of turns about other axes.
HELD = [*LOOP_KINDS.values(), ("rx", "rz"), ("ry", "rz", "y")]


def turned_loop(robot, q, held, angle):
    """Closed at q, turned by `angle` about the one axis that it leaves free, if it is one."""
    free = [k for k, row in enumerate(ROWS[:3]) if row not in held]
    axes = rotation_from_rpy(0.3, -0.5, 0.7)
    turn = rotation_from_rpy(*(-angle * np.eye(3)[free[0]])) if len(free) == 1 else np.eye(3)
    a, b = robot.frame_pose(q, LEFT, (0.1, 0.0, 0.2)), robot.frame_pose(q, RIGHT, (0.0, 0.3, 0.0))
    target = np.linalg.inv(b) @ a
    target[:3, :3] = axes @ turn @ axes.T @ target[:3, :3]
    return loop(held=held, axis=axes, target=target)


@pytest.mark.parametrize("angle", [0.0, 0.1, 1.0, 2.0, 3.0, np.pi])
@pytest.mark.parametrize("held", HELD)
def test_errors_are_rates_however_far_a_loop_has_turned(robot, state, held, angle):
    q, v, _ = state
    given = turned_loop(robot, q, held, angle)
    terms = robot.constraint_terms(q, v, [given])
    assert np.abs(terms.position).max() < 1e-12
    ahead, behind = (
        robot.constraint_terms(robot.integrate(q, v, h), v, [given]).position for h in (EPS, -EPS)
    )
    assert_agree((ahead - behind) / (2 * EPS), terms.velocity, within=1e-6, size=1.0)


@pytest.mark.parametrize("angle", [0.0, 2.0, 3.0, np.pi])
@pytest.mark.parametrize("kind", ["hinge", "cylinder", "plane"])
def test_loops_are_closed_however_far_they_have_turned(robot, state, kind, angle):
    q, v, _ = state
    given = turned_loop(robot, q, LOOP_KINDS[kind], angle)
    found = robot.assemble(robot.integrate(q, v, 0.1), [given])
    assert found.converged
    assert np.abs(robot.constraint_terms(found.q, v, [given]).position).max() < 1e-10


@pytest.mark.parametrize("angle", [0.0, 2.0, 3.0, np.pi])
@pytest.mark.parametrize("kind", ["hinge", "cylinder", "plane"])
def test_errors_vanish_in_time_however_far_a_loop_has_turned(kind, angle):
    body, firm = box(2.0), {"stiffness": 400.0, "damping": 40.0}
    given = Loop("box", kind=kind, axis=np.eye(3), **firm)
    q = body.neutral()
    q = body.integrate(q, [0.0, 0.0, angle, 0.0, 0.0, 0.0], 1.0)
    q = body.integrate(q, [1e-3, -2e-3, 0.0, 0.0, 0.0, 0.0], 1.0)
    run = body.simulate(q, np.zeros(6), None, 4.0, 1e-2, contacts=[given])
    off = [np.abs(body.constraint_terms(q, np.zeros(6), [given]).position).max() for q in run.q]
    assert max(off) < 3e-3 and off[-1] < 1e-9


def test_axis_that_points_backwards_is_half_a_turn_off():
    body = box(2.0)
    q = body.integrate(body.neutral(), [np.pi, 0.0, 0.0, 0.0, 0.0, 0.0], 1.0)
    terms = body.constraint_terms(q, np.zeros(6), [Loop("box", axis=np.eye(3))])
    assert_agree(np.linalg.norm(terms.position[:2]), np.pi)


def test_ball_is_the_contact_of_a_point(robot, state):
    q, v, tau = state
    ball = loop(kind="ball", axis=np.eye(3))
    point = Contact(LEFT, "point", (0.1, 0, 0.2), other=RIGHT, other_point=(0, 0.3, 0))
    closed = robot.assemble(q, [ball], v)
    found = robot.contact_dynamics(closed.q, closed.v, tau, [ball])
    same = robot.contact_dynamics(closed.q, closed.v, tau, [point])
    assert_agree(found.a, same.a, within=1e-8)
    assert_agree(found.contacts[0].wrench, same.contacts[0].wrench, within=1e-8)


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_wrench_of_a_loop_acts_on_both_sides(robot, state, kind):
    q, v, tau = state
    solution = robot.contact_dynamics(q, v, tau, [loop(kind=kind)])
    force = solution.contacts[0]
    wrench = force.wrench
    at = robot.frame_pose(q, LEFT, (0.1, 0.0, 0.2))[:3, 3]
    pose = robot.frame_pose(q, RIGHT)
    there = pose[:3, :3].T @ (at - pose[:3, 3])  # the reaction acts at the same place
    forces = {
        LEFT: Wrench(wrench[3:], wrench[:3], (0.1, 0.0, 0.2)),
        RIGHT: Wrench(-wrench[3:], -wrench[:3], there),
    }
    assert_agree(robot.forward_dynamics(q, v, tau, forces), solution.a, within=1e-8)


def test_order_of_constraints_is_kept(robot, state):
    q, v, tau = state
    rows = np.random.default_rng(0).normal(size=(2, robot.nv))
    given = [Rows((rows, [0.1, 0.2])), Contact(LEFT, "point"), loop(other=None), Contact(RIGHT)]
    one = robot.contact_dynamics(q, v, tau, given)
    assert [(s.start, s.stop) for s in one.rows] == [(0, 2), (2, 5), (5, 10), (10, 16)]
    two = robot.contact_dynamics(q, v, tau, given[::-1])
    assert_agree(one.a, two.a, within=1e-7)
    for k in range(4):
        assert_agree(one.force[one.rows[k]], two.force[two.rows[3 - k]], within=1e-7)
    assert_agree(rows @ one.a, [0.1, 0.2], within=1e-9)


def test_rows_of_ones_own_couple_joints():
    """A gear: the second joint turns twice as far as the first, whatever acts."""
    robot = Robot.family("chain", 4)
    G = np.zeros((1, 4))
    G[0, :2] = 2.0, -1.0
    gear = Rows(lambda q, v: (G, [0.0], [2.0 * q[0] - q[1]]), stiffness=400.0, damping=40.0)
    start = robot.assemble([0.3, 0.5, 0.1, 0.2], [gear], [1.0, 0.0, 0.0, 0.0])
    assert start.converged and abs(2.0 * start.q[0] - start.q[1]) < 1e-10
    run = robot.simulate(start.q, start.v, None, 1.0, 1e-2, contacts=[gear])
    assert np.abs(2.0 * run.q[:, 0] - run.q[:, 1]).max() < 1e-6
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.1


def test_mimic_robots_have_loops():
    from support.cases import random_case

    case = random_case(4, 9, "floating", mimics=True)
    robot, q, v = case.robot, case.q, case.v
    tip, other = robot.frame_names[-1], robot.frame_names[1]
    given = Loop(tip, other, "cylinder", axis=(0, 1, 1))
    terms = robot.constraint_terms(q, v, [given])
    ahead, behind = (
        robot.constraint_terms(robot.integrate(q, v, h), v, [given]).velocity for h in (EPS, -EPS)
    )
    assert_agree((ahead - behind) / (2 * EPS), -terms.gamma, within=1e-5, size=1.0)


def test_contacts_have_position_errors(robot, state):
    q, v, _ = state
    pose = robot.frame_pose(q, LEFT)
    moved = robot.integrate(q, v, 1e-3)
    terms = robot.constraint_terms(moved, v, [Contact(LEFT, target=pose, stiffness=7.0)])
    assert_agree(terms.position, 1e-3 * terms.velocity, within=1e-2)
    assert not robot.constraint_terms(moved, v, [Contact(LEFT)]).position.any()


def test_external_forces_count_in_contacts(robot, state):
    q, v, tau = state
    f_ext = {RIGHT: Wrench((10.0, -5.0, 3.0), point=(0.1, 0.0, 0.0)), "link_left_02": np.ones(6)}
    free = robot.inverse_dynamics(q, v, np.zeros(robot.nv), f_ext)
    assert_agree(robot.bias(q, v, f_ext), free)
    push = robot.bias(q, v) - free
    feet = [Contact(LEFT)]
    assert_agree(
        robot.contact_dynamics(q, v, tau, feet, f_ext=f_ext).a,
        robot.contact_dynamics(q, v, tau + push, feet).a,
    )
    point = [Contact(LEFT, "point", friction=0.4)]
    assert_agree(
        robot.friction_dynamics(q, v, tau, point, 1e-3, f_ext=f_ext).a,
        robot.friction_dynamics(q, v, tau + push, point, 1e-3).a,
    )


def test_each_row_has_its_velocity_after_an_impact(robot, state):
    q, v, _ = state
    after = np.arange(6.0)
    landed = robot.impact(q, v, [Contact(LEFT)], after=after)
    assert_agree(robot.frame_velocity(q, landed.v, LEFT), after, within=1e-9)
    lost = robot.energy(q, v)[0] - robot.energy(q, landed.v)[0]
    assert_agree(landed.energy_lost, lost, within=1e-9)
    with pytest.raises(InputError, match="after: not together with a restitution"):
        robot.impact(q, v, [Contact(LEFT)], 0.5, after)


def test_force_of_a_contact_in_its_own_frame(robot, state):
    q, v, tau = state
    (force,) = robot.contact_dynamics(q, v, tau, [Contact(LEFT, normal=(1, 1, 1))]).contacts
    R = robot.frame_pose(q, LEFT)[:3, :3]
    expected = np.concatenate([R.T @ force.wrench[:3], R.T @ force.wrench[3:]])
    assert_agree(force.own_wrench, expected)


WRONG = {
    "kind": (loop(kind="glue"), "kind: 'glue' is unknown, allowed: 'weld', 'hinge'"),
    "row": (loop(held=("x", "rq")), "held: 'rq' is unknown, allowed: 'rx'"),
    "no row": (loop(held=()), "held: .*expected each row once"),
    "row twice": (loop(held=("x", "x")), "held: .*expected each row once"),
    "axis": (loop(axis=(0, 0, 0)), "axis is zero"),
    "axes": (loop(axis=2.0 * np.eye(3)), "axis: not a rotation"),
    "frame": (replace(loop(), frame="foot"), "frame 'foot' is unknown"),
    "other": (loop(other="foot"), "frame 'foot' is unknown"),
    "stiffness": (loop(stiffness=-1.0), "stiffness is -1.0"),
    "rows": (Rows(([[1.0, 2.0]], [0.0])), r"G: shape \(1, 2\)"),
    "gamma": (Rows((np.ones((1, 18)), [0.0, 1.0])), r"gamma: shape \(2,\)"),
    "one term": (Rows((np.ones((1, 18)),)), "expected G and γ"),
    "errors": (Rows((np.ones((1, 18)), [0.0]), stiffness=1.0), "needs position errors"),
    "something": ("hinge", "expected a Contact, a Loop or Rows"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_constraints_are_named(robot, state, wrong):
    q, v, tau = state
    given, message = WRONG[wrong]
    with pytest.raises(InputError, match=message) as error:
        robot.contact_dynamics(q, v, tau, [Contact(LEFT), given])
    assert "contacts[1]" in str(error.value)
