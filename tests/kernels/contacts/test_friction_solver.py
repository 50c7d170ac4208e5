"""How the solver of friction gets there: humanoids on many points, and what a limit leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.contact_cases import HUMANOIDS, box, standing, tripod
from support.friction_cases import DT, HEIGHT, MASS, G, conditions, pushed, solve, total_force
from support.robots import robots_folder
from torqued.kernels import Contact, Robot
from torqued.kernels.model.description import Array

real = pytest.mark.skipif(
    not robots_folder().exists(), reason="example-robot-data is not installed"
)


@real
@pytest.mark.parametrize("name", ["talos", "g1", "simple_humanoid", "talos with mimics"])
class TestHumanoid:
    def standing(self, name: str) -> tuple[Robot, Array, Array, list[Contact]]:
        """On both feet, with the torques of joints that hold it up."""
        which = HUMANOIDS[name]
        robot = which.load()
        q = robot.neutral()
        center = robot.center_of_mass(q)
        feet = [robot.frame_pose(q, foot)[:3, 3] for foot in which.feet]
        x = center[0] - np.mean(feet, axis=0)[0]
        shifted = [
            replace(contact, point=np.add(contact.point, (x, 0.0, 0.0)))
            for contact in which.points(0.7)
        ]
        held = robot.contact_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv), shifted)
        # Torques that keep it still: gravity minus what the feet carry, all of it in the joints.
        G = held.G
        base = np.linalg.pinv(G[:, :6].T) @ robot.gravity(q)[:6]
        tau = robot.gravity(q) - G.T @ base
        tau[:6] = 0.0
        return robot, q, tau, shifted

    def test_stands_with_its_weight_inside_the_cones(self, name):
        robot, q, tau, contacts = self.standing(name)
        solution = robot.friction_dynamics(q, np.zeros(robot.nv), tau, contacts, DT)
        assert solution.converged
        assert largest(solution.a) < 1e-5
        weight = G * robot.total_mass
        assert_agree(total_force(solution), [0.0, 0.0, weight], within=1e-6)
        assert all(force.feasible for force in solution.contacts)
        assert solution.iterations <= 50

    def test_falls_freely_when_it_is_lifted(self, name):
        robot, q, _, contacts = self.standing(name)
        contacts = [replace(contact, normal=(0, 0, -1)) for contact in contacts]
        zero = np.zeros(robot.nv)
        solution = robot.friction_dynamics(q, zero, zero, contacts, DT)
        assert set(solution.states) == {"separates"} and solution.iterations <= 20
        assert_agree(solution.a, robot.forward_dynamics(q, zero, zero), within=1e-8)

    def test_obeys_the_conditions_in_motion(self, name):
        robot, _, tau, contacts = self.standing(name)
        for seed in range(6):
            rng = np.random.default_rng(seed)
            q = robot.integrate(robot.neutral(), 0.2 * rng.normal(size=robot.nv), 1.0)
            v = 0.2 * rng.normal(size=robot.nv)
            solution = robot.friction_dynamics(q, v, tau, contacts, DT)
            assert solution.converged
            conditions(robot, q, v, contacts, solution)


class TestIterations:
    def test_solution_is_a_start_that_needs_none(self):
        tau = pushed(15.0)
        first = solve(tau)
        again = solve(tau, start=first.force)
        assert first.iterations > 0 and again.iterations == 0
        assert_agree(again.a, first.a, within=1e-6)

    def test_nearby_solution_is_a_better_start_than_none(self):
        robot, rng = box(MASS), np.random.default_rng(1)
        q = standing(robot, HEIGHT)
        cold = warm = 0
        for _ in range(20):
            v = 0.1 * rng.normal(size=6)
            tau = 5.0 * rng.normal(size=6) * [0.1, 0.1, 0.1, 1, 1, 1]
            before = robot.friction_dynamics(q, v, tau, tripod(), DT)
            after = 1.001 * tau
            cold += robot.friction_dynamics(q, v, after, tripod(), DT).iterations
            warm += robot.friction_dynamics(
                q, v, after, tripod(), DT, start=before.force
            ).iterations
        assert warm < cold

    @pytest.mark.parametrize("bound", [1, 2, 5, 9, 11, 13])
    def test_bound_is_kept_and_the_residual_says_how_good_the_result_is(self, bound):
        solution = solve(pushed(9.82), iterations=bound, tolerance=1e-9)
        assert solution.iterations <= bound
        assert np.isfinite(solution.residual)
        assert solution.converged == (solution.residual <= 1e-9)

    def test_bound_that_is_too_low_is_reported(self):
        solution = solve(pushed(9.82), iterations=1, tolerance=1e-9)
        assert not solution.converged and solution.residual > 1e-9

    @pytest.mark.parametrize("push", np.linspace(9.79, 9.83, 9))
    def test_few_iterations_at_the_edge_of_sliding(self, push):
        solution = solve(pushed(push), tolerance=1e-9)
        assert solution.converged and solution.iterations <= 100

    def test_residual_is_zero_without_contacts(self):
        robot = box(MASS)
        zero = np.zeros(6)
        solution = robot.friction_dynamics(robot.neutral(), zero, zero, [], DT)
        assert solution.residual == 0.0 and solution.iterations == 0 and solution.converged
        assert_agree(solution.a, [0, 0, 0, 0, 0, -G])
