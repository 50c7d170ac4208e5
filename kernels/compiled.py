"""The compiled entries under one name, ready to call from Python without dispatch.

    compiled = Compiled.load()
    compiled.mass_matrix(work, q, M)       # in place, no allocation, no checks

The caller keeps the promises that `Robot` keeps: contiguous float64 arrays of the right shape.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torqued.kernels import (  # noqa: F401  (importing a module registers its entries)
    articulated,
    centroidal,
    christoffel,
    contact_dynamics,
    coriolis,
    crba,
    dense,
    evaluate,
    frames,
    friction,
    manifold,
    mimic,
    momentum,
    products,
    rnea,
    tracking,
)
from torqued.kernels.jit import CACHE_FOLDER, CACHE_PROBLEM, ENTRIES, bind


class Compiled:
    """One attribute per entry; compiled (or read from the cache) when first asked for."""

    def __getattr__(self, name: str) -> Any:
        if name not in ENTRIES:
            raise AttributeError(f"no kernel {name!r}; there are {', '.join(sorted(ENTRIES))}")
        function = bind(ENTRIES[name][0])
        setattr(self, name, function)
        return function


#: Machine code does not depend on the robot, so one instance serves the process.
COMPILED = Compiled()


@dataclass(frozen=True)
class CompileSummary:
    """What `compile_all` did."""

    kernels: int
    from_cache: int
    seconds: float
    cache: str  # the folder, or why there is none


def compile_all(report: Callable[[str, int, int], None] | None = None) -> CompileSummary:
    """Make every kernel ready; `report(name, done, total)` is called before each and at the end."""
    start = time.perf_counter()
    from_cache = 0
    for done, (name, (dispatcher, _)) in enumerate(ENTRIES.items()):
        if report:
            report(name, done, len(ENTRIES))
        getattr(COMPILED, name)
        stats = getattr(dispatcher, "stats", None)  # plain functions when compilation is off
        from_cache += bool(stats and stats.cache_hits)
    if report:
        report("", len(ENTRIES), len(ENTRIES))
    seconds = time.perf_counter() - start
    return CompileSummary(
        len(ENTRIES), from_cache, seconds, str(CACHE_FOLDER) if CACHE_FOLDER else CACHE_PROBLEM
    )
