"""What each quantity of the dynamics becomes in a chart, from the native ones.

The table of dynamics/quantities.py names one of these for each quantity ("same" where nothing
changes). With ν = A v̄, equations are those of [EW21] section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from torqued.common.results import Dynamics
from torqued.kernels.charts.chart import Chart
from torqued.kernels.dynamics.quantities import QUANTITIES
from torqued.kernels.model.description import Array

#: Native results by name, as `Robot.dynamics` gives them.
Results = Dynamics | Mapping[str, Any]


@dataclass
class Motion:
    """Where a chart is evaluated: the native q, and the chart's v."""

    chart: Chart
    q: Array
    v: Array

    @cached_property
    def A(self) -> Array:
        return self.chart.A(self.q)

    @cached_property
    def A_rate(self) -> Array:
        return self.chart.A_rate(self.q, self.v)

    @property
    def native_v(self) -> Array:
        return self.A @ self.v


@dataclass(frozen=True)
class Transformation:
    """`apply` takes the native value, all native results and the motion; `needs` names which
    results it looks at beside the value."""

    apply: Callable[[Any, Results, Motion], Any]
    needs: tuple[str, ...] = ()


def mass(M: Array, natively: Results, at: Motion) -> Array:
    """M̄ = Aᵀ M A, eq. 23."""
    return at.A.T @ M @ at.A


def mass_rate(Mdot: Array, natively: Results, at: Motion) -> Array:
    """Aᵀ Ṁ A + Ȧᵀ M A + Aᵀ M Ȧ."""
    turning = at.A.T @ natively["M"] @ at.A_rate
    rate: Array = at.A.T @ Mdot @ at.A + turning + turning.T
    return rate


def coriolis(C: Array, natively: Results, at: Motion) -> Array:
    """C̄ = Aᵀ (C A + M Ȧ), eq. 24."""
    changed: Array = at.A.T @ (C @ at.A + natively["M"] @ at.A_rate)
    return changed


def christoffel(Gamma: Array, natively: Results, at: Motion) -> Array:
    """Γ̄ with C̄_ij = Σ_k Γ̄_ijk v̄_k: eq. 24 for each unit velocity."""
    n, A = at.chart.nv, at.A
    C = np.tensordot(Gamma, A, axes=(2, 0))  # C[:, :, k] at ν = A e_k
    out = np.empty((n, n, n))
    for k, e_k in enumerate(np.eye(n)):
        out[:, :, k] = A.T @ (C[:, :, k] @ A + natively["M"] @ at.chart.A_rate(at.q, e_k))
    return out


def torque(tau: Array, natively: Results, at: Motion) -> Array:
    """τ̄ = Aᵀ τ, eq. 25 and 26."""
    return at.A.T @ tau


def bias(native: Array, natively: Results, at: Motion) -> Array:
    """Aᵀ (C ν + g + M Ȧ v̄)."""
    changed: Array = at.A.T @ (native + natively["M"] @ (at.A_rate @ at.v))
    return changed


def jacobian(J: Mapping[str, Array], natively: Results, at: Motion) -> dict[str, Array]:
    """J̄ = J A, of each frame."""
    return {name: of_frame @ at.A for name, of_frame in J.items()}


def frame_bias(rates: Mapping[str, Array], natively: Results, at: Motion) -> dict[str, Array]:
    """The rate of J̄, times v̄: J̇ ν + J Ȧ v̄."""
    turning = at.A_rate @ at.v
    return {name: rate + natively["J"][name] @ turning for name, rate in rates.items()}


def same(value: Any, natively: Results, at: Motion) -> Any:
    """What stands in the world's frame is the same in every chart."""
    return value


TRANSFORMATIONS = {
    "same": Transformation(same),
    "mass": Transformation(mass),
    "mass_rate": Transformation(mass_rate, needs=("M",)),
    "coriolis": Transformation(coriolis, needs=("M",)),
    "christoffel": Transformation(christoffel, needs=("M",)),
    "torque": Transformation(torque),
    "bias": Transformation(bias, needs=("M",)),
    "jacobian": Transformation(jacobian),
    "frame_bias": Transformation(frame_bias, needs=("J",)),
}


def transformation_of(word: str) -> Transformation:
    return TRANSFORMATIONS[QUANTITIES[word].chart]


def needed_natively(want: Iterable[str]) -> tuple[str, ...]:
    """What has to be computed natively for these quantities in a chart; unknown ones stay."""
    words = list(want)
    known = [word for word in words if word in QUANTITIES]
    return tuple(dict.fromkeys([*words, *(n for w in known for n in transformation_of(w).needs)]))


def transformed(want: Iterable[str], natively: Results, at: Motion) -> dict[str, Any]:
    """The wanted quantities in the chart, by name."""
    return {word: transformation_of(word).apply(natively[word], natively, at) for word in want}
