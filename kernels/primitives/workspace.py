"""Scratch memory for a model, and how an entry finds it.

Handing all arrays of a workspace from Python to compiled code would cost 0.05 µs and more. Entries
take one number, the address that leads to them (arrays.py).
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from torqued.common.errors import TorquedError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.compilation.numba_internals import cgutils
from torqued.kernels.primitives.arrays import Layout
from torqued.kernels.primitives.layout import BODY, COORDINATES, WORLD, Work, WorkSizes

WORK_LAYOUT = Layout(Work, WorkSizes, at_once=True)

#: The arrays behind a handle: the first line of every entry.
open_work = WORK_LAYOUT.open


class OwnershipError(TorquedError):
    """A thread wants to compute in memory that belongs to another one."""


class Workspace:
    """The scratch memory of one thread at a time, for one model.

    Kernels with different workspaces may run in parallel. They share the model, which nothing
    writes to.
    """

    def __init__(self, world: NDArray[np.void], bodies: NDArray[np.void]) -> None:
        sizes = WorkSizes(
            bodies=len(bodies),
            columns=int(sum(bodies["columns"])),
            coordinates=int(sum(COORDINATES[bodies["kind"]])),
        )
        body_of = np.repeat(np.arange(len(bodies)), bodies["columns"])
        ends = np.array(bodies["end"][body_of])
        model = {"world": world, "bodies": bodies, "body_of": body_of, "ends": ends}
        body_of.flags.writeable = ends.flags.writeable = False
        self._memory = WORK_LAYOUT.allocate(sizes, given=model)
        self.arrays: Work = self._memory.arrays
        #: What entries take. Valid as long as this object lives.
        self.handle: int = self._memory.address


class LoopWorkspace:
    """A workspace that only the thread of a loop ever gets.

    It is not a `Workspace`, so that no robot computes in it. The thread that is to compute in it
    takes its handle with `claim` and owns it until it ends: no other can have it before.
    """

    def __init__(self, world: NDArray[np.void], bodies: NDArray[np.void]) -> None:
        self._work = Workspace(world, bodies)
        self._lock = threading.Lock()
        self.owner: threading.Thread | None = None

    def claim(self) -> int:
        """The handle, for the calling thread, which owns the workspace from now on."""
        caller = threading.current_thread()
        with self._lock:
            if self.owner not in (None, caller) and self.owner.is_alive():
                raise OwnershipError(
                    f"thread {caller.name!r} cannot have this workspace, "
                    f"it belongs to thread {self.owner.name!r}"
                )
            self.owner = caller
        return self._work.handle


@kernel
def block_of(position):
    """The block that holds a place on the path. Shifts, because a signed division is slower."""
    return position >> 2


@kernel
def lane_of(position):
    """Its lane within that block."""
    return position & 3


@intrinsic
def pointer(typing: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


def unbranched(columns: int) -> Workspace:
    """A workspace whose every pair of columns is related: for factoring dense matrices."""
    bodies = np.zeros(columns, BODY).view(np.recarray)
    bodies.parent = np.arange(-1, columns - 1)
    bodies.column = bodies.depth = np.arange(columns)
    bodies.columns = 1
    bodies.above = -1
    bodies.end = columns
    return Workspace(np.zeros(1, WORLD), bodies)
