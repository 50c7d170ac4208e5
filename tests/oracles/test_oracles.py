"""The oracles against each other and against finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from torqued.kernels.model.description import (
    JOINT_SIZES,
    SINGLE_DOF,
    Description,
    Joint,
    Link,
    Mimic,
)

from . import finite_differences, literal_joints
from .literal_algorithms import (
    Factor,
    aba,
    christoffel,
    coriolis,
    coriolis_coefficients,
    crba,
    factor_9,
    factor_10,
    rnea,
)
from .literal_quantities import (
    body_jacobian,
    body_wrenches_in_world,
    kinetic_energy,
    link_jacobian,
    potential_energy,
)
from .literal_tree import Base, LiteralTree, mimic_maps, mimic_projection
from .sample_robots import BASES, MOVING, close, mixed, random_inertia, random_pose, state, tree_of
from .spatial import Array, force_cross, inertia, motion_cross, swapped_cross, transform

pytestmark = pytest.mark.slow

QUATERNION = ("spherical", "floating")
RATES = tuple(kind for kind in MOVING if kind not in QUATERNION)  # joints with v = q̇
NO_GRAVITY = np.zeros(3)


ROBOTS = [
    pytest.param(LiteralTree(mixed(seed), base), seed, id=f"tree{seed}-{base}")
    for seed, base in itertools.product(range(4), BASES)
]
robots = pytest.mark.parametrize(("tree", "seed"), ROBOTS)
factors = pytest.mark.parametrize("factor", [factor_9, factor_10])


class TestSpatial:
    def test_transform_commutes_with_the_cross_product(self) -> None:
        rng = np.random.default_rng(0)
        pose = random_pose(rng)
        X = transform(pose.rotation, pose.position)
        v, w = rng.standard_normal((2, 6))
        assert close(X @ motion_cross(v) @ w, motion_cross(X @ v) @ X @ w, 1e-14)

    def test_swapped_cross_swaps_the_arguments_of_the_force_cross_product(self) -> None:
        v, f = np.random.default_rng(1).standard_normal((2, 6))
        assert close(swapped_cross(f) @ v, force_cross(v) @ f, 1e-14)

    def test_inertia_gives_the_kinetic_energy_of_a_rigid_body(self) -> None:
        rng = np.random.default_rng(2)
        own, v = random_inertia(rng), rng.standard_normal(6)
        omega, u = v[:3], v[3:] + np.cross(v[:3], own.com)
        energy = 0.5 * (own.mass * u @ u + omega @ own.rotational @ omega)
        assert close(0.5 * v @ inertia(own.mass, own.com, own.rotational) @ v, energy, 1e-14)


@pytest.mark.parametrize("kind", MOVING)
class TestJoints:
    AXIS, PITCH = np.array([0.48, -0.6, 0.64]), 0.21

    def state(self, kind: str) -> tuple[Array, Array]:
        rng = np.random.default_rng(3)
        nq, nv = JOINT_SIZES[kind]
        q = rng.uniform(-1.0, 1.0, nq)
        if kind in QUATERNION:
            q[-4:] /= np.linalg.norm(q[-4:])
        return q, rng.standard_normal(nv)

    def test_neutral_pose_is_the_joint_frame(self, kind: str) -> None:
        q = np.zeros(JOINT_SIZES[kind][0])
        if kind in QUATERNION:
            q[-1] = 1.0
        rotation, position = literal_joints.pose(kind, self.AXIS, self.PITCH, q)
        assert close(rotation, np.eye(3), 1e-15) and close(position, np.zeros(3), 1e-15)

    def test_phi_times_v_is_the_velocity_of_the_pose(self, kind: str) -> None:
        q, v = self.state(kind)

        def pose(t: float) -> Array:
            moved = literal_joints.integrate(kind, q, v, t)
            return np.column_stack(literal_joints.pose(kind, self.AXIS, self.PITCH, moved))

        E = pose(0.0)[:, :3].T
        rate = E @ finite_differences.derivative(pose)
        twist = np.array([rate[2, 1], rate[0, 2], rate[1, 0], *rate[:, 3]])
        assert close(literal_joints.phi(kind, self.AXIS, self.PITCH, q) @ v, twist)

    def test_phi_ring_is_the_derivative_of_phi(self, kind: str) -> None:
        q, v = self.state(kind)

        def phi(t: float) -> Array:
            moved = literal_joints.integrate(kind, q, v, t)
            return literal_joints.phi(kind, self.AXIS, self.PITCH, moved)

        ring = literal_joints.phi_ring(kind, self.AXIS, self.PITCH, q, v)
        assert close(ring, finite_differences.derivative(phi))
        assert ring.any() == (kind == "planar" or kind.startswith("euler_"))


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.48, -0.6, -0.64)])
def test_plane_axes_are_a_rotation_onto_the_normal(normal: tuple[float, ...]) -> None:
    A = literal_joints.plane_axes(np.array(normal, dtype=np.float64))
    assert close(A.T @ A, np.eye(3), 1e-15) and np.linalg.det(A) > 0
    assert close(A[:, 2], np.array(normal), 1e-15)


class TestTree:
    def test_bodies_are_depth_first_in_document_order(self) -> None:
        def joint(name: str, kind: str, parent: str, child: str) -> Joint:
            return Joint(name, kind, parent, child)

        joints = (
            joint("finger", "prismatic", "plate", "finger"),
            joint("right", "revolute", "base", "right"),
            joint("weld", "fixed", "right", "plate"),
            joint("left", "spherical", "base", "left"),
            joint("tip", "revolute", "right", "tip"),
        )
        names = ("base", "right", "plate", "finger", "left", "tip")
        tree = LiteralTree(Description("y", tuple(map(Link, names)), joints))
        assert [body.name for body in tree.bodies] == ["right", "finger", "tip", "left"]
        assert [body.parent for body in tree.bodies] == [-1, 0, 0, -1]
        assert [body.qs.start for body in tree.bodies] == [0, 1, 2, 3]
        assert (tree.nq, tree.nv) == (7, 6)
        assert tree.link_frames["plate"][0] == 0

    @pytest.mark.parametrize("base", BASES)
    def test_merged_inertia_carries_the_energy_of_every_link(self, base: Base) -> None:
        description = mixed(5)
        assert any(joint.type == "fixed" for joint in description.joints)
        tree = LiteralTree(description, base)
        q, v, _ = state(tree, 5)
        energy = 0.5 * float(tree.armature() @ v**2)
        for link in description.links:
            own, twist = link.inertia, link_jacobian(tree, q, link.name) @ v
            spatial = inertia(own.mass, own.com, own.rotational)
            energy += 0.5 * float(twist @ spatial @ twist)
        assert close(kinetic_energy(tree, q, v), energy)


class TestEquationsOfMotion:
    @robots
    def test_mass_matrix_gives_the_kinetic_energy(self, tree: LiteralTree, seed: int) -> None:
        q, v, _ = state(tree, seed)
        assert close(0.5 * v @ crba(tree, q) @ v, kinetic_energy(tree, q, v))

    @robots
    def test_mass_matrix_columns_are_inverse_dynamics_of_unit_accelerations(
        self, tree: LiteralTree, seed: int
    ) -> None:
        q, v, _ = state(tree, seed)
        columns = [rnea(tree, q, 0 * v, e, gravity=NO_GRAVITY) for e in np.eye(tree.nv)]
        assert close(np.column_stack(columns), crba(tree, q))

    @robots
    def test_forward_dynamics_inverts_inverse_dynamics(self, tree: LiteralTree, seed: int) -> None:
        q, v, a = state(tree, seed)
        f_ext = np.random.default_rng(seed).uniform(-5.0, 5.0, (len(tree.bodies), 6))
        tau = rnea(tree, q, v, a, f_ext)
        assert close(aba(tree, q, v, tau, f_ext), a)

    @robots
    def test_gravity_is_the_gradient_of_potential_energy(
        self, tree: LiteralTree, seed: int
    ) -> None:
        q, v, _ = state(tree, seed)

        def energy(t: float) -> Array:
            return np.array(potential_energy(tree, tree.integrate(q, v, t)))

        power = v @ rnea(tree, q, 0 * v, 0 * v)
        assert close(power, finite_differences.derivative(energy, 0.1 / np.abs(v).sum()))

    @robots
    def test_external_forces_act_through_the_jacobians(self, tree: LiteralTree, seed: int) -> None:
        q, v, a = state(tree, seed)
        wrenches = np.random.default_rng(seed).uniform(-5.0, 5.0, (len(tree.bodies), 6))
        f_ext = body_wrenches_in_world(tree, q, wrenches)
        through = sum(body_jacobian(tree, q, i).T @ f for i, f in enumerate(wrenches))
        assert close(rnea(tree, q, v, a) - rnea(tree, q, v, a, f_ext), through)


class TestCoriolis:
    @factors
    @robots
    def test_C_times_v_is_the_bias_force(
        self, tree: LiteralTree, seed: int, factor: Factor
    ) -> None:
        q, v, _ = state(tree, seed)
        M, _, C = coriolis(tree, q, v, factor)
        assert close(M, crba(tree, q))
        assert close(C @ v, rnea(tree, q, v, 0 * v, gravity=NO_GRAVITY))

    @factors
    @robots
    def test_mass_matrix_rate_equals_C_plus_C_transposed(
        self, tree: LiteralTree, seed: int, factor: Factor
    ) -> None:
        q, v, _ = state(tree, seed)
        _, Mdot, C = coriolis(tree, q, v, factor)
        assert close(C + C.T, Mdot)
        by_differences = finite_differences.mass_matrix_rate(
            lambda at: crba(tree, at), tree.integrate, q, v
        )
        assert close(Mdot, by_differences)

    @robots
    def test_the_two_factorizations_differ(self, tree: LiteralTree, seed: int) -> None:
        q, v, _ = state(tree, seed)
        C9, C10 = coriolis(tree, q, v, factor_9)[2], coriolis(tree, q, v, factor_10)[2]
        assert not close(C9, C10, 1e-3)

    @robots
    def test_coefficients_sum_to_C(self, tree: LiteralTree, seed: int) -> None:
        q, v, _ = state(tree, seed)
        assert close(coriolis_coefficients(tree, q) @ v, coriolis(tree, q, v)[2])

    @robots
    def test_coefficients_equal_their_closed_form(self, tree: LiteralTree, seed: int) -> None:
        q, _, _ = state(tree, seed)
        assert close(coriolis_coefficients(tree, q), closed_form_coefficients(tree, q))


def closed_form_coefficients(tree: LiteralTree, q: Array) -> Array:
    """Γ_ijk = S_iᵀ I^C_⌈ij⌉ ∂Ṡ_j/∂ν_k + S_iᵀ B(S_k, I^C_⌈ijk⌉) S_j, all in world coordinates."""
    to_body = [tree.X0(i, q) for i in range(len(tree.bodies))]
    to_world = [np.linalg.inv(X) for X in to_body]
    IC = [X.T @ body.inertia @ X for X, body in zip(to_body, tree.bodies, strict=True)]
    for i in reversed(range(len(tree.bodies))):
        if tree.bodies[i].parent >= 0:
            IC[tree.bodies[i].parent] += IC[i]

    def moves(i: int, j: int) -> bool:  # i ⪯ j
        return i == j or (tree.bodies[j].parent >= 0 and moves(i, tree.bodies[j].parent))

    columns = [  # (body, S, degree of freedom within the joint)
        (i, to_world[i] @ column, n)
        for i in range(len(tree.bodies))
        for n, column in enumerate(tree.phi(i, q).T)
    ]
    e = np.eye(tree.nv)
    Gamma = np.zeros((tree.nv, tree.nv, tree.nv))
    for (a, (i, S_i, _)), (b, (j, S_j, n)), (c, (k, S_k, _)) in itertools.product(
        enumerate(columns), repeat=3
    ):
        related_ij = moves(i, j) or moves(j, i)
        if related_ij and moves(k, j):
            leaf = j if moves(i, j) else i
            ring = to_world[j] @ tree.phi_ring(j, q, e[c])[:, n]
            Gamma[a, b, c] += S_i @ IC[leaf] @ (motion_cross(S_k) @ S_j + ring)
        if related_ij and (moves(j, k) or moves(k, j)) and (moves(i, k) or moves(k, i)):
            leaf = max(i, j, k)  # the numbering puts descendants last
            Gamma[a, b, c] += S_i @ factor_10(S_k, IC[leaf]) @ S_j
    return Gamma


class TestChristoffel:
    @pytest.mark.parametrize("seed", range(4))
    def test_algorithm_2_equals_C_of_unit_velocities_and_the_definition(self, seed: int) -> None:
        tree = LiteralTree(mixed(seed, tuple(sorted(SINGLE_DOF))))
        q, _, _ = state(tree, seed)
        Gamma = christoffel(tree, q)
        assert close(Gamma, coriolis_coefficients(tree, q))
        assert close(Gamma, finite_differences.christoffel(lambda at: crba(tree, at), q))

    @pytest.mark.parametrize("seed", range(4))
    def test_coefficients_are_the_symbols_for_every_joint_whose_v_is_the_rate_of_q(
        self, seed: int
    ) -> None:
        tree = LiteralTree(mixed(seed, RATES, size=6))
        q, _, _ = state(tree, seed)
        Gamma = coriolis_coefficients(tree, q)
        assert close(Gamma, finite_differences.christoffel(lambda at: crba(tree, at), q))
        assert close(Gamma, np.swapaxes(Gamma, 1, 2))

    def test_algorithm_2_refuses_joints_of_many_degrees_of_freedom(self) -> None:
        tree = LiteralTree(tree_of(("revolute", "spherical"), 0))
        with pytest.raises(ValueError, match="single-DoF"):
            christoffel(tree, tree.neutral())


class TestMimic:
    def robot(self) -> Description:
        """tip follows elbow follows shoulder; finger is free."""
        rng = np.random.default_rng(8)
        names = ("base", "upper", "lower", "hand", "finger")
        links = tuple(Link(name, random_inertia(rng)) for name in names)
        follow = {"elbow": Mimic("shoulder", -2.0, 0.3), "tip": Mimic("elbow", 0.5, -0.1)}
        kinds = {
            "shoulder": "revolute",
            "elbow": "revolute",
            "tip": "prismatic",
            "finger": "helical",
        }
        joints = tuple(
            Joint(
                name,
                kind,
                names[n],
                names[n + 1],
                random_pose(rng),
                pitch=0.1,
                armature=0.1,
                mimic=follow.get(name),
            )
            for n, (name, kind) in enumerate(kinds.items())
        )
        return Description("hand", links, joints)

    def test_chains_of_followers_lead_to_their_first_joint(self) -> None:
        G, offset = mimic_projection(self.robot())
        assert close(G, np.array([[1.0, 0.0], [-2.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), 1e-15)
        assert close(offset, np.array([0.0, 0.3, 0.05, 0.0]), 1e-15)

    def test_projected_symbols_are_those_of_the_projected_mass_matrix(self) -> None:
        tree, (G, offset) = LiteralTree(self.robot()), mimic_projection(self.robot())
        q = np.array([0.7, -0.4])
        Gamma = np.einsum("ai,bj,ck,abc->ijk", G, G, G, christoffel(tree, G @ q + offset))
        by_differences = finite_differences.christoffel(
            lambda at: G.T @ crba(tree, G @ at + offset) @ G, q
        )
        assert close(Gamma, by_differences)

    def test_floating_base_keeps_its_coordinates(self) -> None:
        maps = mimic_maps(self.robot(), "floating")
        assert maps.Gq.shape == (11, 9) and maps.Gv.shape == (10, 8)
        assert close(maps.Gq[:7, :7], np.eye(7)) and close(maps.Gv[:6, :6], np.eye(6))
        with pytest.raises(ValueError, match="mimic_maps"):
            mimic_projection(self.robot(), "floating")
