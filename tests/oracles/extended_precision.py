"""τ of the papers' recursion in numpy's extended precision, and derivatives by its differences.

On x86 that is 64 bits of mantissa, 11 more than float64: differences lose less than the product
keeps. Where it is no wider than float64, tests that need it are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import literal_joints
from .finite_differences import derivative
from .literal_tree import LiteralTree
from .spatial import Array, force_cross, motion_cross, transform

Extended = np.longdouble
IS_EXTENDED = bool(np.finfo(Extended).eps < 1e-18)


def rnea(tree: LiteralTree, q: Any, v: Any, a: Any, gravity: Any, wrenches: Any = None) -> Any:
    """τ, as `literal_algorithms.rnea` has it, without rotors.

    `wrenches` (bodies, 6) act at the bodies' origins, [moment; force] in world axes.
    """
    q, v, a = (np.asarray(x, Extended) for x in (q, v, a))
    Xs, vs, accelerations, fs, Rs = [], [], [], [], []
    for i, body in enumerate(tree.bodies):
        S = np.asarray(tree.phi(i, q), Extended)
        R, p = literal_joints.pose(body.kind, body.axis, body.pitch, q[body.qs])
        placement = np.asarray(body.placement.rotation, Extended)
        X = transform(placement @ R, np.asarray(body.placement.position, Extended) + placement @ p)
        root = body.parent < 0
        v_i = S @ v[body.vs] + (np.zeros(6) if root else X @ vs[body.parent])
        a_parent = -np.hstack([np.zeros(3), gravity]) if root else accelerations[body.parent]
        rate = tree.phi_ring(i, q, v) @ v[body.vs] + motion_cross(v_i) @ S @ v[body.vs]
        a_i = X @ a_parent + rate + S @ a[body.vs]
        Rs.append(placement @ R if root else Rs[body.parent] @ placement @ R)
        f_i = body.inertia @ a_i + force_cross(v_i) @ (body.inertia @ v_i)
        if wrenches is not None:
            turned = [Rs[i].T @ wrenches[i][:3], Rs[i].T @ wrenches[i][3:]]
            f_i = f_i - np.hstack(turned)
        Xs.append(X)
        vs.append(v_i)
        accelerations.append(a_i)
        fs.append(f_i)
    tau = np.zeros(tree.nv, Extended)
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        tau[body.vs] = np.asarray(tree.phi(i, q), Extended).T @ fs[i]
        if body.parent >= 0:
            fs[body.parent] = fs[body.parent] + Xs[i].T @ fs[i]
    return tau + tree.armature() * a


def integrate(tree: LiteralTree, q: Any, direction: Any, step: Any) -> Any:
    """q moved along a direction of velocities."""
    moved = np.zeros(tree.nq, Extended)
    q, direction = np.asarray(q, Extended), np.asarray(direction, Extended)
    for body in tree.bodies:
        part = literal_joints.integrate(body.kind, q[body.qs], direction[body.vs], Extended(step))
        moved[body.qs] = part
    return moved


def slope(f: Callable[[Any], Any], step: float = 1e-2, levels: int = 4) -> Array:
    """f'(0) by extrapolated differences, at a step that suits 64 bits."""
    return np.asarray(derivative(lambda h: f(Extended(h)), step, levels), np.float64)


def second_slope(f: Callable[[Any, Any], Any], step: float = 4e-2, levels: int = 4) -> Array:
    """∂²f/∂g∂h at (0, 0), of f(h, g), in the same way."""

    def by_h(g: Any) -> Array:
        return np.asarray(derivative(lambda h: f(Extended(h), g), step, levels), Extended)

    return np.asarray(derivative(lambda g: by_h(Extended(g)), step, levels), np.float64)
