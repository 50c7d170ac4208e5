"""Three ways to one answer, also where contacts are redundant or contradict each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles.contact_kkt import contact_dynamics, rank, rows_of
from support.agreement import assert_agree, largest
from support.cases import examples
from support.contact_cases import HUMANOIDS, Humanoid, bent, box, contact_cases, corners, standing
from support.robots import load_real, random_motion, robots_folder
from support.textbook import X, Z, body, chain
from torqued.kernels import Contact, Inertia, ModelWarning, NumericalError, Pose, Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.contacts.solvers import RANGE_SPACE, RANK_DEFICIENT, SOLVERS, contact_space
from torqued.kernels.contacts.types import ContactSolution
from torqued.kernels.dynamics.articulated import SINGULAR
from torqued.kernels.model.description import Array
from torqued.kernels.model.families import family
from torqued.kernels.primitives.workspace import unbranched

solvers = pytest.mark.parametrize("solver", SOLVERS)

pytestmark = pytest.mark.skipif(
    not robots_folder().exists(), reason="example-robot-data is not installed"
)

SETS = tuple(HUMANOIDS["talos"].contact_sets())
REDUNDANT = ("four points per foot",)


@pytest.fixture(scope="module", params=HUMANOIDS)
def humanoid(request: pytest.FixtureRequest) -> tuple[Humanoid, Robot]:
    which = HUMANOIDS[request.param]
    return which, which.load()


def state(robot: Robot, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = bent(robot, rng)
    return q, 0.5 * rng.normal(size=robot.nv), 5.0 * rng.normal(size=robot.nv)


@pytest.mark.parametrize("name", SETS)
def test_all_solvers_agree_with_the_dense_equations_on_humanoids(humanoid, name):
    which, robot = humanoid
    q, v, tau = state(robot)
    if name in REDUNDANT:
        v = 0.0 * v  # points of one foot that move contradict each other
    contacts = which.contact_sets()[name]
    a, force = contact_dynamics(robot, q, v, tau, contacts)
    for solver in SOLVERS:
        solution = robot.contact_dynamics(q, v, tau, contacts, solver)
        assert_agree(solution.a, a)
        assert_agree(solution.force, force)
        assert solution.rank_deficient == (name in REDUNDANT)
        assert not solution.conflicting


@solvers
@pytest.mark.parametrize("file", ["panda", "ur5_robot", "z1"])
def test_arms_on_a_fixed_base(file, solver):
    (path,) = robots_folder().rglob(f"{file}.urdf")
    robot = load_real(path)
    q, v, tau = random_motion(robot)
    tip, elbow = robot.joint_names[5], robot.joint_names[2]
    for contacts in (
        [Contact(tip, "normal", normal=(1, 2, 3))],
        [Contact(tip, "point", point=(0.1, 0.0, 0.05))],
        [Contact(elbow, "normal"), Contact(tip, "normal", normal=(1, 0, 0))],
    ):
        a, force = contact_dynamics(robot, q, v, tau, contacts)
        solution = robot.contact_dynamics(q, v, tau, contacts, solver)
        assert_agree(solution.a, a)
        assert_agree(solution.force, force)


@solvers
@pytest.mark.parametrize("unit", [1e-4, 1e4])
@pytest.mark.filterwarnings("ignore::torqued.kernels.ModelWarning")
def test_unit_of_length_does_not_matter(solver, unit):
    """Two feet of a biped, by its lengths in metres and in other units."""
    metres = family("biped", 12)
    links = tuple(
        replace(link, inertia=Inertia(i.mass, unit * i.com, unit**2 * i.rotational))
        for link, i in ((link, link.inertia) for link in metres.links)
    )
    joints = tuple(
        replace(joint, placement=Pose(p.rotation, unit * p.position))
        for joint, p in ((joint, joint.placement) for joint in metres.joints)
    )
    other = replace(metres, links=links, joints=joints)
    robots = [
        Robot.from_description(description, "floating", gravity=(0.0, 0.0, -9.81 * scale))
        for description, scale in ((metres, 1.0), (other, unit))
    ]
    q, v = robots[0].random_state(np.random.default_rng(0))
    feet = [Contact("link_left_06"), Contact("link_right_06")]
    length = np.ones(robots[0].nv)
    length[3:6] = unit
    q_other = q.copy()
    q_other[:3] *= unit
    rest = np.zeros(robots[0].nv)
    one = robots[0].contact_dynamics(q, v, rest, feet, "direct")
    two = robots[1].contact_dynamics(q_other, v * length, rest, feet, solver)
    assert_agree(two.a / length, one.a, within=1e-11)


def assert_equations_hold(
    robot: Robot, q: Array, v: Array, tau: Array, solution: ContactSolution
) -> None:
    """[F16] eq. 7; where contacts contradict each other, with G a as near to γ as forces get it."""
    M, bias = robot.mass_matrix(q), robot.bias(q, v)
    assert_agree(solution.M, M)
    K = solution.G @ np.linalg.solve(M, solution.G.T)
    assert_agree(solution.inverse_inertia, K, within=1e-8, size=1e-6)
    pushed = tau - bias + solution.G.T @ solution.force
    size = largest(tau) + largest(bias) + largest(solution.G.T @ solution.force)
    assert_agree(M @ solution.a, pushed, within=1e-8, size=size)
    miss = solution.G @ solution.a - solution.gamma
    target = max(1.0, largest(solution.gamma - solution.G @ np.linalg.solve(M, tau - bias)))
    # Forces change nothing about what is missed: K · miss = 0 is the least-squares condition.
    assert largest(K @ miss) <= 1e-6 * max(1.0, largest(K)) * target
    if not solution.conflicting:
        assert largest(miss) <= 1e-6 * target


@solvers
@examples(60, case=contact_cases())
def test_any_contacts_have_an_answer(case, solver):
    robot, (q, v) = case.robot, case.state
    tau = case.case.vector()
    solution = robot.contact_dynamics(q, v, tau, case.contacts, solver)
    assert np.isfinite(solution.a).all() and np.isfinite(solution.force).all()
    assert_equations_hold(robot, q, v, tau, solution)


@examples(60, case=contact_cases(most_contacts=6))
def test_forces_are_no_longer_than_numpys_minimum_norm(case):
    robot, (q, v) = case.robot, case.state
    tau = case.case.vector()
    solution = robot.contact_dynamics(q, v, tau, case.contacts)
    values = np.linalg.eigvalsh(solution.inverse_inertia)
    clear = values[(values > 1e-12 * values[-1]) & (values < 1e-6 * values[-1])].size == 0
    if clear:  # the rank is beyond doubt
        a, force = contact_dynamics(robot, q, v, tau, case.contacts)
        assert_agree(solution.force, force, within=1e-6, size=1.0)
        assert_agree(solution.a, a, within=1e-6, size=1.0)
        full = int((values > 1e-9 * values[-1]).sum()) == len(values)
        assert solution.rank_deficient == (not full)


@examples(60, case=contact_cases())
def test_status_is_the_same_for_every_solver(case):
    robot, (q, v) = case.robot, case.state
    tau = case.case.vector()
    answers = [robot.contact_dynamics(q, v, tau, case.contacts, solver) for solver in SOLVERS]
    assert len({(x.rank_deficient, x.conflicting) for x in answers}) == 1
    assert len({tuple(f.redundant for f in x.contacts) for x in answers}) == 1


@solvers
@examples(60, case=contact_cases())
def test_no_contacts_are_forward_dynamics(case, solver):
    robot, (q, v) = case.robot, case.state
    tau = case.case.vector()
    solution = robot.contact_dynamics(q, v, tau, [], solver)
    assert_agree(solution.a, robot.forward_dynamics(q, v, tau), within=1e-8, size=1.0)
    assert solution.force.shape == (0,)


@solvers
def test_kkt_matrix_is_that_of_the_paper(solver):
    which = HUMANOIDS["talos"]
    robot = which.load()
    q, v, tau = state(robot)
    solution = robot.contact_dynamics(q, v, tau, which.frames(), solver)
    n, m = robot.nv, 12
    assert_agree(solution.kkt[:n, :n], robot.mass_matrix(q))
    assert_agree(solution.kkt[:n, n:], solution.G.T)
    assert_agree(solution.kkt[n:, :n], solution.G)
    assert not solution.kkt[n:, n:].any()
    right = np.concatenate([tau - robot.bias(q, v), solution.gamma])
    left = solution.kkt @ np.concatenate([solution.a, -solution.force])
    assert solution.kkt.shape == (n + m, n + m)
    assert_agree(left, right, within=1e-9)


class TestRedundant:
    def setup_method(self):
        self.which = HUMANOIDS["talos"]
        self.robot = self.which.load()
        self.q, _, self.tau = state(self.robot)

    def solve(self, contacts: list[Contact], solver: str = "range_space") -> ContactSolution:
        return self.robot.contact_dynamics(
            self.q, np.zeros(self.robot.nv), self.tau, contacts, solver
        )

    def flags(self, contacts: list[Contact]) -> list[bool]:
        return [force.redundant for force in self.solve(contacts).contacts]

    def test_four_points_of_a_foot_imply_each_other_and_no_hand(self):
        hand = Contact(self.which.hands[0], "point")
        assert self.flags([*self.which.points(), hand]) == [True] * 8 + [False]

    def test_three_points_of_a_foot_imply_each_other(self):
        """Nine rows, of which a rigid body has six; two points alone have one too many."""
        points = self.which.points()[:3]
        assert self.flags(points) == [True] * 3
        two = self.solve(points[:2])
        assert two.rank_deficient
        # Along the line between the two, here the foot's y axis, and nothing else.
        R = self.robot.frame_pose(self.q, self.which.feet[0])[:3, :3]
        internal = self.solve(points[:2])
        along = [force.axes @ force.force @ R[:, 1] for force in internal.contacts]
        assert_agree(along[0], along[1], size=1.0)  # no squeezing: that is the minimum norm

    def test_frame_and_point_of_one_foot_imply_each_other_and_not_the_other_foot(self):
        point = Contact(self.which.feet[0], "point", point=(0.05, 0.02, 0.0))
        hand = Contact(self.which.hands[0])
        assert self.flags([*self.which.frames(), point, hand]) == [True, False, True, False]

    def test_same_contact_twice_shares_the_force(self):
        once = self.solve([Contact(self.which.feet[0])])
        twice = self.solve([Contact(self.which.feet[0])] * 2)
        assert twice.rank_deficient and not once.rank_deficient
        assert_agree(twice.force, np.tile(once.force / 2.0, 2))
        assert_agree(twice.a, once.a)

    def test_independent_contacts_are_not_redundant(self):
        solution = self.solve([*self.which.frames(), Contact(self.which.hands[0])])
        assert not solution.rank_deficient
        assert not any(force.redundant for force in solution.contacts)

    @solvers
    def test_forces_are_those_of_the_pseudoinverse(self, solver):
        contacts = self.which.points()
        solution = self.solve(contacts, solver)
        _, force = contact_dynamics(self.robot, self.q, 0 * self.tau, self.tau, contacts)
        assert rank(solution.G) == 12
        assert solution.rank_deficient and not solution.conflicting
        assert_agree(solution.force, force)

    def test_points_of_a_foot_move_the_robot_as_its_frame_does(self):
        points, frames = self.solve(self.which.points()), self.solve(self.which.frames())
        assert_agree(points.a, frames.a)
        for foot, rows in zip(frames.contacts, (slice(0, 4), slice(4, 8)), strict=True):
            total = sum(force.axes @ force.force for force in points.contacts[rows])
            assert_agree(total, foot.wrench[3:])

    @solvers
    def test_points_that_nearly_coincide_count_as_one(self, solver):
        """A third of a micrometre apart: to tell them apart would take enormous forces."""
        robot = box()
        zero = np.zeros(6)
        contacts = [Contact("box", "normal", point=(x, 0.0, -0.2)) for x in (0.0, 3e-7)]
        solution = robot.contact_dynamics(standing(robot, 0.2), zero, zero, contacts, solver)
        assert solution.rank_deficient and not solution.conflicting
        assert_agree(solution.force, [9.81, 9.81], within=1e-5)

    def test_minimum_norm_keeps_its_digits_where_masses_differ_much(self):
        work, space = unbranched(3), contact_space(3, 5, dense=False)
        rng = np.random.default_rng(0)
        space.M[:], space.G[:] = np.diag([1e-3, 1.0, 1e3]), rng.normal(size=(5, 3))
        space.gamma[:] = space.G @ rng.normal(size=3)
        status = COMPILED.contact_solve(work.handle, np.zeros(3), RANGE_SPACE, space)
        assert status == RANK_DEFICIENT
        # G a = γ has one solution, and of all forces Gᵀ f = M a numpy finds the shortest.
        a = np.linalg.lstsq(space.G, space.gamma)[0]
        force = np.linalg.lstsq(space.G.T, space.M @ a)[0]
        assert_agree(space.force, force, within=1e-9)

    @pytest.mark.parametrize(
        "M", [np.diag([1.0, 0.0]), np.diag([1.0, -1.0]), np.full((2, 2), np.nan)]
    )
    def test_mass_matrix_that_is_not_positive_is_a_status(self, M):
        work, space = unbranched(2), contact_space(2, 0, dense=False)
        space.M[:] = M
        assert COMPILED.contact_solve(work.handle, np.ones(2), RANGE_SPACE, space) & SINGULAR

    def test_contact_of_what_cannot_move_is_redundant(self):
        arm = load_real(robots_folder() / "panda_description/urdf/panda.urdf")
        base = arm.frame_names[0]
        q, zero = arm.neutral(), np.zeros(arm.nv)
        solution = arm.contact_dynamics(
            q, zero, zero, [Contact(base), Contact("panda_hand", "point")]
        )
        assert [force.redundant for force in solution.contacts] == [True, False]
        assert not solution.conflicting and not solution.force[:6].any()

    @solvers
    @pytest.mark.parametrize("angle", [0.3, 1.0, 2.5])
    def test_what_nothing_moves_takes_no_force(self, solver, angle):
        """Across a planar arm, turned so that zeros come with rounding."""
        tilt = np.array([np.cos(angle), np.sin(angle), 0.4])
        tilt = tilt / np.linalg.norm(tilt)
        side = np.cross(tilt, [0.3, 0.1, 0.9])
        rod = body(1.0, 0.5 * side, 0.1, 0.1, 0.01)
        arm = chain(("revolute", tilt, 0.3 * side, rod), ("revolute", tilt, 0.7 * side, rod))
        robot = Robot.from_description(arm)
        q, v, tau = np.array([0.3, 0.5]), np.array([1.0, -2.0]), np.array([3.0, 1.0])
        across = Contact("l2", "normal", point=0.8 * side, normal=tilt)
        solution = robot.contact_dynamics(q, v, tau, [across], solver)
        assert not solution.force.any() and solution.contacts[0].redundant
        assert solution.rank_deficient and not solution.conflicting
        assert_agree(solution.a, robot.forward_dynamics(q, v, tau))

    @solvers
    def test_loop_between_points_of_one_sliding_body_takes_no_force(self, solver):
        rng = np.random.default_rng(0)
        axis = rng.normal(size=3)
        block = chain(("prismatic", axis / np.linalg.norm(axis), rng.normal(size=3), body(1.0, X)))
        robot = Robot.from_description(block)
        loop = Contact("l1", "point", other="l1", normal=rng.normal(size=3))
        loop = replace(loop, point=rng.normal(size=3), other_point=rng.normal(size=3))
        solution = robot.contact_dynamics([0.3], [1.0], [2.0], [loop, loop], solver)
        assert not solution.force.any()
        assert all(force.redundant for force in solution.contacts)

    def test_more_rows_than_motions(self):
        robot = box()
        zero = np.zeros(6)
        contacts = [Contact("box"), *corners()]
        for solver in SOLVERS:
            solution = robot.contact_dynamics(standing(robot, 0.2), zero, zero, contacts, solver)
            assert solution.rank_deficient and not solution.conflicting
            assert_agree(solution.a, zero, size=1.0)
            total = sum(force.axes @ force.force for force in solution.contacts)
            assert_agree(total, [0.0, 0.0, 2.0 * 9.81])


class TestConflicting:
    @solvers
    def test_points_of_a_turning_body_cannot_all_stay(self, solver):
        """Held points of a body that turns would have to come closer to each other."""
        robot = box()
        v = np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0])
        contacts = corners()
        solution = robot.contact_dynamics(standing(robot, 0.2), v, np.zeros(6), contacts, solver)
        assert solution.rank_deficient and solution.conflicting
        # The nearest: the middle of the four stays, and so do the directions between them.
        assert_agree(solution.a, np.zeros(6), size=1.0)

    def test_conflict_is_not_seen_in_rounding(self):
        """Redundant contacts of a body on which nothing acts."""
        robot = box(gravity=(0.0, 0.0, 0.0))
        for seed in range(20):
            q, _ = robot.random_state(np.random.default_rng(seed))
            solution = robot.contact_dynamics(q, np.zeros(6), 1e-12 * np.ones(6), corners())
            assert solution.rank_deficient and not solution.conflicting

    def test_fixed_frame_that_should_accelerate_conflicts(self):
        arm = load_real(robots_folder() / "panda_description/urdf/panda.urdf")
        zero = np.zeros(arm.nv)
        away = Contact(arm.frame_names[0], "point", target=(0, 0, 1), stiffness=10.0)
        solution = arm.contact_dynamics(arm.neutral(), zero, zero, [away])
        assert solution.conflicting and not solution.force.any()

    @examples(60, case=contact_cases())
    def test_conflict_is_what_numpy_finds_no_solution_for(self, case):
        robot, (q, v) = case.robot, case.state
        tau = case.case.vector()
        solution = robot.contact_dynamics(q, v, tau, case.contacts)
        values = np.linalg.svd(solution.G, compute_uv=False)
        if (
            not values.size
            or not values[0]
            or not all(x > 1e-3 * values[0] or x < 1e-9 * values[0] for x in values)
        ):
            return  # its rank is a matter of taste
        best = np.linalg.lstsq(solution.G, solution.gamma, rcond=1e-6)[0]
        miss = largest(solution.G @ best - solution.gamma)
        if miss > 1e-3:
            assert solution.conflicting
        if miss < 1e-12:
            assert not solution.conflicting


def test_rows_are_in_the_order_of_the_contacts():
    robot = box()
    zero = np.zeros(6)
    contacts = [Contact("box", "normal"), Contact("box", "frame"), Contact("box", "point")]
    assert rows_of(contacts) == [slice(0, 1), slice(1, 7), slice(7, 10)]
    solution = robot.contact_dynamics(robot.neutral(), zero, zero, contacts)
    for rows, force in zip(rows_of(contacts), solution.contacts, strict=True):
        own = solution.force[rows]
        assert_agree(own[-1], force.force[2])
        if len(own) == 6:
            assert_agree(own[:3], force.moment, size=1.0)


def test_singular_mass_matrix_is_an_error_of_the_robot():
    massless = chain(("revolute", Z, 0 * X, body(1.0, X)), ("revolute", Z, X, body(1.0, 0 * X)))
    with pytest.warns(ModelWarning, match="moves no inertia"):
        robot = Robot.from_description(massless, accept_unphysical=True)
    with pytest.raises(NumericalError, match="singular"):
        robot.contact_dynamics([0, 0], [0, 0], [0, 0], [Contact("l1", "point")])
