"""What the figures are held against: ceilings of the ratios, and the papers' own times."""

from __future__ import annotations

from typing import NamedTuple

#: Highest ratio of torqued's time to Pinocchio's, by robot and kernel; both called from Python.
#: `coriolis` is M, Ṁ and C in one call against C alone, `christoffel` all Γ against C alone,
#: `rnea_derivatives` ∂τ by q and v with M, `aba_derivatives` ∂a by q, v and τ.
#: The small arm has ceilings of its own, since there the call itself is a good part of the time.
CEILINGS: dict[str, dict[str, float]] = {
    "chain20": {
        **{"coriolis": 0.45, "christoffel": 0.9, "rnea": 0.8, "crba": 0.8, "aba": 0.7},
        **{"rnea_derivatives": 0.5, "aba_derivatives": 0.6, "frame_hessian": 0.6},
    },
    "tree20": {"coriolis": 0.45, "rnea": 0.8, "crba": 0.8, "aba": 0.7},
    "talos": {
        **{"coriolis": 0.45, "rnea": 0.8, "crba": 0.8, "aba": 0.7, "contact": 1.0},
        **{"rnea_derivatives": 0.5, "aba_derivatives": 0.6, "frame_hessian": 0.6},
    },
    "panda": {
        **{"coriolis": 0.7, "christoffel": 1.0, "rnea": 1.0, "crba": 1.0, "aba": 1.0},
        **{"rnea_derivatives": 0.5, "aba_derivatives": 0.6, "frame_hessian": 0.6},
    },
}


#: Highest ratio of a request's round trip to a bare echo's, at p50, by how requests are spaced.
ROUND_TRIP = {"paced": 1.25}
#: Highest ratio of a tick's lateness to a bare sleep loop's, at p99, by what else goes on.
LATENESS = {"idle": 1.3, "busy_interpreter": 1.3}
#: Highest ratio of `import torqued.client` to `import numpy, zmq, msgpack`.
CLIENT_IMPORT = 1.2
#: Longest starts of a daemon, s: from a filled cache of compiled code, and from an empty one.
WARM_START, COLD_START = 5.0, 180.0
#: Most that a daemon's memory may grow by after a warm-up, KiB, whatever it is asked.
GROWTH = 1024.0


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
