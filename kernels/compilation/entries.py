"""The compiled entries under one name, ready to call from Python without dispatch.

    compiled = Compiled.load()
    compiled.mass_matrix(work, q, M)       # in place, no allocation, no checks

The caller keeps the promises that `Robot` keeps: contiguous float64 arrays of the right shape.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torqued.kernels.batch import (  # noqa: F401  (registers their entries)
    algorithms,
    evaluation,
)
from torqued.kernels.batch import derivatives as batch_derivatives  # noqa: F401  (its entries)
from torqued.kernels.compilation.forecast import Forecast
from torqued.kernels.compilation.jit import (
    CACHE_FOLDER,
    CACHE_PROBLEM,
    ENTRIES,
    bind,
    is_cached,
    quietly,
)
from torqued.kernels.compilation.self_test import require_numba
from torqued.kernels.constraints import loops  # noqa: F401  (registers its entries)
from torqued.kernels.contacts import dynamics, friction  # noqa: F401  (registers their entries)
from torqued.kernels.derivatives import (  # noqa: F401  (registers their entries)
    contacts,
    forward,
    geometry,
    inverse,
    rates,
    second_order,
)
from torqued.kernels.dynamics import (  # noqa: F401  (importing a module registers its entries)
    articulated,
    centroidal,
    christoffel,
    coriolis,
    crba,
    frames,
    manifold,
    mimic,
    momentum,
    products,
    rnea,
    selected_quantities,
    tracking,
)
from torqued.kernels.integration import group_arrays  # noqa: F401  (registers its entries)
from torqued.kernels.inverse_kinematics import solver  # noqa: F401  (registers its entries)
from torqued.kernels.primitives import array_checks, dense, eigenvalues  # noqa: F401  (registers entries)
from torqued.kernels.screws import hessian, newton_euler  # noqa: F401  (registers their entries)
from torqued.kernels.screws import rates as screw_rates  # noqa: F401  (registers its entries)


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


#: Called with a kernel's name, how many are done, of how many, and s of compiling that are left.
Report = Callable[[str, int, int, float], None]
#: So many kernels missing in the cache take longer than another process takes to start.
WORTH_A_HELPER = 4


@dataclass(frozen=True)
class CompileSummary:
    """What `compile_all` did."""

    kernels: int
    from_cache: int
    seconds: float
    cache: str  # the folder, or why there is none


def compile_all(report: Report | None = None, names: Collection[str] = ()) -> CompileSummary:
    """Make kernels ready; `report(name, done, total, left)` is called before each and at the end.

    All of them, unless `names` says which. A second process helps where much is missing: it begins
    at the other end of the list, and what one has put into the cache the other only reads.
    """
    start = time.perf_counter()
    names = list(names or ENTRIES)
    missing = [name for name in names if not is_cached(name)]
    from_cache = len(names) - len(missing)
    helped = len(missing) > WORTH_A_HELPER
    with quietly() if report else contextlib.nullcontext():
        with _helper(missing) if helped else contextlib.nullcontext() as helper:
            forecast = Forecast(missing, 2 if helper else 1)
            for done, name in enumerate(names):
                if report:
                    report(name, done, len(names), forecast.left(is_cached))
                getattr(COMPILED, name)
        require_numba()
    if report:
        report("", len(names), len(names), 0.0)
    seconds = time.perf_counter() - start
    return CompileSummary(
        len(names), from_cache, seconds, str(CACHE_FOLDER) if CACHE_FOLDER else CACHE_PROBLEM
    )


def compile_backwards(names: Sequence[str]) -> None:
    """What the second process does: the last kernel first, until it meets what is there.

    However the first process ends, the pipe to it ends with it, and so does this one.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with quietly():
        for name in reversed(names):
            if not is_cached(name):
                getattr(COMPILED, name)


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def can_be_handed_on() -> bool:
    """Whether what another process compiles gets here: through the cache."""
    return CACHE_FOLDER is not None and os.access(CACHE_FOLDER, os.W_OK)


@contextlib.contextmanager
def _helper(names: Sequence[str]) -> Iterator[subprocess.Popen[bytes] | None]:
    """A process that compiles as well, as long as this one does."""
    if not can_be_handed_on() or (os.cpu_count() or 1) < 2:
        yield None
        return
    modules = sorted({dispatcher.py_func.__module__ for dispatcher, _ in ENTRIES.values()})
    program = (
        f"import importlib; [importlib.import_module(name) for name in {modules}]; "
        "from torqued.kernels.compilation.entries import compile_backwards; "
        f"compile_backwards({names})"
    )
    # Its own group: Ctrl-C in the terminal is for this process, whose end is the helper's too.
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0) as process:
        try:
            yield process
        finally:
            process.kill()
