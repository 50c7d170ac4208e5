"""What the figures are held against: ceilings of the ratios, and the papers' own times."""

from __future__ import annotations

from typing import NamedTuple

#: Of sweeps over the tree, and of derivatives.
SWEEPS = {"coriolis": 0.33, "rnea": 0.33, "crba": 0.4, "aba": 0.35}
DERIVATIVES = {
    **{"rnea_derivatives": 0.5, "aba_derivatives": 0.6},
    **{"frame_hessian": 0.6, "second_order": 0.6},
}

#: Highest ratio of torqued's time to Pinocchio's, by robot and kernel; both called from Python.
#: `coriolis` is M, Ṁ and C in one call against C alone, `christoffel` all Γ against C alone,
#: `rnea_derivatives` ∂τ by q and v with M, `aba_derivatives` ∂a by q, v and τ, `second_order` all
#: second derivatives of τ, which are Pinocchio's in C++.
CEILINGS: dict[str, dict[str, float]] = {
    "chain20": {**SWEEPS, "christoffel": 0.5, **DERIVATIVES},
    "tree20": SWEEPS,
    "talos": {**SWEEPS, "christoffel": 0.6, "contact": 0.6, **DERIVATIVES},
    "panda": {**SWEEPS, "christoffel": 1.0, **DERIVATIVES},
}

#: Ceilings that are ahead: the last quiet run was above them or on the line, and later work has to
#: reach them. One that is not listed here and does not hold is a step back.
AHEAD: dict[str, tuple[str, ...]] = {
    "chain20": ("coriolis", "christoffel"),
    "tree20": ("crba",),
    "talos": ("coriolis", "christoffel", "rnea", "crba", "contact"),
    "panda": ("coriolis", "rnea", "crba", "aba"),
}


#: Highest ratio of a request's round trip to a bare echo's, at p50, by how requests are spaced.
ROUND_TRIP = {"paced": 1.6}
#: Highest ratios of what goes through shared memory, at p50, to the floors of memory_rtt.py.
IN_MEMORY = {
    "memory_arrival_python": 1.6,
    "memory_arrival_spin": 1.5,
    "memory_arrival_cpp": 2.2,
    "memory_dynamics": 0.15,
}
#: Highest ratio of a tick's lateness to a bare sleep loop's, at p99, by what else goes on.
LATENESS = {"idle": 1.2, "busy_interpreter": 1.2, "arrivals": 1.3}
#: Highest ratio of lateness with the ring and its readers to that without, at p99, and most that
#: they may add to the compute time of a tick, µs at p50.
RING_LATENESS, RING_US = 1.2, 2.0
#: Part of one processor that a recorder may take for all sessions that there may be, of a large
#: robot, at 1 kHz; and part of its ticks that the loop has to make meanwhile.
RECORDER_SHARE, RECORDED_RATE = 0.4, 0.99
#: Highest ratio of `import torqued.client` to `import numpy, zmq, msgpack`.
CLIENT_IMPORT = 1.2
#: Longest starts of a daemon, s: from a filled cache of compiled code, and from an empty one.
WARM_START, COLD_START = 2.0, 60.0
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


def is_ahead(robot: str, kernel: str) -> bool:
    """Whether a ceiling is still to be reached."""
    return kernel in AHEAD.get(robot, ())


def published(robot: str, kernel: str) -> Published | None:
    return PUBLISHED.get(robot, {}).get(kernel)
