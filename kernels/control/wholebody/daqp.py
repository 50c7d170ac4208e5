"""DAQP called from compiled code, without the interpreter and without allocating.

    minimise ½ ‖u‖²   subject to   lower ≤ A u ≤ upper

A quadratic program takes this form (a least-distance problem) by a change of variables, which
is left to the caller: it knows the structure of its Hessian and DAQP does not. The functions are
those of the `daqp` package's own library. The fields of three small records are taken from its
header (types.h, api.h); its workspace is opaque memory. `require_daqp` solves a known problem and
refuses a library that computes anything else or has a version whose header is not known here,
so that another layout cannot go unnoticed. Multipliers are read of solutions only: of programs
without one, versions differ in whether they write any.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import weakref
from functools import cache
from typing import Any

import daqp
import llvmlite.binding
import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from torqued.common.errors import TorquedError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.workspace import pointer

#: States of constraints in `sense`.
INEQUALITY, ACTIVE_UPPER, ACTIVE_LOWER, IGNORED, EQUALITY = 0, 1, 3, 4, 5

#: Exit flags: positive ones are solutions.
OPTIMAL, INFEASIBLE = 1, -1

#: No bound: what DAQP takes for infinity.
UNBOUNDED = 1e30

#: Versions whose headers have the records below: the first one whose update takes new dimensions
#: and keeps its memory, and the last one that was looked at.
OLDEST, NEWEST = (0, 10), (0, 11)

_UPDATE = 2 | 8 | 16  # M, d and sense: everything but a Hessian, which is the identity
_WORKSPACE_BYTES = 8192  # DAQPWorkspace is some 400 bytes

PROBLEM = np.dtype(
    [
        ("n", "i4"),
        ("m", "i4"),
        ("ms", "i4"),
        ("H", "u8"),
        ("f", "u8"),
        ("A", "u8"),
        ("upper", "u8"),
        ("lower", "u8"),
        ("sense", "u8"),
        ("break_points", "u8"),
        ("nh", "i4"),
        ("problem_type", "i4"),
    ],
    align=True,
)

RESULT = np.dtype(
    [
        ("x", "u8"),
        ("dual", "u8"),
        ("value", "f8"),
        ("soft_slack", "f8"),
        ("exit_flag", "i4"),
        ("iterations", "i4"),
        ("nodes", "i4"),
        ("solve_time", "f8"),
        ("setup_time", "f8"),
    ],
    align=True,
)

#: The head of DAQPSettings.
SETTINGS = np.dtype(
    [
        ("primal_tolerance", "f8"),
        ("dual_tolerance", "f8"),
        ("zero_tolerance", "f8"),
        ("pivot_tolerance", "f8"),
        ("progress_tolerance", "f8"),
        ("cycle_tolerance", "i4"),
        ("iteration_limit", "i4"),
    ],
    align=True,
)

#: Of its fields, in order: other numbers are in another layout.
DEFAULTS = (1e-6, 1e-12, 1e-11, 1e-8, 1e-14, 10, 10_000)

#: What compiled code needs to know of a solver.
SOLVER = np.dtype(
    [("problem", "u8"), ("result", "u8"), ("workspace", "u8"), ("settings", "u8")], align=True
)

llvmlite.binding.load_library_permanently(daqp.__file__)
_library = ctypes.CDLL(daqp.__file__)

_update_ldp: Any = types.ExternalFunction(
    "daqp_update_ldp", types.int32(types.int32, types.voidptr, types.voidptr)
)
_solve: Any = types.ExternalFunction("daqp_solve", types.void(types.voidptr, types.voidptr))


class SolverError(TorquedError):
    """DAQP has an unknown version, or does not compute what it should."""


class LeastDistance:
    """Memory for problems of up to n variables and m constraints; one thread at a time."""

    def __init__(self, n: int, m: int, iterations: int, tolerance: float = 1e-9) -> None:
        self.A = np.zeros(max(1, n * m))  # (m, n) row by row, for the current n and m
        self.lower, self.upper = np.full(m, -UNBOUNDED), np.full(m, UNBOUNDED)
        self.sense = np.full(m, IGNORED, np.int32)
        self.u, self.dual = np.zeros(n), np.zeros(m)
        self.problem = np.zeros(1, PROBLEM)
        self.result = np.zeros(1, RESULT)
        self._workspace = np.zeros(_WORKSPACE_BYTES // 8, np.uint64)
        self.problem["n"], self.problem["m"] = n, m
        for field, array in (
            ("A", self.A),
            ("upper", self.upper),
            ("lower", self.lower),
            ("sense", self.sense),
        ):
            self.problem[field] = array.ctypes.data
        self.result["x"], self.result["dual"] = self.u.ctypes.data, self.dual.ctypes.data
        self.record = np.zeros(1, SOLVER)
        self.record["problem"] = self.problem.ctypes.data
        self.record["result"] = self.result.ctypes.data
        self.record["workspace"] = self._workspace.ctypes.data
        settings = self._settings()
        self.record["settings"] = settings.ctypes.data
        settings["iteration_limit"] = iterations
        settings["primal_tolerance"] = tolerance
        workspace = ctypes.c_void_p(self._workspace.ctypes.data)
        flag = _library.setup_daqp(ctypes.c_void_p(self.problem.ctypes.data), workspace, None)
        if flag < 0:
            raise SolverError(f"cannot set up DAQP for {n} variables: exit flag {flag}")
        self._free = weakref.finalize(self, _free_workspace, self._workspace)

    def solve(self, n: int, m: int) -> int:
        """`least_distance` for Python: the exit flag, with u and dual filled."""
        self.problem["n"], self.problem["m"] = n, m
        workspace = ctypes.c_void_p(self._workspace.ctypes.data)
        problem = ctypes.c_void_p(self.problem.ctypes.data)
        flag: int = _library.daqp_update_ldp(_UPDATE, workspace, problem)
        if flag < 0:
            return flag
        _library.daqp_solve(ctypes.c_void_p(self.result.ctypes.data), workspace)
        return int(self.result["exit_flag"][0])

    def _settings(self) -> NDArray[np.void]:
        """DAQP's settings, which it allocates: the only word that it writes into a workspace."""
        _library.allocate_daqp_settings(ctypes.c_void_p(self._workspace.ctypes.data))
        places = self._workspace[self._workspace != 0]
        if len(places) != 1:
            raise SolverError(f"DAQP {_version()}: unexpected workspace layout")
        buffer = (ctypes.c_char * SETTINGS.itemsize).from_address(int(places[0]))
        settings = np.frombuffer(memoryview(buffer), SETTINGS)
        if settings[0].item() != DEFAULTS:
            raise SolverError(f"DAQP {_version()}: unexpected settings {settings[0].item()}")
        return settings


def _free_workspace(workspace: NDArray[np.uint64]) -> None:
    address = ctypes.c_void_p(workspace.ctypes.data)
    _library.free_daqp_workspace(address)
    _library.free_daqp_ldp(address)


@kernel
def least_distance(solver, n, m):
    """Solve for n variables and m constraints in the solver's arrays. Returns the exit flag.

    `sense` says which constraints are equalities, are to be ignored or are active at the start.
    """
    problem = carray(pointer(solver.problem), 1, PROBLEM)[0]
    result = carray(pointer(solver.result), 1, RESULT)[0]
    problem.n = n
    problem.m = m
    result.iterations = 0
    flag = _update_ldp(_UPDATE, pointer(solver.workspace), pointer(solver.problem))
    if flag < 0:
        dual = carray(pointer(result.dual), m, np.float64)
        for k in range(m):
            dual[k] = 0.0
        return flag
    _solve(pointer(solver.result), pointer(solver.workspace))
    return result.exit_flag


@kernel
def limit_iterations(solver, most):
    """Limit the iterations of the next solutions."""
    carray(pointer(solver.settings), 1, SETTINGS)[0].iteration_limit = most


@kernel
def iteration_limit(solver):
    """Iterations that the next solution may take."""
    return carray(pointer(solver.settings), 1, SETTINGS)[0].iteration_limit


@kernel
def iterations_of(solver):
    return carray(pointer(solver.result), 1, RESULT)[0].iterations


def _version() -> str:
    return importlib.metadata.version("daqp")


@cache
def require_daqp() -> None:
    """Raises unless the installed DAQP computes what is expected through these records."""
    version = _version()
    if not OLDEST <= tuple(map(int, version.split(".")[:2])) <= NEWEST:
        oldest, newest = (".".join(map(str, known)) for known in (OLDEST, NEWEST))
        raise SolverError(f"DAQP {version} is not supported: install {oldest} to {newest}")
    solver = LeastDistance(3, 4, 100)
    # u₀ + u₁ = 2 and u₂ ≥ 1 hold with equality, −5 ≤ u₀ ≤ 0.25 at its upper end, u₁ ≤ 9 not.
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for _ in range(2):  # the second time in memory that has been used
        solver.A[: rows.size] = rows.ravel()
        solver.lower[:], solver.upper[:] = [2.0, 2.0, -5.0, -9.0], [2.0, UNBOUNDED, 0.25, 9.0]
        solver.sense[:] = [EQUALITY, INEQUALITY, INEQUALITY, INEQUALITY]
        flag = solver.solve(3, 4)
        u, dual = np.round(solver.u, 9).tolist(), np.round(solver.dual, 9).tolist()
        if (flag, u, dual) != (OPTIMAL, [0.25, 1.75, 1.0], [-1.75, -0.5, 1.5, 0.0]):
            raise SolverError(
                f"DAQP {version} fails a known problem (exit flag {flag}, found {u} "
                f"with multipliers {dual}): this version is not supported"
            )
