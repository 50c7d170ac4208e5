"""M x = b and forward dynamics in O(N), and what happens where M is singular."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import extended_precision
from oracles.literal_tree import LiteralTree
from support.agreement import assert_agree
from support.textbook import LIMITS, X, Z, body, chain
from torqued.kernels import InputError, ModelError, ModelWarning, NumericalError, Robot
from torqued.kernels.formats.sources import read_whole
from torqued.kernels.model.catalog import find_file
from torqued.kernels.model.description import Description, Joint, Link, Mimic
from torqued.kernels.model.families import family


class TestSolve:
    def test_right_hand_sides_are_left_as_they_were(self):
        robot = Robot.family("chain", 3)
        for b in (np.ones(3), np.ones((3, 1)), np.ones((3, 4)), np.asfortranarray(np.ones((3, 4)))):
            before = b.copy()
            assert robot.solve_mass(np.zeros(3), b).shape == b.shape
            np.testing.assert_array_equal(b, before)

    def test_no_right_hand_side_has_no_solution(self):
        assert Robot.family("chain", 3).solve_mass(np.zeros(3), np.ones((3, 0))).shape == (3, 0)

    @pytest.mark.parametrize("shape", [(), (2,), (2, 3), (3, 1, 1)])
    def test_wrong_shapes_are_refused(self, shape):
        with pytest.raises(InputError, match=r"^b: shape"):
            Robot.family("chain", 3).solve_mass(np.zeros(3), np.ones(shape))

    @pytest.mark.parametrize("b", ["words", [[1.0, 2.0], [3.0]], None])
    def test_what_is_no_array_of_numbers_is_refused(self, b):
        with pytest.raises(InputError, match=r"^b: "):
            Robot.family("chain", 3).solve_mass(np.zeros(3), b)


def massless_hand(**options: object) -> Robot:
    """The second joint moves nothing."""
    arm = body(1.0, 0.2 * X, 0.01, 0.01, 0.01)
    description = chain(("revolute", Z, 0.0 * X, arm), ("revolute", Z, 0.5 * X, body(0.0, 0.0 * X)))
    return Robot.from_description(description, **options)


class TestSingular:
    def refused(self, robot: Robot, q: np.ndarray) -> None:
        v = np.ones(robot.nv)
        with pytest.raises(NumericalError, match=f"robot '{robot.name}': the mass matrix is sing"):
            robot.forward_dynamics(q, v, v)
        with pytest.raises(NumericalError, match="singular"):
            robot.forward_dynamics(q, v, v, {robot.frame_names[-1]: np.ones(6)})
        with pytest.raises(NumericalError, match="singular"):
            robot.solve_mass(q, v)

    def test_joint_without_inertia_is_refused_when_loaded_and_when_accepted_in_use(self):
        with pytest.raises(ModelError, match="joint 'j2': moves no mass"):
            massless_hand()
        with pytest.warns(ModelWarning, match="j2"):
            robot = massless_hand(accept_unphysical=True)
        self.refused(robot, np.array([0.3, 0.4]))
        assert np.isfinite(robot.mass_matrix([0.3, 0.4])).all()

    def test_rotor_gives_it_inertia(self):
        robot = massless_hand(armature={"j2": 0.1})
        a = robot.forward_dynamics([0.3, 0.4], [1.0, 1.0], [0.0, 0.5])
        assert_agree(robot.inverse_dynamics([0.3, 0.4], [1.0, 1.0], a), [0.0, 0.5])

    @pytest.mark.parametrize(
        ("kind", "middle"),
        [("euler_zyx", np.pi / 2), ("euler_xyz", -np.pi / 2), ("euler_zyz", 0.0)],
    )
    def test_euler_angles_at_their_singularity_are_told(self, kind, middle):
        arm = body(1.0, np.array([0.1, 0.02, 0.03]), 0.02, 0.03, 0.04)
        robot = Robot.from_description(chain((kind, Z, 0.1 * X, arm)))
        for first, last in np.random.default_rng(0).uniform(-3.0, 3.0, (20, 2)):
            self.refused(robot, np.array([first, middle, last]))

    @pytest.mark.parametrize(("kind", "dofs"), [("chain", 1), ("chain", 8), ("tree", 9)])
    def test_floating_base_without_mass_is_told(self, kind, dofs):
        """Turning base and first joint against each other moves nothing. M is singular but for
        rounding, whose sign must not decide."""
        robot = Robot.from_description(family(kind, dofs), "floating")
        rng = np.random.default_rng(0)
        for _ in range(20):
            self.refused(robot, robot.random_state(rng)[0])

    def test_followers_solve_by_cholesky_and_tell_too(self):
        joints = [
            Joint("lead", "revolute", "base", "a", axis=Z, limits=LIMITS),
            Joint("idle", "revolute", "a", "b", axis=Z, limits=LIMITS),
            Joint("follow", "revolute", "a", "c", axis=Z, limits=LIMITS, mimic=Mimic("lead")),
        ]
        heavy = body(1.0, 0.1 * X, 0.01, 0.01, 0.01)
        links = (Link("base"), Link("a", heavy), Link("b"), Link("c", heavy))
        description = Description("hand", links, tuple(joints))
        with pytest.warns(ModelWarning, match="idle"):
            robot = Robot.from_description(description, accept_unphysical=True)
        assert robot.nv == 2
        self.refused(robot, np.zeros(2))


@pytest.mark.skipif(not extended_precision.IS_EXTENDED, reason="float64 is the widest here")
@pytest.mark.parametrize("batch", [False, True])
def test_light_links_far_from_the_base_keep_their_digits(batch):
    """iCub's wrists and neck: next to no inertia between two axes, half a metre from its base.

    The solution is refined by residuals of 64 bits, whatever the first one has lost. What is left
    is the conditioning of the robot: in a frame at its base ten times as much would be lost.
    """
    robot = Robot.named("icub")
    path = find_file("icub")
    tree = LiteralTree(read_whole(path.read_text()), robot.model.base)
    order = [joint.v for joint in robot.model.joints]
    assert order == sorted(order) and tree.nv == robot.nv
    rng = np.random.default_rng(0)
    solve = robot.batch().forward_dynamics if batch else robot.forward_dynamics
    errors = []
    for _ in range(6):
        q, v = robot.random_state(rng)
        tau = rng.normal(size=robot.nv)
        found = solve(*(x[None] for x in (q, v, tau)))[0] if batch else solve(q, v, tau)
        a = np.asarray(found, extended_precision.Extended)
        for _ in range(4):
            left = tau - extended_precision.rnea(tree, q, v, a, robot.gravity_vector)
            size = np.abs(left).max()
            a = a + size * robot.solve_mass(q, np.asarray(left / size, np.float64))
        errors.append(float(np.abs(found - a).max() / np.abs(a).max()))
    assert np.exp(np.mean(np.log(errors))) < 4e-11, errors
