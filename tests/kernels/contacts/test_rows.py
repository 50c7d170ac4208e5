"""Rows of contacts: G is the Jacobian of what is held, γ minus the rate of G times v."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from oracles.contact_kkt import acceleration_bias, jacobian, selection
from oracles.finite_differences import derivative
from support.agreement import assert_agree
from support.cases import cases, examples
from support.contact_cases import box, contact_cases, random_contact
from torqued.kernels import Contact, Robot
from torqued.kernels.model.description import Array


def rows(robot: Robot, q: Array, v: Array, contacts: list[Contact]) -> tuple[Array, Array, Array]:
    """G, G v and γ."""
    space = robot.contact_terms(q, v, robot.contact_records(contacts), dense=False)
    return space.G, space.velocity, space.gamma


def rotation(w: Array) -> Array:
    """Rodrigues' formula."""
    angle = np.linalg.norm(w)
    if angle == 0.0:
        return np.eye(3)
    x, y, z = w / angle
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    R: Array = np.eye(3) + np.sin(angle) * S + (1.0 - np.cos(angle)) * S @ S
    return R


@examples(40, case=contact_cases())
def test_G_is_the_jacobian_of_what_is_held_minus_that_of_what_holds_it(case):
    q, v = case.state
    G, _, _ = rows(case.robot, q, v, case.contacts)
    assert_agree(G, jacobian(case.robot, q, case.contacts), size=1.0)


@examples(40, case=contact_cases())
def test_G_v_is_the_relative_velocity(case):
    robot, (q, v) = case.robot, case.state
    G, velocity, _ = rows(robot, q, v, case.contacts)
    relative = []
    for contact in case.contacts:
        u = robot.frame_velocity(q, v, contact.frame, point=contact.point)
        if contact.other:
            u = u - robot.frame_velocity(q, v, contact.other, point=contact.other_point)
        relative.append(selection(contact) @ u)
    assert_agree(G @ v, np.concatenate(relative), size=1.0)
    assert_agree(velocity, np.concatenate(relative), size=1.0)


@examples(40, case=contact_cases())
def test_gamma_is_minus_the_rate_of_G_along_the_motion_times_v(case):
    robot, (q, v) = case.robot, case.state
    _, _, gamma = rows(robot, q, v, case.contacts)

    def velocity_after(time: float) -> Array:
        return rows(robot, robot.integrate(q, v, time), v, case.contacts)[0] @ v

    rate = derivative(velocity_after, case.case.step)
    assert_agree(gamma, -rate, within=1e-8, size=1.0)
    assert_agree(gamma, -acceleration_bias(robot, q, v, case.contacts), size=1.0)


@pytest.mark.parametrize(
    "normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -2, 0), (0.3, -0.4, 5.0), (1e-9, 0, -1)]
)
def test_axes_are_a_right_handed_frame_with_the_normal_last(normal):
    robot = box()
    contact = Contact("box", "point", normal=normal)
    zero = np.zeros(6)
    axes = robot.contact_dynamics(robot.neutral(), zero, zero, [contact]).contacts[0].axes
    assert_agree(axes.T @ axes, np.eye(3))
    assert_agree(np.linalg.det(axes), 1.0)
    assert_agree(axes[:, 2], np.array(normal) / np.linalg.norm(normal))


def test_normals_need_not_have_unit_length():
    robot, rng = box(), np.random.default_rng(0)
    q, v = robot.random_state(rng)
    once = rows(robot, q, v, [Contact("box", "normal", normal=(1.0, 2.0, 3.0))])
    twice = rows(robot, q, v, [Contact("box", "normal", normal=(2.0, 4.0, 6.0))])
    for one, other in zip(once, twice, strict=True):
        assert_agree(one, other)


def gains_part(robot: Robot, q: Array, v: Array, contact: Contact) -> Array:
    """What Baumgarte's gains add to γ."""
    plain = replace(contact, stiffness=0.0, damping=0.0)
    return rows(robot, q, v, [contact])[2] - rows(robot, q, v, [plain])[2]


@pytest.mark.parametrize("kind", ["normal", "point", "frame"])
@examples(40, case=cases())
def test_damping_acts_against_the_velocity_error(case, kind):
    robot, q, v = case.robot, case.q, case.v
    contact = replace(random_contact(case, kind, loop=False), damping=7.0)
    _, velocity, _ = rows(robot, q, v, [contact])
    assert_agree(gains_part(robot, q, v, contact), -7.0 * velocity, size=1.0)


@examples(
    40, case=cases(), size=st.floats(0.0, 3.1), kind=st.sampled_from(["normal", "point", "frame"])
)
def test_stiffness_acts_against_the_position_error(case, size, kind):
    robot, q, v, rng = case.robot, case.q, case.v, case.rng
    contact = random_contact(case, kind, loop=False)
    turn, shift = rng.normal(size=(2, 3))
    turn *= size / np.linalg.norm(turn)
    here = robot.frame_pose(q, contact.frame, contact.point)
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = rotation(turn).T @ here[:3, :3], here[:3, 3] - shift
    contact = replace(contact, stiffness=11.0, target=target)
    expected = -11.0 * selection(contact) @ np.concatenate([turn, shift])
    assert_agree(gains_part(robot, q, v, contact), expected, within=1e-9, size=10.0)


OBLIQUE = [np.roll([0.8, 0.48, -0.36], k) for k in range(3)]


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), *OBLIQUE])
@pytest.mark.parametrize("angle", [1e-9, 1e-4, 1.5, 2.5, 3.1415])
def test_turning_error_is_the_rotation_vector_up_to_half_a_turn(axis, angle):
    robot = box()
    zero = np.zeros(6)
    target = np.eye(4)
    target[:3, :3] = rotation(-angle * axis)
    contact = Contact("box", target=target, stiffness=1.0)
    assert_agree(gains_part(robot, robot.neutral(), zero, contact)[:3], -angle * axis, within=1e-7)


@examples(40, case=cases(least=2))
def test_loop_closure_measures_errors_relative_to_the_other_frame(case):
    robot, q, v, rng = case.robot, case.q, case.v, case.rng
    contact = random_contact(case, "frame", loop=True)
    turn, shift = 0.5 * rng.normal(size=(2, 3))
    here = robot.frame_pose(q, contact.frame, contact.point)
    there = np.eye(4)
    there[:3, :3], there[:3, 3] = rotation(turn).T @ here[:3, :3], here[:3, 3] - shift
    other = robot.frame_pose(q, contact.other, contact.other_point)
    contact = replace(contact, stiffness=11.0, target=np.linalg.inv(other) @ there)
    expected = -11.0 * selection(contact) @ np.concatenate([turn, shift])
    assert_agree(gains_part(robot, q, v, contact), expected, within=1e-9, size=10.0)


def test_gains_of_a_contact_that_may_slide_act_along_the_normal_only():
    robot, rng = box(), np.random.default_rng(0)
    q, v = robot.random_state(rng)
    target = robot.frame_pose(q, "box")[:3, 3] + rng.normal(size=3)
    contact = Contact("box", "point", target=target, stiffness=3.0, damping=5.0)
    held = gains_part(robot, q, v, contact)
    records = robot.contact_records([contact])
    records.unilateral = 1
    loose = robot.contact_terms(q, v, records, dense=False).gamma
    plain = rows(robot, q, v, [replace(contact, stiffness=0.0, damping=0.0)])[2]
    assert (np.abs(held) > 1e-3).all()
    assert_agree(loose - plain, [0.0, 0.0, held[2]])
