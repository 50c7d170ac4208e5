"""exp, log, dexp and its inverse on SO(3) and SE(3), for arrays: the faces of group.py.

R, C = exp(w), exp(X)          w (3,) rad, X (6,) [angular; linear] rad, m; R (3, 3), C (4, 4)
w, X = log(R), log(C)
J = dexp(w)                    spatial velocity = dexp(X) Ẋ, body velocity = dexp(−X) Ẋ
J = dexp_inverse(w)            where |w| < 2π
J = dlog(R)                    rate of log(R) = dlog(R) · spatial velocity; none at π
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torqued.common.errors import NumericalError
from torqued.common.rotation import check_pose, check_rotation
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array

#: Nearer than this to π, in rad, the log of a rotation is not known to either side of its jump.
AT_PI = 1e-7
#: Nearer than this to 2π, in rad, dexp has lost half of its digits.
AT_FULL_TURN = 1e-7


def exp(x: Any) -> Array:
    """The rotation of a rotation vector (3,), or the pose of a twist (6,)."""
    x = numbers("x", x, (3,), (6,))
    if len(x) == 3:
        R = np.empty((3, 3))
        COMPILED.group_exp(x, R)
        return R
    C = np.empty((4, 4))
    COMPILED.group_exp(x, C)
    return C


def log(C: Any) -> Array:
    """The rotation vector of a rotation, at most π long, or the twist of a pose.

    Half a turn has two; one of them is given.
    """
    C = _rigid(C)
    x = np.empty(3 if len(C) == 3 else 6)
    COMPILED.group_log(C, x)
    return x


def dexp(x: Any) -> Array:
    """(3, 3) or (6, 6): Ṙ Rᵀ or Ċ C⁻¹, as a vector, is dexp(x) ẋ."""
    x = numbers("x", x, (3,), (6,))
    J = np.empty((len(x), len(x)))
    COMPILED.group_dexp(x, J)
    return J


def dexp_inverse(x: Any) -> Array:
    """The inverse of dexp, for turns of less than 2π."""
    x = numbers("x", x, (3,), (6,))
    angle = float(np.linalg.norm(x[:3]))
    if not angle < 2.0 * math.pi - AT_FULL_TURN:
        raise NumericalError(f"dexp_inverse: x turns by {angle:.9g} rad, allowed: less than 2π")
    J = np.empty((len(x), len(x)))
    COMPILED.group_dexp_inverse(x, J)
    return J


def dlog(C: Any) -> Array:
    """The derivative of log along spatial velocities; there is none at half a turn."""
    x = log(C)
    angle = float(np.linalg.norm(x[:3]))
    if angle > math.pi - AT_PI:
        raise NumericalError(
            f"dlog: the rotation is by {angle:.9g} rad; log jumps at π and has no derivative there"
        )
    return dexp_inverse(x)


def _rigid(C: Any) -> Array:
    """A rotation (3, 3) or a pose (4, 4), checked."""
    C = numbers("C", C, (3, 3), (4, 4))
    if len(C) == 4:
        check_pose("C", C)
    else:
        check_rotation("C", C)
    return np.ascontiguousarray(C)
