"""Velocities of the user's own: any A with its rate ([EW21] section 3.3, generalized speeds)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import Chart, Native
from torqued.kernels.input_checks import numbers, whole_number
from torqued.kernels.model.description import Array


@dataclass(frozen=True, eq=False)
class Custom:
    """`in_coordinates(Custom(A, A_rate))`: native q, and velocities v̄ with ν = A v̄.

    A is an array (nv, nv) or a function of the native q; A_rate one or a function of the native
    q and v, linear in v. It may be left out where A is an array.

    With `size` k < nv, A is (nv, k): the robot moves in these k ways only. So a joint may have any
    motion subspace S(q): a generic joint, of whose columns A has S(q), and A_rate its rate. What
    holds the robot to them does no work; q must be a configuration that they lead to.
    """

    A: Any | Callable[[Array], Any]
    A_rate: Any | Callable[[Array, Array], Any] = None
    name: str = "custom"
    size: int | None = None


class CustomChart(Chart):
    """q is native; integration keeps ν, not v̄, constant."""

    def __init__(self, custom: Custom, robot: Native) -> None:
        super().__init__(custom.name, robot)
        self.nq, self.nv = robot.nq, robot.nv
        if custom.size is not None:
            self.nv = whole_number(f"coordinates {self.name!r}: size", custom.size, 1, robot.nv)
        if callable(custom.A) and custom.A_rate is None:
            raise InputError(
                f"coordinates {self.name!r}: A is a function, which requires A_rate, a function "
                "of q and v"
            )
        self._A = custom.A if callable(custom.A) else self._sized("A", custom.A)
        if custom.A_rate is None:
            self._A_rate: Any = np.zeros((robot.nv, self.nv))
        else:
            given = custom.A_rate
            self._A_rate = given if callable(given) else self._sized("A_rate", given)

    @property
    def constant(self) -> bool:
        return not callable(self._A_rate) and not self._A_rate.any()

    def to_native(self, q: Any, name: str = "q") -> Array:
        return self.native_q(q)

    def from_native(self, q: Any) -> Array:
        return self.native_q(q)

    def A(self, q: Array) -> Array:
        return self._sized("A", self._A(q)) if callable(self._A) else self._A

    def A_rate(self, q: Array, v: Array) -> Array:
        if not callable(self._A_rate):
            rate: Array = self._A_rate
            return rate
        return self._sized("A_rate", self._A_rate(q, self.A(q) @ v))

    def A_inverse(self, q: Array) -> Array:
        """(Aᵀ M A)⁻¹ Aᵀ M where A has fewer columns than rows: with it ν̇ = A ā + Ȧ v̄ is what the
        robot does under forces that do no work along A."""
        if not self.reduces:
            return super().A_inverse(q)
        A = self.A(q)
        AtM = A.T @ self.robot.mass_matrix(q)
        return self.inverse_of(AtM @ A) @ AtM

    @property
    def joint_names(self) -> tuple[str, ...]:
        if not self.reduces:
            return super().joint_names
        return tuple(f"{self.name}_{k + 1}" for k in range(self.nv))

    def _sized(self, what: str, value: Any) -> Array:
        return numbers(f"coordinates {self.name!r}: {what}", value, (self.robot.nv, self.nv))
