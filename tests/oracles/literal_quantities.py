"""Jacobians, velocities and energies by their definitions, for the trees of `literal_tree`."""

from __future__ import annotations

import numpy as np

from .literal_algorithms import GRAVITY
from .literal_tree import LiteralTree
from .spatial import Array, transform


def body_jacobian(tree: LiteralTree, q: Array, i: int) -> Array:
    """J_i (6, nv) in coordinates of body i, with v_i = J_i v, [EW21] remark 4."""
    J = np.zeros((6, tree.nv))
    to_i = np.eye(6)
    j = i
    while j >= 0:
        J[:, tree.bodies[j].vs] = to_i @ tree.phi(j, q)
        to_i = to_i @ tree.X(j, q)
        j = tree.bodies[j].parent
    return J


def link_jacobian(tree: LiteralTree, q: Array, link: str) -> Array:
    """J (6, nv) of a link, in that link's own coordinates; zero for links of the ground."""
    body, pose = tree.link_frames[link]
    if body < 0:
        return np.zeros((6, tree.nv))
    return transform(pose.rotation, pose.position) @ body_jacobian(tree, q, body)


def kinetic_energy(tree: LiteralTree, q: Array, v: Array) -> float:
    """Sum over bodies of ½ v_iᵀ I_i v_i, [F16] eq. 42, and of the rotors."""
    energy = 0.5 * float(tree.armature() @ v**2)
    for i, body in enumerate(tree.bodies):
        v_i = body_jacobian(tree, q, i) @ v
        energy += 0.5 * float(v_i @ body.inertia @ v_i)
    return energy


def potential_energy(tree: LiteralTree, q: Array, gravity: Array = GRAVITY) -> float:
    """Minus the sum over bodies of m g · c, zero at the world's origin."""
    energy = 0.0
    for i, body in enumerate(tree.bodies):
        mass = body.inertia[5, 5]
        h = np.array([body.inertia[2, 4], body.inertia[0, 5], body.inertia[1, 3]])  # m c
        pose = tree.world_pose(i, q)
        energy -= float(gravity @ (mass * pose.position + pose.rotation @ h))
    return energy
