"""A four-bar linkage and a Stewart platform: put together, moved for minutes, and driven."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from support.mechanisms import HEIGHT, four_bar, rocker_angle, stewart
from torqued.kernels import InputError, Rows

OMEGA = 20.0

#: How far balls come out of their sockets, m.
SOCKET = 1e-5


def firm(loops):
    return [replace(loop, stiffness=OMEGA**2, damping=2.0 * OMEGA) for loop in loops]


def energy(robot, q, v):
    return sum(robot.energy(q, v))


class TestFourBar:
    @pytest.mark.parametrize("crank", [0.3, 1.5, 3.0, -1.2])
    def test_is_put_together_as_the_law_of_cosines_says(self, crank):
        robot, loops = four_bar()
        rocker, coupler = rocker_angle(crank)
        guess = [crank, coupler - crank + 0.2, rocker - 0.2]
        found = robot.assemble(guess, loops, [1.0, 0.0, 0.0], weights=[1e9, 1.0, 1.0])
        assert found.converged and found.error < 1e-10 and found.speed < 1e-9
        difference = found.q - [crank, coupler - crank, rocker]
        assert_agree((difference + np.pi) % (2 * np.pi), np.full(3, np.pi), within=1e-6)
        h = 1e-5
        ahead, behind = (rocker_angle(crank + found.v[0] * s)[0] for s in (h, -h))
        assert_agree(found.v[2], (ahead - behind) / (2 * h), within=1e-5)

    def test_nearest_state_is_nearest(self):
        """No other one on the linkage's one way to move is nearer to the guess."""
        robot, loops = four_bar()
        guess = np.array([0.4, 0.5, 1.2])
        found = robot.assemble(guess, loops)
        assert found.converged
        G = robot.constraint_terms(found.q, np.zeros(3), loops).G
        free = np.linalg.svd(G)[2][-1]
        assert np.abs(G @ free).max() < 1e-9
        assert abs(free @ (found.q - guess)) < 1e-6

    def test_redundant_rows_of_a_planar_linkage_are_told(self):
        robot, loops = four_bar()
        start = robot.assemble([0.4, 0.5, 1.2], loops)
        solution = robot.contact_dynamics(start.q, start.v, np.zeros(3), loops)
        assert solution.rank_deficient and not solution.conflicting

    @pytest.mark.parametrize("seconds", [2.0, pytest.param(180.0, marks=pytest.mark.slow)])
    def test_falls_without_drift(self, seconds):
        """It swings about its lowest place: what was closed stays so, and energy is kept."""
        robot, loops = four_bar()
        start = robot.assemble([0.4, 0.5, 1.2], loops)
        every = round(0.1 / 5e-3)
        run = robot.simulate(
            start.q, start.v, None, seconds, 5e-3, contacts=firm(loops), every=every
        )
        off = [
            np.abs(robot.constraint_terms(q, v, loops).position).max()
            for q, v in zip(run.q, run.v, strict=True)
        ]
        assert max(off) < 1e-6
        energies = [energy(robot, q, v) for q, v in zip(run.q, run.v, strict=True)]
        assert np.ptp(energies) < 1e-4 * seconds
        assert np.ptp(run.q[:, 0]) > 0.5

    def test_motor_drives_all_of_it_exactly(self):
        robot, loops = four_bar()
        start = robot.assemble([0.4, 0.5, 1.2], loops, [2.0, 0.0, 0.0], weights=[1e6, 1, 1])
        solution = robot.contact_dynamics(start.q, start.v, [3.0, 0.0, 0.0], loops)
        found = robot.constrained_inverse_dynamics(
            start.q, start.v, solution.a, loops, actuated=["motor"]
        )
        assert found.exact and found.fully_actuated
        assert_agree(found.tau, [3.0, 0.0, 0.0], within=1e-7)
        assert_agree(found.efforts, [3.0], within=1e-7)

    def test_what_the_linkage_cannot_do_is_relaxed(self):
        robot, loops = four_bar()
        start = robot.assemble([0.4, 0.5, 1.2], loops)
        wanted = np.array([1.0, 1.0, 1.0])
        found = robot.constrained_inverse_dynamics(start.q, start.v, wanted, loops, ["motor"])
        assert found.fully_actuated and not found.exact
        again = robot.contact_dynamics(start.q, start.v, found.tau, loops)
        assert_agree(again.a, found.a, within=1e-7)
        terms = robot.constraint_terms(start.q, start.v, loops)
        free = np.linalg.svd(terms.G)[2][-1]
        assert abs(free @ (found.a - wanted)) < 1e-8  # no nearer one along the way it can move

    def test_wrong_inputs_are_named(self):
        robot, loops = four_bar()
        with pytest.raises(InputError, match=r"weights: -1\.0, expected positive"):
            robot.assemble(np.zeros(3), loops, weights=[1.0, -1.0, 1.0])
        with pytest.raises(InputError, match="joint 'engine' is unknown"):
            robot.actuation(["engine"])
        with pytest.raises(InputError, match=r"actuated: shape \(2, 2\)"):
            zero = np.zeros(3)
            robot.constrained_inverse_dynamics(zero, zero, zero, loops, actuated=np.eye(2))


class TestStewart:
    def test_is_put_together(self):
        robot, loops, guess = stewart()
        pose = np.full(robot.nv, 1.0)
        pose[:6] = 1e6
        found = robot.assemble(guess, loops, weights=pose)
        assert found.converged
        assert_agree(found.q[:3], [0.0, 0.0, HEIGHT], within=1e-3)

    @pytest.mark.parametrize("seconds", [2.0, pytest.param(180.0, marks=pytest.mark.slow)])
    def test_moves_for_minutes_without_drift(self, seconds):
        """Legs draw the platform about: balls stay in their sockets, at the end as at first."""
        robot, loops, guess = stewart()
        start = robot.assemble(guess, loops)
        legs = robot.actuation([f"slide_{k}" for k in range(6)])
        slides = [k for k in range(len(start.q)) if k >= 7 and (k - 7) % 3 == 2]

        def tau(t, q, v):
            goal = start.q[slides] + 0.02 * np.sin(3.0 * t + np.arange(6))
            return legs @ (20.0 + 2000.0 * (goal - q[slides]) - 40.0 * (legs.T @ v))

        run = robot.simulate(
            start.q, start.v, tau, seconds, 0.02, "rkmk2", contacts=firm(loops), every=10
        )
        off = np.array(
            [
                np.abs(robot.constraint_terms(q, v, loops).position).max()
                for q, v in zip(run.q, run.v, strict=True)
            ]
        )
        assert np.ptp(run.q[:, slides], axis=0).min() > 0.02
        assert off.max() < SOCKET
        half = len(off) // 2
        assert off[half:].max() < 1.5 * off[:half].max()

    def test_six_legs_give_the_platform_any_acceleration(self):
        robot, loops, guess = stewart()
        start = robot.assemble(guess, loops)
        legs = [f"slide_{k}" for k in range(6)]
        G = robot.constraint_terms(start.q, start.v, loops).G
        N = np.linalg.svd(G)[2][18:].T
        wanted = np.array([0.1, -0.2, 0.3, 1.0, 2.0, 3.0])
        a = N @ np.linalg.solve(N[:6], wanted)  # at rest, so that G a = 0
        found = robot.constrained_inverse_dynamics(start.q, start.v, a, loops, legs)
        assert found.exact and found.fully_actuated
        driven = robot.contact_dynamics(start.q, start.v, found.tau, loops)
        assert_agree(driven.a[:6], wanted, within=1e-6)
        assert not found.tau[:6].any()

    def test_five_legs_do_not(self):
        robot, loops, guess = stewart()
        start = robot.assemble(guess, loops)
        legs = [f"slide_{k}" for k in range(5)]
        found = robot.constrained_inverse_dynamics(
            start.q, start.v, np.zeros(robot.nv), loops, legs
        )
        assert not found.fully_actuated and not found.exact
        driven = robot.contact_dynamics(start.q, start.v, found.tau, loops)
        assert_agree(driven.a, found.a, within=1e-6, size=1.0)


def test_velocities_of_rows_of_ones_own_are_put_together():
    robot, _ = four_bar()
    rows = Rows(([[1.0, 1.0, 0.0]], [0.0]))
    found = robot.assemble(np.zeros(3), [rows], [1.0, 0.0, 0.5])
    assert_agree(found.v, [0.5, -0.5, 0.5])
