"""Impacts: momentum balances, what touches bounces back as restitution says, energy never grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from oracles.contact_kkt import jacobian
from support.agreement import assert_agree, largest
from support.cases import examples
from support.contact_cases import HUMANOIDS, bent, box, contact_cases, corners, standing
from support.robots import robots_folder
from support.textbook import DoublePendulum
from torqued.kernels import Contact, Robot
from torqued.kernels.contacts.types import ImpactSolution
from torqued.kernels.model.description import Array

restitutions = st.floats(0.0, 1.0)


def kinetic(robot: Robot, q: Array, v: Array) -> float:
    return float(0.5 * v @ robot.mass_matrix(q) @ v)


def assert_balanced(
    robot: Robot,
    q: Array,
    v: Array,
    contacts: list[Contact],
    restitution: float,
    solution: ImpactSolution,
) -> None:
    """[F16] eq. 11 and 12."""
    G, M = jacobian(robot, q, contacts), robot.mass_matrix(q)
    size = largest(M @ v) + largest(G.T @ solution.impulse)
    assert_agree(M @ (solution.v - v), G.T @ solution.impulse, within=1e-8, size=size)
    assert_agree(G @ solution.v, -restitution * G @ v, within=1e-6, size=1.0 + largest(G @ v))


@examples(60, case=contact_cases(), restitution=restitutions)
def test_momentum_balances_and_velocities_turn_back(case, restitution):
    robot, (q, v) = case.robot, case.state
    solution = robot.impact(q, v, case.contacts, restitution)
    assert not solution.conflicting
    assert_balanced(robot, q, v, case.contacts, restitution, solution)


@examples(60, case=contact_cases(), restitution=restitutions)
def test_energy_never_grows_and_what_is_lost_is_said(case, restitution):
    robot, (q, v) = case.robot, case.state
    solution = robot.impact(q, v, case.contacts, restitution)
    before, after = kinetic(robot, q, v), kinetic(robot, q, solution.v)
    assert after <= before * (1.0 + 1e-9)
    assert solution.energy_lost >= 0.0
    assert_agree(before - after, solution.energy_lost, within=1e-8, size=before)


@examples(60, case=contact_cases())
def test_elastic_impact_conserves_energy(case):
    robot, (q, v) = case.robot, case.state
    solution = robot.impact(q, v, case.contacts, 1.0)
    before = kinetic(robot, q, v)
    assert_agree(kinetic(robot, q, solution.v), before, within=1e-8)
    assert solution.energy_lost <= 1e-8 * before


@examples(60, case=contact_cases())
def test_loss_falls_with_the_square_of_restitution(case):
    robot, (q, v) = case.robot, case.state
    most = robot.impact(q, v, case.contacts, 0.0).energy_lost
    half = robot.impact(q, v, case.contacts, 0.5).energy_lost
    assert_agree(half, 0.75 * most, within=1e-8, size=1e-6 * kinetic(robot, q, v))


@examples(60, case=contact_cases())
def test_second_impact_changes_nothing(case):
    """After an inelastic one what touches is at rest, redundant or not."""
    robot, (q, v) = case.robot, case.state
    first = robot.impact(q, v, case.contacts)
    second = robot.impact(q, first.v, case.contacts)
    assert not second.conflicting
    assert second.rank_deficient == first.rank_deficient
    assert_agree(second.v, first.v, within=1e-6, size=1.0)


def test_box_falls_on_its_bottom():
    robot = box(2.0)
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -3.0])
    solution = robot.impact(standing(robot, 0.2), v, corners(), 0.5)
    assert_agree(solution.v, [0, 0, 0, 0, 0, 1.5], size=1.0)
    assert solution.rank_deficient and not solution.conflicting
    assert_agree(solution.impulse[2::3], np.full(4, 2.0 * 4.5 / 4.0))
    assert_agree(solution.energy_lost, 0.5 * 2.0 * (3.0**2 - 1.5**2))


def test_pendulum_is_caught_at_its_tip():
    """Along x at q = 0: the tip's velocity is −(l1 + l2) v1 − l2 v2."""
    pendulum = DoublePendulum()
    robot = pendulum.robot
    tip = Contact("l2", "normal", point=(0.0, 0.0, -pendulum.l2), normal=(1.0, 0.0, 0.0))
    v = np.array([1.0, 2.0])
    solution = robot.impact([0.0, 0.0], v, [tip])
    G = np.array([-(pendulum.l1 + pendulum.l2), -pendulum.l2])
    M = pendulum.mass_matrix(np.zeros(2))
    impulse = -(G @ v) / (G @ np.linalg.solve(M, G))
    assert_agree(solution.impulse, [impulse])
    assert_agree(solution.v, v + np.linalg.solve(M, G) * impulse)


def test_no_contacts_change_nothing():
    robot = box()
    v = np.arange(6.0)
    solution = robot.impact(robot.neutral(), v, [])
    np.testing.assert_array_equal(solution.v, v)
    assert solution.energy_lost == 0.0 and solution.impulse.shape == (0,)


@pytest.mark.skipif(not robots_folder().exists(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("name", HUMANOIDS)
@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_humanoid_steps_down(name, restitution):
    which = HUMANOIDS[name]
    robot = which.load()
    rng = np.random.default_rng(5)
    q, v = bent(robot, rng), rng.normal(size=robot.nv)
    for contacts in (which.frames(), which.points()):
        solution = robot.impact(q, v, contacts, restitution)
        assert_balanced(robot, q, v, contacts, restitution, solution)
        assert solution.rank_deficient == (len(contacts) == 8)
    frames, points = (robot.impact(q, v, c, restitution) for c in (which.frames(), which.points()))
    assert_agree(points.v, frames.v, within=1e-8)
    assert_agree(points.energy_lost, frames.energy_lost, within=1e-8, size=1e-3)
