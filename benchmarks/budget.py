"""What the figures are held against: ceilings of the ratios, and the papers' own times."""

from __future__ import annotations

from typing import NamedTuple

#: Highest ratio of torqued's time to Pinocchio's, by robot and kernel; both called from Python.
#: `coriolis` is M, Ṁ and C in one call against C alone, `christoffel` all Γ against C alone.
#: The small arm has ceilings of its own, since there the call itself is a good part of the time.
CEILINGS: dict[str, dict[str, float]] = {
    "chain20": {"coriolis": 0.45, "christoffel": 0.9, "rnea": 0.8, "crba": 0.8, "aba": 0.7},
    "tree20": {"coriolis": 0.45, "rnea": 0.8, "crba": 0.8, "aba": 0.7},
    "talos": {"coriolis": 0.45, "rnea": 0.8, "crba": 0.8, "aba": 0.7, "contact": 1.0},
    "panda": {"coriolis": 0.7, "christoffel": 1.0, "rnea": 1.0, "crba": 1.0, "aba": 1.0},
}


class Published(NamedTuple):
    us: float
    source: str


#: Times in the papers. [EW21] table 1, in C++ on an i7 of 3.2 GHz: the same families, with other
#: bodies. [F16]: a humanoid of 35 DoF, its mass matrix, bias force and forward dynamics.
PUBLISHED: dict[str, dict[str, Published]] = {
    "chain20": {"coriolis": Published(18, "EW21"), "christoffel": Published(122, "EW21")},
    "tree20": {"coriolis": Published(10, "EW21"), "christoffel": Published(33, "EW21")},
    "biped20": {"coriolis": Published(13, "EW21"), "christoffel": Published(64, "EW21")},
    "quadruped20": {"coriolis": Published(10, "EW21"), "christoffel": Published(37, "EW21")},
    "talos": {
        "crba": Published(6.8, "F16"),
        "rnea": Published(5.3, "F16"),
        "aba": Published(12.6, "F16"),
    },
}


def ceiling(robot: str, kernel: str) -> float | None:
    return CEILINGS.get(robot, {}).get(kernel)


def published(robot: str, kernel: str) -> Published | None:
    return PUBLISHED.get(robot, {}).get(kernel)
