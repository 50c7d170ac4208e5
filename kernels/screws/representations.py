"""From one representation of a frame's motion to another, with rates: [M18] eq. 98-107.

    T, Tdot, Tddot = transformation("body", "spatial", pose, twist, acceleration)
    J_spatial = T @ J_body                              # eq. 106, as twists
    Jdot_spatial = T @ Jdot_body + Tdot @ J_body

    twist, acceleration, jerk = convert("body", "hybrid", pose, twist, acceleration, jerk)

The names of the four, and what they mean, are in docs/KINEMATICS.md. Here nothing is compiled:
robots have all four directly (kernels/screws/rates.py); this is for numbers from elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.rotation import check_pose
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.input_checks import choice, numbers
from torqued.kernels.model.description import Array

ONE, ZERO = np.eye(3), np.zeros((3, 3))

#: A matrix and its rates, as many as are known.
Jet = tuple[Array, ...]


def skew(x: Array) -> Array:
    """x̃: x̃ y = x × y."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def bracket(x: Array) -> Array:
    """ad_X (6, 6): ad_X Y = [X, Y], [M18] eq. 115."""
    return np.block([[skew(x[:3]), ZERO], [skew(x[3:]), skew(x[:3])]])


def adjoint(pose: Array) -> Array:
    """Ad_C (6, 6), [M18] eq. 95: from the axes and the origin of a frame to the world's."""
    R, r = pose[:3, :3], pose[:3, 3]
    return np.block([[R, ZERO], [skew(r) @ R, R]])


def transformation(
    source: str, target: str, pose: Any, twist: Any = None, acceleration: Any = None
) -> Jet:
    """T (6, 6) with x_target = T x_source; its rate too where the frame's twist is given, and its
    second rate where its acceleration is. Both are in the source's representation.

    For twists and for columns of Jacobians; wrenches go by T⁻ᵀ.
    """
    for name, value in (("source", source), ("target", target)):
        choice(name, value, REPRESENTATIONS)
    pose = _pose(pose)
    own: list[Array] = []  # the frame's motion as it was given
    motion: list[Array] = []  # and as hybrid
    hub = _to_hybrid(source, pose, motion)
    for name, given in (("twist", twist), ("acceleration", acceleration)):
        if given is None:
            break
        # V^h = H V and V̇^h = H V̇ + Ḣ V, where Ḣ takes V^h.
        own.append(numbers(name, given, (6,)))
        motion.append(_carried(hub, own)[-1])
        hub = _to_hybrid(source, pose, motion)
    return _product(_from_hybrid(target, pose, motion), hub)


def convert(source: str, target: str, pose: Any, *motion: Any) -> tuple[Array, ...]:
    """A frame's twist, acceleration and jerk, as many as are given, in another representation.

    They are rates of each other: the acceleration is that of the twist's six numbers, the jerk
    that of the acceleration's.
    """
    if not 1 <= len(motion) <= 3:
        raise TypeError(f"convert takes a twist, an acceleration and a jerk, not {len(motion)}")
    names = ("twist", "acceleration", "jerk")
    given = [numbers(name, x, (6,)) for name, x in zip(names, motion, strict=False)]
    T = transformation(source, target, pose, *given[:-1])
    return tuple(_carried(T, given))


def convert_wrench(source: str, target: str, pose: Any, wrench: Any) -> Array:
    """The wrench with the same power on every twist: T⁻ᵀ W."""
    T = transformation(target, source, pose)[0]
    converted: Array = T.T @ numbers("wrench", wrench, (6,))
    return converted


def _pose(pose: Any) -> Array:
    place = numbers("pose", pose, (4, 4))
    check_pose("pose", place)
    return place


def _carried(T: Jet, x: list[Array]) -> list[Array]:
    """T x and its rates, by Leibniz."""
    binomials = ((1,), (1, 1), (1, 2, 1))
    return [
        np.asarray(sum(n * T[k] @ x[order - k] for k, n in enumerate(binomials[order])))
        for order in range(len(x))
    ]


def _product(left: Jet, right: Jet) -> Jet:
    """Of matrices with as many rates."""
    binomials = ((1,), (1, 1), (1, 2, 1))
    return tuple(
        np.asarray(sum(n * left[k] @ right[order - k] for k, n in enumerate(binomials[order])))
        for order in range(len(right))
    )


def _rotation(pose: Array, motion: list[Array]) -> Jet:
    """R and its rates, from the hybrid motion: Ṙ = ω̃ R."""
    R, turns = pose[:3, :3], [skew(x[:3]) for x in motion]
    jet = [R]
    if turns:
        jet.append(turns[0] @ R)
    if len(turns) > 1:
        jet.append((turns[1] + turns[0] @ turns[0]) @ R)
    return tuple(jet)


def _blocks(upper: Jet, lower_left: Jet, lower: Jet) -> Jet:
    return tuple(
        np.block([[a, ZERO], [b, c]]) for a, b, c in zip(upper, lower_left, lower, strict=True)
    )


def _from_hybrid(target: str, pose: Array, motion: list[Array]) -> Jet:
    """[M18] eq. 98-100, read from the hybrid twist."""
    back = tuple(R.T for R in _rotation(pose, motion))
    still = (ONE, ZERO, ZERO)[: len(back)]
    none = (ZERO,) * len(back)
    if target == "spatial":
        position = (skew(pose[:3, 3]), *(skew(x[3:]) for x in motion))
        return _blocks(still, position, still)
    upper = back if target in ("body", "mixed") else still
    return _blocks(upper, none, back if target == "body" else still)


def _to_hybrid(source: str, pose: Array, motion: list[Array]) -> Jet:
    """The inverse of `_from_hybrid`."""
    turned = _rotation(pose, motion)
    still = (ONE, ZERO, ZERO)[: len(turned)]
    none = (ZERO,) * len(turned)
    if source == "spatial":
        position = (-skew(pose[:3, 3]), *(-skew(x[3:]) for x in motion))
        return _blocks(still, position, still)
    upper = turned if source in ("body", "mixed") else still
    return _blocks(upper, none, turned if source == "body" else still)
