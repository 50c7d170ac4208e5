"""Velocities of the user's own: any A with its rate ([EW21] section 3.3, generalized speeds)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import Chart, Native
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array


@dataclass(frozen=True, eq=False)
class Custom:
    """`in_coordinates(Custom(A, A_rate))`: native q, and velocities v̄ with ν = A v̄.

    A is an array (nv, nv) or a function of the native q; A_rate one or a function of the native
    q and v, linear in v. It may be left out where A is an array.
    """

    A: Any | Callable[[Array], Any]
    A_rate: Any | Callable[[Array, Array], Any] = None
    name: str = "custom"


class CustomChart(Chart):
    """q is native; integration keeps ν, not v̄, constant."""

    def __init__(self, custom: Custom, robot: Native) -> None:
        super().__init__(custom.name, robot)
        self.nq, self.nv = robot.nq, robot.nv
        if callable(custom.A) and custom.A_rate is None:
            raise InputError(
                f"coordinates {self.name!r}: A is a function, which requires A_rate, a function "
                "of q and v"
            )
        self._A = custom.A if callable(custom.A) else self._square("A", custom.A)
        if custom.A_rate is None:
            self._A_rate: Any = np.zeros((self.nv, self.nv))
        else:
            given = custom.A_rate
            self._A_rate = given if callable(given) else self._square("A_rate", given)

    @property
    def constant(self) -> bool:
        return not callable(self._A_rate) and not self._A_rate.any()

    def to_native(self, q: Any, name: str = "q") -> Array:
        return self.native_q(q)

    def from_native(self, q: Any) -> Array:
        return self.native_q(q)

    def A(self, q: Array) -> Array:
        return self._square("A", self._A(q)) if callable(self._A) else self._A

    def A_rate(self, q: Array, v: Array) -> Array:
        if not callable(self._A_rate):
            rate: Array = self._A_rate
            return rate
        return self._square("A_rate", self._A_rate(q, self.A(q) @ v))

    def _square(self, what: str, value: Any) -> Array:
        return numbers(f"coordinates {self.name!r}: {what}", value, (self.nv, self.nv))
