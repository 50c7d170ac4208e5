"""The kernels against the papers' pseudocode, transcribed line by line in body coordinates.

Random trees of all joint types, on both bases, with rotors. All joints are free: the papers know
no mimics.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles import literal_algorithms as literal
from oracles.literal_quantities import kinetic_energy, link_jacobian, potential_energy
from oracles.literal_tree import LiteralTree
from support.agreement import assert_agree, largest
from support.cases import Case, cases, examples
from torqued.kernels.model.description import SINGLE_DOF, Array

any_case = examples(25, case=cases(mimics=False))
factorizations = pytest.mark.parametrize(
    ("factorization", "factor"), [("christoffel", literal.factor_10), ("direct", literal.factor_9)]
)


def forces(case: Case, tree: LiteralTree) -> tuple[dict[str, Array], Array]:
    """Wrenches on three links: at their origins by name, and per body about the world's origin."""
    links = case.rng.choice(list_links(case), 3).tolist()
    f_ext = {link: case.rng.normal(size=6) for link in links}
    in_world = np.zeros((len(tree.bodies), 6))
    for link, wrench in f_ext.items():
        body, pose = tree.link_frames[link]
        if body >= 0:
            at = (tree.world_pose(body, case.q) @ pose).position
            in_world[body] += np.hstack([wrench[:3] + np.cross(at, wrench[3:]), wrench[3:]])
    return f_ext, in_world


def list_links(case: Case) -> list[str]:
    return [link.name for link in case.description.links]


@any_case
def test_inverse_dynamics_with_external_forces_is_the_recursive_newton_euler_algorithm(case):
    tree, (q, v, a) = case.free_tree(), (case.q, case.v, case.a)
    f_ext, in_world = forces(case, tree)
    expected = literal.rnea(tree, q, v, a, in_world, case.robot.gravity_vector)
    assert_agree(case.robot.inverse_dynamics(q, v, a, f_ext), expected)
    expected = literal.rnea(tree, q, v, a, None, case.robot.gravity_vector)
    assert_agree(case.robot.inverse_dynamics(q, v, a), expected)


@any_case
def test_mass_matrix_is_the_composite_rigid_body_algorithm(case):
    assert_agree(case.robot.mass_matrix(case.q), literal.crba(case.free_tree(), case.q))


@any_case
def test_forward_dynamics_with_external_forces_is_the_articulated_body_algorithm(case):
    """Where M magnifies rounding beyond 1e-10, both must solve M a = τ − bias instead."""
    tree, (q, v), tau = case.free_tree(), (case.q, case.v), case.vector()
    f_ext, in_world = forces(case, tree)
    a = case.robot.forward_dynamics(q, v, tau, f_ext)
    expected = literal.aba(tree, q, v, tau, in_world, case.robot.gravity_vector)
    M = literal.crba(tree, q)
    if np.linalg.cond(M) < 1e4:
        assert_agree(a, expected)
    else:
        assert_agree(M @ a, M @ expected, size=largest(M) * largest(a))


@factorizations
@any_case
def test_mass_matrix_its_rate_and_C_are_algorithm_1(case, factorization, factor):
    tree, (q, v) = case.free_tree(), (case.q, case.v)
    M, Mdot, C = literal.coriolis(tree, q, v, factor)
    size = largest(M) * largest(v)
    assert_agree(case.robot.coriolis_matrix(q, v, factorization), C, size=size)
    assert_agree(case.robot.mass_matrix_rate(q, v), Mdot, size=size)
    together = case.robot.dynamics(q, v, want=("M", "Mdot"))
    assert_agree(together["M"], M)
    assert_agree(together["Mdot"], Mdot, size=size)


@examples(25, case=cases(types=sorted(SINGLE_DOF), bases=("fixed",), mimics=False))
def test_christoffel_symbols_are_algorithm_2(case):
    tree = case.free_tree()
    Gamma = literal.christoffel(tree, case.q)
    assert_agree(case.robot.christoffel(case.q), Gamma, size=largest(literal.crba(tree, case.q)))


@examples(25, case=cases(mimics=False, most=6))
def test_christoffel_coefficients_of_any_joint_are_C_of_unit_velocities(case):
    """The generalization of Algorithm 2 to joints of many degrees of freedom."""
    tree = case.free_tree()
    Gamma = literal.coriolis_coefficients(tree, case.q)
    assert_agree(case.robot.christoffel(case.q), Gamma, size=largest(literal.crba(tree, case.q)))


@any_case
def test_energies_are_the_sums_over_bodies(case):
    tree, (q, v), g = case.free_tree(), (case.q, case.v), case.robot.gravity_vector
    kinetic, potential = case.robot.energy(q, v)
    assert_agree(kinetic, kinetic_energy(tree, q, v))
    weight = case.robot.total_mass * largest(g)
    assert_agree(potential, potential_energy(tree, q, g), size=weight)


@any_case
def test_links_are_where_and_move_as_the_joints_say(case):
    tree, q = case.free_tree(), case.q
    for link in list_links(case):
        body, pose = tree.link_frames[link]
        if body >= 0:
            pose = tree.world_pose(body, q) @ pose
        expected = np.eye(4)
        expected[:3] = np.column_stack([pose.rotation, pose.position])
        assert_agree(case.robot.frame_pose(q, link), expected)
        J = case.robot.frame_jacobian(q, link, "body")
        assert_agree(J, link_jacobian(tree, q, link))


@any_case
def test_integrate_moves_as_the_joints_say(case):
    """Up to the sign of a quaternion, which means nothing."""
    moved, expected = case.moved(0.7), case.free_tree().integrate(case.q, case.v, 0.7)
    for joint in case.robot.model.joints:
        ours, theirs = (x[joint.q : joint.q + joint.nq] for x in (moved, expected))
        if joint.nq > joint.nv:
            assert_agree(ours[:-4], theirs[:-4], size=1.0)
            theirs = theirs[-4:] * np.sign(theirs[-4:] @ ours[-4:])
            ours = ours[-4:]
        assert_agree(ours, theirs, size=1.0)
