"""Second derivatives of inverse dynamics, here and in Pinocchio's C++.

Pinocchio's Python package does not have them. second_order.cpp is compiled against the headers
that come with it, where there is a compiler and Eigen, and kept beside the compiled kernels; its
function is called as Pinocchio's others are, from Python with a state that is there already.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from torqued.benchmarks.timing import Call
from torqued.common.errors import TorquedError
from torqued.kernels.compilation.cache_folder import cache_root, prepare_folder
from torqued.kernels.compilation.entries import COMPILED

if TYPE_CHECKING:
    from torqued.benchmarks.robots import Case

Array = NDArray[np.float64]

KERNEL = "second_order"

SOURCE = Path(__file__).with_name("second_order.cpp")

#: For this processor, as our kernels are. Nothing of Pinocchio's library is linked, which was
#: compiled for any processor and has its vectors at other places; the definitions are those of its
#: CMake files.
OPTIONS = (
    *("-std=c++17", "-O3", "-DNDEBUG", "-march=native", "-shared", "-fPIC"),
    *("-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30"),
    *("-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"),
    "-Wl,-Bsymbolic",
)

#: s that the compiler may take.
COMPILE_TIMEOUT = 1200.0

RESULTS = ("∂²τ/∂q²", "∂²τ/∂v²", "∂²τ/∂q∂v", "∂M/∂q")


class NoPeerError(TorquedError):
    """Why Pinocchio's second-order derivatives cannot be had; the row is left out."""


def prefix() -> Path:
    """Where the package keeps its headers and libraries."""
    for place in Path(pin.__file__).parents:
        if (place / "include" / "pinocchio").is_dir():
            return place
    raise NoPeerError("Pinocchio's headers are not installed beside its Python package")


def eigen() -> Path:
    """Eigen's headers: of $EIGEN3_INCLUDE_DIR, of the package `cmeel-eigen`, of the system."""
    given = os.environ.get("EIGEN3_INCLUDE_DIR")
    installed = [prefix() / "include" / "eigen3", Path("/usr/include/eigen3")]
    places = [Path(given)] if given else [*installed, Path("/usr/local/include/eigen3")]
    for place in places:
        if (place / "unsupported" / "Eigen" / "CXX11" / "Tensor").is_file():
            return place
    looked = ", ".join(map(str, places))
    raise NoPeerError(
        f"Eigen's headers are in none of {looked}; set EIGEN3_INCLUDE_DIR to where they are"
    )


def library(compile_it: bool = True) -> Any:
    """Pinocchio's function, compiled where it is not there yet; raises `NoPeerError`."""
    place = prefix()
    headers = ["-I", str(place / "include"), "-I", str(eigen())]
    key = "\n".join([SOURCE.read_text(), pin.__version__, *OPTIONS, *headers])
    folder = cache_root() / "benchmarks"
    problem = prepare_folder(folder)
    if problem:
        raise NoPeerError(problem)
    target = folder / f"second_order-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    if not target.exists():
        if not compile_it:
            raise NoPeerError("its C++ is not compiled yet, which a run without --quick does")
        compile_library(target, [*OPTIONS, *headers, str(SOURCE)])
    return declared(ctypes.CDLL(str(target)))


def compile_library(target: Path, arguments: list[str]) -> None:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise NoPeerError("there is no C++ compiler (g++, or what CXX names)")
    made = target.with_suffix(f".{os.getpid()}")
    command = [compiler, *arguments, "-o", str(made)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise NoPeerError(f"{compiler} took longer than {COMPILE_TIMEOUT:.0f} s") from None
    if done.returncode != 0:
        faults = [line for line in done.stderr.splitlines() if "error" in line]
        raise NoPeerError(f"{compiler}: {faults[0] if faults else done.stderr.strip()[-300:]}")
    made.replace(target)


def declared(found: Any) -> Any:
    """With the types of its functions."""
    handle, numbers = ctypes.c_void_p, ctypes.c_void_p
    for name, result, arguments in (
        ("new", handle, []),
        ("joint", ctypes.c_int, [handle, ctypes.c_int, ctypes.c_char_p, numbers, numbers, numbers]),
        ("ready", ctypes.c_int, [handle]),
        ("state", None, [handle, numbers, numbers, numbers]),
        ("run", None, [handle, ctypes.c_int]),
        ("result", ctypes.POINTER(ctypes.c_double), [handle, ctypes.c_int]),
        ("delete", None, [handle]),
    ):
        function = getattr(found, f"second_order_{name}")
        function.restype, function.argtypes = result, arguments
    return found


def addresses(*arrays: Array) -> list[int]:
    return [array.ctypes.data for array in arrays]


class SecondOrderProblem:
    """Of one robot; calls are valid as long as it lives."""

    def __init__(self, case: Case, peer: Any) -> None:
        self._case, self._peer, n = case, peer, case.robot.nv
        self._found = np.zeros((4, n, n, n))
        self._handle = peer.second_order_new()
        for k in range(1, case.model.njoints):
            self._add_joint(case.model, k)
        if peer.second_order_ready(self._handle) != n:
            raise NoPeerError(f"{case.name}: the model has other velocities in C++")
        for state in case.pin_states:
            peer.second_order_state(self._handle, *addresses(state.q, state.v, state.a))

    def __del__(self) -> None:
        self._peer.second_order_delete(self._handle)

    def _add_joint(self, model: Any, k: int) -> None:
        placement, inertia, kind = model.jointPlacements[k], model.inertias[k], model.joints[k]
        where = np.hstack([placement.rotation.ravel(), placement.translation])
        turning = inertia.inertia[np.tril_indices(3)]  # xx xy yy xz yz zz
        body = np.array([inertia.mass, *inertia.lever, *turning])
        name = kind.shortname()
        axis = np.array(getattr(kind.extract(), "axis", np.zeros(3)))
        given = addresses(axis, where, body)
        parent = model.parents[k]
        if not self._peer.second_order_joint(self._handle, parent, name.encode(), *given):
            raise NoPeerError(f"{self._case.name}: {name} is not among the joints that it knows")

    def ours(self) -> list[Call]:
        here = self._case.robot.work.handle, self._case.space.address
        kernel = COMPILED.inverse_dynamics_second_derivatives
        return [(kernel, (*here, s.q, s.v, s.a, *self._found)) for s in self._case.states]

    def method(self) -> list[Call]:
        method = self._case.robot.inverse_dynamics_second_derivatives
        return [(method, (s.q, s.v, s.a)) for s in self._case.states]

    def pinocchio(self) -> list[Call]:
        run = self._peer.second_order_run
        return [(run, (self._handle, k)) for k in range(len(self._case.pin_states))]

    def results(self) -> list[tuple[str, Array, Array]]:
        """Of the last calls, here and there, in torqued's coordinates."""
        n, order = self._case.robot.nv, self._case.order
        out = []
        for k, what in enumerate(RESULTS):
            numbers = np.ctypeslib.as_array(
                self._peer.second_order_result(self._handle, k), (n**3,)
            )
            there = numbers.reshape(n, n, n, order="F")[np.ix_(order, order, order)]
            out.append((what, self._found[k], there))
        return out
