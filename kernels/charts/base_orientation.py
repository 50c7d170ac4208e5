"""The floating base with its orientation in other parameters ([BK12] section II).

    hybrid            q native                              v = [ω, ẋ] in world axes
    rpy               q = [x y z, roll pitch yaw]           v = q̇
    quaternion        q = [x y z, quaternion x y z w]       v = q̇, redundant
    rotation_matrix   q = [x y z, R row by row]             v = q̇, redundant

ω = E θ̇ takes the rates of d parameters to the angular velocity in the base's axes: [BK12]'s
J_ω^base. The redundant ones are continued off the rotations by the nearest rotation (a quaternion
is scaled to length 1), so that E gives no angular velocity to what only leaves the rotations:
E⁺ is then the pseudo-inverse, and Γ is symmetric for all indices. [BK12] eq. 11 is another
continuation; for the rates that a robot can have they are the same.
"""

from __future__ import annotations

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.charts.jointwise import JointMap, NativeQuaternion
from torqued.kernels.charts.rotation import (
    LEVI_CIVITA,
    ONE,
    exponential,
    norm_fault,
    product,
    quaternion_of,
    rotation,
    skew,
    turn_between,
    turned,
)
from torqued.kernels.input_checks import QUATERNION_TOLERANCE
from torqued.kernels.model.description import Array
from torqued.kernels.model.rotations import rotation_from_rpy, rpy_from_rotation

#: Below this |cos pitch| roll and yaw turn about the same axis, as far as numbers can tell.
SINGULAR_COSINE = 1e-6


class Orientation:
    """By default a unit quaternion x y z w with the angular velocity in the body's axes."""

    nq, nv = 4, 3

    def fault(self, parameters: Array) -> str | None:
        return norm_fault("quaternion (x y z w)", parameters)

    def quaternion(self, parameters: Array) -> Array:
        """x y z w."""
        return parameters

    def parameters(self, quaternion: Array) -> Array:
        return quaternion

    def E(self, quaternion: Array) -> Array:
        """(3, nv): ω = E θ̇."""
        return ONE

    def E_rate(self, quaternion: Array, rates: Array) -> Array:
        return np.zeros((3, 3))

    def E_inverse(self, quaternion: Array) -> Array:
        return ONE

    def E_inverse_rate(self, quaternion: Array, w: Array) -> Array:
        """At the angular velocity w."""
        return np.zeros((3, 3))

    def integrate(self, parameters: Array, step: Array) -> Array:
        """By constant angular velocity."""
        start = self.quaternion(parameters)
        return self.parameters(turned(start, self.E(start) @ step))

    def difference(self, parameters0: Array, parameters1: Array) -> Array:
        start, end = self.quaternion(parameters0), self.quaternion(parameters1)
        return self.E_inverse(start) @ turn_between(start, end)


class ScalarFirst(Orientation):
    """Unit quaternion w x y z."""

    def fault(self, parameters: Array) -> str | None:
        return norm_fault("quaternion (w x y z)", parameters)

    def quaternion(self, parameters: Array) -> Array:
        return parameters[[1, 2, 3, 0]]

    def parameters(self, quaternion: Array) -> Array:
        return quaternion[[3, 0, 1, 2]]


class RollPitchYaw(Orientation):
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""

    nq, nv = 3, 3

    def fault(self, parameters: Array) -> str | None:
        return None

    def quaternion(self, parameters: Array) -> Array:
        return quaternion_of(rotation_from_rpy(*parameters))

    def parameters(self, quaternion: Array) -> Array:
        R = rotation(quaternion)
        roll, pitch, yaw = rpy_from_rotation(R)
        if np.hypot(R[0, 0], R[1, 0]) < SINGULAR_COSINE:
            raise NumericalError(
                f"coordinates 'rpy': pitch of the base is {pitch:.9g} rad "
                f"({np.degrees(pitch):.6g}°), where roll and yaw coincide; |cos pitch| must be at "
                f"least {SINGULAR_COSINE:.0e} (other charts have no such singularity)"
            )
        return np.array([roll, pitch, yaw])

    def E(self, quaternion: Array) -> Array:
        roll, pitch, _ = self.parameters(quaternion)
        cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
        return np.array([[1.0, 0.0, -sp], [0.0, cr, sr * cp], [0.0, -sr, cr * cp]])

    def E_rate(self, quaternion: Array, rates: Array) -> Array:
        roll, pitch, _ = self.parameters(quaternion)
        cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
        by_roll = np.array([[0.0, 0.0, 0.0], [0.0, -sr, cr * cp], [0.0, -cr, -sr * cp]])
        by_pitch = np.array([[0.0, 0.0, -cp], [0.0, 0.0, -sr * sp], [0.0, 0.0, -cr * sp]])
        rate: Array = rates[0] * by_roll + rates[1] * by_pitch
        return rate

    def E_inverse(self, quaternion: Array) -> Array:
        roll, pitch, _ = self.parameters(quaternion)
        cr, sr, cp, tp = np.cos(roll), np.sin(roll), np.cos(pitch), np.tan(pitch)
        return np.array([[1.0, sr * tp, cr * tp], [0.0, cr, -sr], [0.0, sr / cp, cr / cp]])

    def E_inverse_rate(self, quaternion: Array, w: Array) -> Array:
        inverse = self.E_inverse(quaternion)
        return -inverse @ self.E_rate(quaternion, inverse @ w) @ inverse

    def integrate(self, parameters: Array, step: Array) -> Array:
        return parameters + step

    def difference(self, parameters0: Array, parameters1: Array) -> Array:
        return parameters1 - parameters0


class QuaternionRates(Orientation):
    """θ = quaternion x y z w, d = 4."""

    nv = 4

    def E(self, quaternion: Array) -> Array:
        return _angular(quaternion) / (quaternion @ quaternion)

    def E_rate(self, quaternion: Array, rates: Array) -> Array:
        square = float(quaternion @ quaternion)
        shrinking = 2.0 * float(quaternion @ rates) / square
        rate: Array = (_angular(rates) - shrinking * _angular(quaternion)) / square
        return rate

    def E_inverse(self, quaternion: Array) -> Array:
        return _rates(quaternion)

    def E_inverse_rate(self, quaternion: Array, w: Array) -> Array:
        return _rates(_rates(quaternion) @ w)


def _angular(quaternion: Array) -> Array:
    """(3, 4): 2 (q* q̇) as a vector."""
    v, w = quaternion[:3], quaternion[3]
    return 2.0 * np.column_stack([w * ONE - skew(v), -v])


def _rates(quaternion: Array) -> Array:
    """(4, 3): q̇ = ½ q ω."""
    v, w = quaternion[:3], quaternion[3]
    return 0.5 * np.vstack([w * ONE + skew(v), -v])


class MatrixRates(Orientation):
    """θ = R row by row, d = 9."""

    nq, nv = 9, 9

    def fault(self, parameters: Array) -> str | None:
        R = parameters.reshape(3, 3)
        error = float(np.abs(R.T @ R - ONE).max())
        if error > QUATERNION_TOLERANCE:
            return f"rotation matrix has Rᵀ R off by {error:.3g} from 1, expected 0"
        determinant = float(np.linalg.det(R))
        if determinant < 0.0:
            return f"rotation matrix has determinant {determinant:.6g}, expected 1"
        return None

    def quaternion(self, parameters: Array) -> Array:
        return quaternion_of(parameters.reshape(3, 3))

    def parameters(self, quaternion: Array) -> Array:
        return rotation(quaternion).ravel()

    def E(self, quaternion: Array) -> Array:
        return 0.5 * _matrix_rates(rotation(quaternion)).T

    def E_rate(self, quaternion: Array, rates: Array) -> Array:
        """The nearest rotation to R (1 + Σ) with symmetric Σ is R: Σ only changes E itself."""
        R = rotation(quaternion)
        E = 0.5 * _matrix_rates(R).T
        stretch = R.T @ rates.reshape(3, 3)
        stretch = 0.5 * (stretch + stretch.T)
        turning = 0.5 * _matrix_rates(R @ skew(E @ rates)).T
        rate: Array = turning - 0.5 * (np.trace(stretch) * ONE - stretch) @ E
        return rate

    def E_inverse(self, quaternion: Array) -> Array:
        return _matrix_rates(rotation(quaternion))

    def E_inverse_rate(self, quaternion: Array, w: Array) -> Array:
        return _matrix_rates(rotation(quaternion) @ skew(w))


def _matrix_rates(R: Array) -> Array:
    """(9, 3): Ṙ = R ω×, row by row."""
    columns: Array = -np.einsum("aj,ijk->aki", R, LEVI_CIVITA)
    return columns.reshape(9, 3)


class FreeBase(JointMap):
    """A floating joint with q = [x y z, θ] and v = [ẋ in the parent's axes, θ̇]."""

    constant = False

    def __init__(self, orientation: Orientation, last: int = 0) -> None:
        super().__init__(3 + orientation.nq, 3 + orientation.nv)
        self.orientation, self.last = orientation, last

    def fault(self, q: Array) -> str | None:
        return self.orientation.fault(q[3:])

    def to_native(self, q: Array) -> Array:
        return np.append(q[:3], self.orientation.quaternion(q[3:]))

    def from_native(self, q: Array) -> Array:
        return np.append(q[:3], self.orientation.parameters(q[3:]))

    def A(self, q: Array) -> Array:
        return self._block(self.orientation.E(q[3:]), rotation(q[3:]).T)

    def A_rate(self, q: Array, v: Array) -> Array:
        w = self.orientation.E(q[3:]) @ v[3:]
        return self._block(self.orientation.E_rate(q[3:], v[3:]), -skew(w) @ rotation(q[3:]).T)

    def A_inverse(self, q: Array) -> Array:
        return self._block_inverse(self.orientation.E_inverse(q[3:]), rotation(q[3:]))

    def A_inverse_rate(self, q: Array, v: Array) -> Array:
        turning = rotation(q[3:]) @ skew(v[:3])
        return self._block_inverse(self.orientation.E_inverse_rate(q[3:], v[:3]), turning)

    def _block(self, angular: Array, linear: Array) -> Array:
        """[ω; u] = block [ẋ; θ̇]."""
        block = np.zeros((6, self.nv))
        block[:3, 3:], block[3:, :3] = angular, linear
        return block

    def _block_inverse(self, angular: Array, linear: Array) -> Array:
        block = np.zeros((self.nv, 6))
        block[3:, :3], block[:3, 3:] = angular, linear
        return block

    def integrate(self, q: Array, step: Array) -> Array:
        return np.append(q[:3] + step[:3], self.orientation.integrate(q[3:], step[3:]))

    def difference(self, q0: Array, q1: Array) -> Array:
        return np.append(q1[:3] - q0[:3], self.orientation.difference(q0[3:], q1[3:]))


class HybridBase(NativeQuaternion):
    """Native q; v = [ω, ẋ] in the parent's axes."""

    constant = False

    def A(self, q: Array) -> Array:
        return _twice(rotation(q[3:]).T)

    def A_rate(self, q: Array, v: Array) -> Array:
        return _twice(-rotation(q[3:]).T @ skew(v[:3]))

    def integrate(self, q: Array, step: Array) -> Array:
        orientation = product(exponential(step[:3]), q[3:])
        return np.append(q[:3] + step[3:], orientation / np.linalg.norm(orientation))

    def difference(self, q0: Array, q1: Array) -> Array:
        return np.append(rotation(q0[3:]) @ turn_between(q0[3:], q1[3:]), q1[:3] - q0[:3])


def _twice(block: Array) -> Array:
    """(6, 6) with a (3, 3) block on the diagonal."""
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = block
    return both


#: Maps of the floating base by the chart's name.
BASE_MAPS: dict[str, JointMap] = {
    "hybrid": HybridBase(7, 6),
    "rpy": FreeBase(RollPitchYaw()),
    "quaternion": FreeBase(QuaternionRates()),
    "rotation_matrix": FreeBase(MatrixRates()),
}
