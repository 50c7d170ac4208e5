"""Charts in which each joint is mapped on its own: A is one block per joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import Chart, Native
from torqued.kernels.charts.rotation import norm_fault
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Indices, JointInfo


class JointMap:
    """One joint, by default in its native coordinates. All arrays are the joint's own parts.

    `nq`, `nv` are the chart's sizes. `plain` maps change nothing, `constant` ones have Ȧ = 0.
    `last` coordinates of q stand at the end of the robot's (RBDL's quaternions).
    """

    plain = False
    constant = True
    last = 0

    def __init__(self, nq: int, nv: int) -> None:
        self.nq, self.nv = nq, nv

    def fault(self, q: Array) -> str | None:
        """Why the chart's q cannot be used; None where it can."""
        return None

    def to_native(self, q: Array) -> Array:
        return q

    def from_native(self, q: Array) -> Array:
        return q

    def A(self, q: Array) -> Array:
        """At the native q."""
        return np.eye(self.nv)

    def A_rate(self, q: Array, v: Array) -> Array:
        """At the native q and the chart's v."""
        return np.zeros_like(self.A(q))

    def A_inverse(self, q: Array) -> Array:
        return self.A(q).T

    def A_inverse_rate(self, q: Array, v: Array) -> Array:
        """At the native q and v."""
        inverse = self.A_inverse(q)
        return -inverse @ self.A_rate(q, inverse @ v) @ inverse

    def integrate(self, q: Array, step: Array) -> Array | None:
        """In the chart; None where constant v̄ and constant ν are the same motion."""
        return None

    def difference(self, q0: Array, q1: Array) -> Array | None:
        return None


class Plain(JointMap):
    """Native coordinates without a condition on them."""

    plain = True


class NativeQuaternion(JointMap):
    """Native coordinates that end with a unit quaternion x y z w."""

    def fault(self, q: Array) -> str | None:
        return norm_fault("quaternion (x y z w)", q[-4:])


def native_map(joint: JointInfo) -> JointMap:
    """The map that changes nothing."""
    quaternion = joint.type in ("floating", "spherical")
    return (NativeQuaternion if quaternion else Plain)(joint.nq, joint.nv)


@dataclass(frozen=True)
class Part:
    """A joint, its map, and the places of its coordinates natively and in the chart."""

    joint: JointInfo
    map: JointMap
    q: slice
    v: slice
    chart_q: Indices
    chart_v: Indices


def lay_out(maps: Sequence[tuple[JointInfo, JointMap]]) -> list[Part]:
    """Joints one after the other in the given order, `last` coordinates after all of them."""
    parts = []
    nq = nv = 0
    end = sum(map_.nq - map_.last for _, map_ in maps)
    for joint, map_ in maps:
        first = map_.nq - map_.last
        chart_q = np.r_[nq : nq + first, end : end + map_.last]
        chart_v = np.arange(nv, nv + map_.nv)
        q, v = slice(joint.q, joint.q + joint.nq), slice(joint.v, joint.v + joint.nv)
        parts.append(Part(joint, map_, q, v, chart_q, chart_v))
        nq, nv, end = nq + first, nv + map_.nv, end + map_.last
    return parts


class JointwiseChart(Chart):
    """`maps` has all joints of the robot, in the chart's order."""

    def __init__(
        self, name: str, robot: Native, maps: Sequence[tuple[JointInfo, JointMap]]
    ) -> None:
        super().__init__(name, robot)
        parts = lay_out(maps)
        self.nq = sum(len(part.chart_q) for part in parts)
        self.nv = sum(len(part.chart_v) for part in parts)
        self.joints = [part.joint for part in parts]
        # Most joints change nothing: one permutation for all of them, the others by a loop.
        self._special = [part for part in parts if not part.map.plain]
        self._turning = [part for part in parts if not part.map.constant]
        plain = [part for part in parts if part.map.plain]
        self._native_q = _joined([np.arange(part.q.start, part.q.stop) for part in plain])
        self._chart_q = _joined([part.chart_q for part in plain])
        self._constant = np.zeros((robot.nv, self.nv))
        self._constant_inverse = np.zeros((self.nv, robot.nv))
        for part in parts:
            if part.map.constant:
                nowhere = np.empty(0)
                self._constant[part.v, part.chart_v] = part.map.A(nowhere)
                self._constant_inverse[part.chart_v, part.v] = part.map.A_inverse(nowhere)

    @property
    def constant(self) -> bool:
        return not self._turning

    def to_native(self, q: Any, name: str = "q") -> Array:
        own = numbers(name, q, (self.nq,))
        native = np.empty(self.robot.nq)
        native[self._native_q] = own[self._chart_q]
        for part in self._special:
            piece = own[part.chart_q]
            if fault := part.map.fault(piece):
                places = _spell(part.chart_q)
                raise InputError(
                    f"{name}[{places}], joint {part.joint.name!r} in coordinates "
                    f"{self.name!r}: {fault}"
                )
            native[part.q] = part.map.to_native(piece)
        return native

    def from_native(self, q: Any) -> Array:
        native = self.native_q(q)
        own = np.empty(self.nq)
        own[self._chart_q] = native[self._native_q]
        for part in self._special:
            own[part.chart_q] = part.map.from_native(native[part.q])
        return own

    def A(self, q: Array) -> Array:
        if not self._turning:
            return self._constant
        A = self._constant.copy()
        for part in self._turning:
            A[part.v, part.chart_v] = part.map.A(q[part.q])
        return A

    def A_rate(self, q: Array, v: Array) -> Array:
        rate = np.zeros((self.robot.nv, self.nv))
        for part in self._turning:
            rate[part.v, part.chart_v] = part.map.A_rate(q[part.q], v[part.chart_v])
        return rate

    def A_inverse(self, q: Array) -> Array:
        if not self._turning:
            return self._constant_inverse
        inverse = self._constant_inverse.copy()
        for part in self._turning:
            inverse[part.chart_v, part.v] = part.map.A_inverse(q[part.q])
        return inverse

    def A_inverse_rate(self, q: Array, v: Array) -> Array:
        rate = np.zeros((self.nv, self.robot.nv))
        for part in self._turning:
            rate[part.chart_v, part.v] = part.map.A_inverse_rate(q[part.q], v[part.v])
        return rate

    def advance(self, q: Array, step: Array, moved: Array) -> Array:
        own = np.empty(self.nq)
        own[self._chart_q] = moved[self._native_q]
        for part in self._special:
            piece = part.map.integrate(q[part.chart_q], step[part.chart_v])
            if piece is None:
                piece = part.map.from_native(moved[part.q])
            own[part.chart_q] = piece
        return own

    def retreat(self, q0: Array, q1: Array, step: Array) -> Array:
        own = self._constant_inverse @ step
        for part in self._special:
            piece = part.map.difference(q0[part.chart_q], q1[part.chart_q])
            if piece is not None:
                own[part.chart_v] = piece
        return own


def _joined(pieces: list[Indices]) -> Indices:
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)


def _spell(indices: Indices) -> str:
    """3:7, or single ones where they are apart."""
    if (np.diff(indices) == 1).all():
        return f"{indices[0]}:{indices[-1] + 1}"
    return ", ".join(map(str, indices))
