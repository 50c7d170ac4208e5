"""How times grow with the size of a robot: the curves of [EW21] figures 2 to 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from torqued.benchmarks.robots import Case, load_family
from torqued.benchmarks.timing import Plan, Times, measure

_FIXED = (5, 10, 15, 20, 30, 40, 50, 70, 100)
_LEGGED = (4, 8, 12, 20, 28, 40, 60, 80, 100)  # so that the legs are of equal length

#: Joint DoF to measure; a floating base adds six to them.
Sizes = dict[str, tuple[int, ...]]
SIZES: Sizes = {"chain": _FIXED, "tree": _FIXED, "biped": _LEGGED, "quadruped": _LEGGED}
QUICK_SIZES: Sizes = {"chain": (5, 20), "tree": (5, 20), "biped": (4, 20), "quadruped": (4, 20)}

#: Orders of growth in [EW21] section 5: O(Nd) and O(Nd²) with the depth d of the tree. Legs are
#: chains, so that d grows with N there too.
THEORY = {
    "chain": {"coriolis": "N²", "christoffel": "N³"},
    "tree": {"coriolis": "N log N", "christoffel": "N log² N"},
    "biped": {"coriolis": "N²", "christoffel": "N³"},
    "quadruped": {"coriolis": "N²", "christoffel": "N³"},
}

#: What a curve holds: torqued's two kernels, and Pinocchio's C.
SERIES = ("coriolis", "christoffel", "pinocchio_coriolis")


@dataclass(frozen=True)
class Curve:
    """Times of one family, µs, by series and in the order of `dofs`."""

    family: str
    dofs: tuple[int, ...]
    us: dict[str, tuple[float, ...]]

    def slope(self, series: str) -> float:
        """Fitted exponent of N over the upper half of the sizes, where overhead is least."""
        upper = slice(len(self.dofs) // 2, None) if len(self.dofs) > 2 else slice(None)
        return float(np.polyfit(np.log(self.dofs[upper]), np.log(self.us[series][upper]), 1)[0])


def load(kind: str, dofs: int, states: int) -> Case:
    """A robot of a curve, verified."""
    case = load_family(kind, dofs, states)
    case.verify(("coriolis", "christoffel"))
    return case


def measure_point(case: Case, plan: Plan) -> dict[str, Times]:
    """Times of one robot by series."""
    pair = {
        "coriolis": case.ours("coriolis"),
        "pinocchio_coriolis": case.pinocchio("coriolis"),
    }
    # Apart: all Γ of a large robot push everything else out of the caches.
    alone = {"christoffel": case.ours("christoffel")}
    return {**measure(pair, plan), **measure(alone, plan)}


def curve(kind: str, points: Mapping[int, Mapping[str, Times]]) -> Curve:
    """The curve of a family from its points by size."""
    us = {series: tuple(point[series].us for point in points.values()) for series in SERIES}
    return Curve(kind, tuple(points), us)
