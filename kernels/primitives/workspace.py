"""Scratch memory for a model, and how an entry finds it.

Handing an array from Python to compiled code costs 0.05 µs. A workspace therefore puts the
addresses of its six arrays into one record, and entries take the address of that record.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numba import carray, types
from numba.core import cgutils, config
from numba.extending import intrinsic
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.lanes import LANES
from torqued.kernels.primitives.layout import ADDRESSES, BODY, COLUMN, PATH, STATE, WORLD, Work


class Workspace:
    """Kernels with different workspaces may run in parallel."""

    def __init__(self, world: NDArray[np.void], bodies: NDArray[np.void]) -> None:
        count = int(sum(bodies["columns"]))
        deepest = int(max(bodies["depth"] + bodies["columns"], default=0))
        columns = np.zeros(count, COLUMN).view(np.recarray)
        columns.body = np.repeat(np.arange(len(bodies)), bodies["columns"])
        self.arrays = Work(
            world.copy().view(np.recarray),
            bodies,
            np.zeros(len(bodies), STATE).view(np.recarray),
            columns,
            np.zeros(-(-deepest // LANES) + 1, PATH).view(np.recarray),
            np.zeros((count, count, LANES)),
        )
        self._addresses = np.zeros(1, ADDRESSES)
        for name, array in self.arrays._asdict().items():
            self._addresses[name] = array.ctypes.data
        self._addresses["body_count"] = len(bodies)
        self._addresses["column_count"] = count
        self._addresses["block_count"] = len(self.arrays.path)
        #: What entries take. Valid as long as this object lives.
        self.handle: int = self._addresses.ctypes.data
        _WORKSPACES[self.handle] = self


_WORKSPACES: WeakValueDictionary[int, Workspace] = WeakValueDictionary()


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


@kernel
def _compiled_open(handle):
    a = carray(pointer(handle), 1, ADDRESSES)[0]
    return Work(
        carray(pointer(a.world), 1, WORLD),
        carray(pointer(a.bodies), a.body_count, BODY),
        carray(pointer(a.states), a.body_count, STATE),
        carray(pointer(a.columns), a.column_count, COLUMN),
        carray(pointer(a.path), a.block_count, PATH),
        carray(pointer(a.pair), (a.column_count, a.column_count, LANES), np.float64),
    )


def _plain_open(handle: int) -> Work:
    return _WORKSPACES[handle].arrays


#: The arrays behind a handle: the first line of every entry.
open_work = _plain_open if config.DISABLE_JIT else _compiled_open


def unbranched(columns: int) -> Workspace:
    """A workspace whose every pair of columns is related: for factoring dense matrices."""
    bodies = np.zeros(columns, BODY).view(np.recarray)
    bodies.parent = np.arange(-1, columns - 1)
    bodies.column = bodies.depth = np.arange(columns)
    bodies.columns = 1
    bodies.above = -1
    bodies.end = columns
    return Workspace(np.zeros(1, WORLD), bodies)
