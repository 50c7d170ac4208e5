"""Contact dynamics, impacts and friction beside Pinocchio's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from support.contact_cases import HUMANOIDS, Humanoid, bent, box, corners, standing, tripod
from support.robots import robots_folder
from torqued.kernels import Contact, Robot
from torqued.kernels.contacts.solvers import SOLVERS
from torqued.kernels.model.description import Array

pytest.importorskip("pinocchio")

from oracles.contact_pinocchio import PinocchioContacts, friction_impulses
from oracles.pinocchio_urdf import PinocchioUrdf, build

#: Pinocchio's model with joints that follow others has them in another order.
PLAIN = [name for name in HUMANOIDS if name != "talos with mimics"]


@pytest.fixture(scope="module", params=PLAIN)
def both(request: pytest.FixtureRequest) -> tuple[Humanoid, Robot, PinocchioUrdf]:
    which = HUMANOIDS[request.param]
    robot = which.load()
    model = build(robots_folder() / which.file, "floating")
    return which, robot, PinocchioUrdf(model, list(robot.model.joints))


def state(robot: Robot) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(3)
    q = bent(robot, rng)
    return q, 0.5 * rng.normal(size=robot.nv), 5.0 * rng.normal(size=robot.nv)


def without_contact_velocity(robot: Robot, q: Array, v: Array, contacts: list[Contact]) -> Array:
    """The nearest v at which nothing that is held moves.

    Where it moves, Pinocchio takes the spatial acceleration of a 6-D contact for that of its
    origin, and differs by ω × u.
    """
    G = robot.contact_dynamics(q, v, 0.0 * v, contacts).G
    return v - np.linalg.pinv(G) @ G @ v


def closed_here(robot: Robot, q: Array, contact: Contact) -> Contact:
    """The other end of a loop is where the first one is."""
    if contact.other is None:
        return contact
    here = robot.frame_pose(q, contact.frame, contact.point)
    other = robot.frame_pose(q, contact.other)
    return replace(contact, other_point=other[:3, :3].T @ (here[:3, 3] - other[:3, 3]))


def assert_same_dynamics(both, contacts, q, v, tau, *solver):
    _, robot, oracle = both
    a, force = PinocchioContacts(oracle, contacts, q).dynamics(q, v, tau)
    solution = robot.contact_dynamics(q, v, tau, contacts, *solver)
    assert_agree(solution.a, a)
    assert_agree(solution.force, force)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "name", ["two feet", "one foot", "all in 6-D", "clasped hands", "hand on hand"]
)
def test_accelerations_and_forces(both, name, solver):
    which, robot, _ = both
    q, v, tau = state(robot)
    contacts = [closed_here(robot, q, contact) for contact in which.contact_sets()[name]]
    v = without_contact_velocity(robot, q, v, contacts)
    assert_same_dynamics(both, contacts, q, v, tau, solver)


def test_points_that_move(both):
    which, robot, _ = both
    feet = [Contact(foot, "point", point=(0.1, 0.02, -0.05)) for foot in which.feet]
    contacts = [*feet, Contact(which.hands[0], "point", other=which.hands[1])]
    assert_same_dynamics(both, contacts, *state(robot))


def test_baumgarte_gains_of_points(both):
    which, robot, _ = both
    q, v, tau = state(robot)
    contacts = [
        Contact(
            foot,
            "point",
            target=robot.frame_pose(q, foot)[:3, 3] + shift,
            stiffness=90.0,
            damping=17.0,
        )
        for foot, shift in zip(which.feet, 0.05 * np.eye(3)[:2], strict=True)
    ]
    assert_same_dynamics(both, contacts, q, v, tau)


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("name", ["two feet", "one foot", "all in 6-D"])
def test_impacts(both, name, restitution):
    which, robot, oracle = both
    q, v, _ = state(robot)
    contacts = which.contact_sets()[name]
    after, impulse = PinocchioContacts(oracle, contacts, q).impact(q, v, restitution)
    solution = robot.impact(q, v, contacts, restitution)
    assert_agree(solution.v, after)
    assert_agree(solution.impulse, impulse)


DT = 1e-3


def contact_space_problem(
    robot: Robot, q: Array, v: Array, tau: Array, contacts: list[Contact]
) -> tuple[Array, Array]:
    """K and b, from the terms of contact dynamics."""
    terms = robot.contact_dynamics(q, v, tau, contacts)
    a_free = robot.forward_dynamics(q, v, tau)
    return terms.inverse_inertia, terms.G @ v + DT * (terms.G @ a_free - terms.gamma)


@pytest.mark.parametrize("solver", ["admm", "pgs"])
class TestFriction:
    def compare(self, robot: Robot, q: Array, tau: Array, contacts: list[Contact], solver: str):
        """Velocities at the end of the step: forces of several points are not unique."""
        v = np.zeros(robot.nv)
        K, b = contact_space_problem(robot, q, v, tau, contacts)
        p = friction_impulses(K, b, [contact.friction for contact in contacts], solver)
        solution = robot.friction_dynamics(q, v, tau, contacts, DT)
        assert solution.converged
        # Its own tolerance is 1e-11 in impulses; that of `friction_dynamics` is 1e-9 m/s.
        assert_agree(b + DT * K @ solution.force, b + K @ p, within=1e-8, size=1.0)

    @pytest.mark.parametrize("push", [0.0, 5.0, 9.0, 12.0, 30.0])
    def test_box_pushed_below_and_past_its_limit(self, solver, push):
        robot = box()
        tau = np.array([0.0, 0.0, 0.0, push, 0.3 * push, 0.0])
        self.compare(robot, standing(robot, 0.2), tau, corners(0.5), solver)

    @pytest.mark.parametrize("twist", [0.2, 0.9, 2.0])
    def test_box_twisted_about_the_vertical(self, solver, twist):
        robot = box()
        tau = np.array([0.0, 0.0, twist, 3.0, 0.0, 0.0])
        self.compare(robot, standing(robot, 0.2), tau, tripod(), solver)

    def test_box_that_tips(self, solver):
        robot = box(size=(0.2, 0.2, 1.0))
        tau = np.array([0.0, 3.0, 0.0, 3.0, 0.0, 0.0])
        self.compare(robot, standing(robot, 0.5), tau, corners(0.8, (0.2, 0.2, 1.0)), solver)

    @pytest.mark.parametrize("held", [0.0, 1.0])
    def test_humanoid_on_four_points_per_foot(self, solver, held):
        which = HUMANOIDS["talos"]
        robot = which.load()
        q = robot.neutral()
        tau = held * robot.gravity(q)
        tau[:6] = 0.0
        self.compare(robot, q, tau, which.points(0.7), solver)
