"""Derivatives of accelerations and forces of a robot whose frames are held."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import random_case
from support.robots import random_motion
from torqued.kernels import Contact, InputError, NumericalError, Robot


def biped() -> tuple[Robot, np.ndarray, np.ndarray, np.ndarray]:
    robot = Robot.family("biped", 12)
    return robot, *random_motion(robot, 4)


def feet(robot: Robot) -> tuple[str, str]:
    return robot.frame_names[6], robot.frame_names[-1]


def contacts_of(kind: str, robot: Robot) -> list[Contact]:
    left, right = feet(robot)
    point = (0.1, -0.2, 0.05)
    pose = np.eye(4)
    pose[:3, 3] = [0.3, 0.1, -0.4]
    return {
        "points": [Contact(left, "point", point), Contact(right, "normal", normal=(1, 2, 3))],
        "damped": [Contact(left, "frame", point, damping=7.0)],
        "sprung": [
            Contact(left, "frame", point, target=pose, stiffness=30.0, damping=5.0),
            Contact(right, "point", target=(0.2, 0.1, 0.0), stiffness=9.0, normal=(1, 0, 1)),
        ],
        "loop": [Contact(left, "frame", point, other=right, target=pose, stiffness=11.0)],
    }[kind]


@pytest.mark.parametrize("kind", ["points", "damped", "sprung", "loop"])
@pytest.mark.parametrize("coordinates", ["native", "hybrid"])
def test_derivatives_are_those_of_contact_dynamics(kind, coordinates):
    robot, native, v, tau = biped()
    q = robot.chart(coordinates).from_native(native)
    robot = robot.in_coordinates(coordinates)
    contacts = contacts_of(kind, robot)
    found = robot.contact_dynamics_derivatives(q, v, tau, contacts)

    def solved(q, v, tau):
        solution = robot.contact_dynamics(q, v, tau, contacts)
        return np.hstack([solution.a, solution.force])

    by_q = np.vstack([found.da_dq, found.dforce_dq])
    by_v = np.vstack([found.da_dv, found.dforce_dv])
    by_tau = np.vstack([found.da_dtau, found.dforce_dtau])
    for k, e in enumerate(np.eye(robot.nv)):
        along = derivative(lambda h, e=e: solved(robot.integrate(q, e, h), v, tau), 4e-3)
        assert_agree(by_q[:, k], along, within=1e-7, size=largest(by_q))
        along = derivative(lambda h, e=e: solved(q, v + h * e, tau))
        assert_agree(by_v[:, k], along, within=1e-8, size=largest(by_v))
        along = derivative(lambda h, e=e: solved(q, v, tau + h * e))
        assert_agree(by_tau[:, k], along, within=1e-8, size=largest(by_tau))


def test_joints_that_follow_others_are_followed():
    case = random_case(11, 7, "floating", ("revolute", "prismatic"), mimics=True)
    robot, q, v = case.robot, case.q, case.v
    assert robot.tree.follows
    contacts = [Contact(robot.frame_names[-1], "point", damping=2.0)]
    tau = robot.inverse_dynamics(q, v, case.a)
    found = robot.contact_dynamics_derivatives(q, v, tau, contacts)
    e = case.vector()
    along = derivative(
        lambda h: robot.contact_dynamics(robot.integrate(q, e, h), v, tau, contacts).force, 4e-3
    )
    assert_agree(found.dforce_dq @ e, along, within=1e-6)


def test_contacts_without_friction_and_springs_leave_what_they_hold_at_rest():
    """Along a motion that the contacts allow, G a = γ goes on to hold."""
    robot, q, v, tau = biped()
    A, B = robot.linearize(q, v, tau, contacts=contacts_of("damped", robot))
    assert A.shape == (2 * robot.nv, 2 * robot.nv)
    G = robot.contact_dynamics(q, v, tau, contacts_of("damped", robot)).G
    assert largest(G @ B[robot.nv :]) < 1e-10 * largest(B)


def test_redundant_contacts_are_refused():
    robot, q, v, tau = biped()
    foot = feet(robot)[0]
    with pytest.raises(NumericalError, match="redundant"):
        robot.contact_dynamics_derivatives(q, v, tau, [Contact(foot), Contact(foot, "point")])


def test_contacts_and_wrenches_are_not_linearized_together():
    robot, q, v, tau = biped()
    foot = feet(robot)[0]
    with pytest.raises(InputError, match="f_ext: not together with contacts"):
        robot.linearize(q, v, tau, f_ext={foot: np.zeros(6)}, contacts=[Contact(foot)])
