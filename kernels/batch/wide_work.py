"""Scratch memory for several states at once: as primitives/workspace.py has it, with wide numbers.

The kernels of kernels/dynamics/ find the same names in it, and compute as many states as a number
is wide. Beside that it holds one chunk of states and results, a state in each lane, on their way
from and to the arrays of a batch (transposition.py).
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.dynamics.quantities import TABLE
from torqued.kernels.primitives.arrays import Indices, Layout, Records, array
from torqued.kernels.primitives.layout import (
    AUXILIARY,
    BODY,
    COLUMN,
    FLOATING,
    SPHERICAL,
    STATE,
    WORLD,
)
from torqued.kernels.primitives.wide import NUMBER, wide_element, widened

#: Where the quaternion begins in the coordinates of a joint that has one.
QUATERNION_AT = {SPHERICAL: 0, FLOATING: 3}

#: What sizes of quantities are called here.
COLUMNS_AND_FRAMES: dict[str, str | int] = {"nv": "columns", "frames": 1}

#: What derivatives need of a column beside S, as derivatives/space.py names it.
DERIVED = np.dtype(
    [
        ("rate", "f8", (6,)),  # Ṡ + Ψ̇
        ("second", "f8", (6,)),  # Ψ̈
        ("spin", "f8", (3,)),  # the angular part of Ψ̇
    ],
    align=True,
)


class WideSizes(NamedTuple):
    """Of a model."""

    bodies: int
    columns: int
    coordinates: int
    quaternions: int


class Scratch(NamedTuple):
    """The model, its scratch memory, and one chunk of a batch."""

    # The model, shared by all workspaces.
    world: Records = array(WORLD, 1)
    bodies: Records = array(BODY, "bodies")
    body_of: Indices = array(int, "columns")
    quaternions: Indices = array(int, "quaternions")  # where each begins in q
    # Scratch, as `Work` has it.
    origin: Records = array(NUMBER, 3)
    states: Records = array(widened(STATE), "bodies")
    auxiliary: Records = array(widened(AUXILIARY), "bodies")
    columns: Records = array(widened(COLUMN), "columns")
    # A chunk: what comes in, and what goes out.
    q: Records = array(NUMBER, "coordinates")
    v: Records = array(NUMBER, "columns")
    a: Records = array(NUMBER, "columns")
    x: Records = array(NUMBER, "columns")
    small: Records = array(NUMBER, 6)
    wrench: Records = array(NUMBER, 1, 6)
    # Entries of pairs of columns that are not on one path stay the zeros that they are made of.
    M: Records = array(NUMBER, "columns", "columns")  # the lower triangle
    C: Records = array(NUMBER, "columns", "columns")
    # Derivatives (derivatives.py), zeros likewise but for the last two.
    derived: Records = array(widened(DERIVED), "columns")
    dq: Records = array(NUMBER, "columns", "columns")
    dv: Records = array(NUMBER, "columns", "columns")
    inverse: Records = array(NUMBER, "columns", "columns")
    product: Records = array(NUMBER, "columns", "columns")


#: Beside those, an array for each quantity that is not a matrix of pairs of columns, of one frame.
_declared = Scratch._field_defaults | {
    quantity.name: array(
        NUMBER, *(COLUMNS_AND_FRAMES.get(str(size), size) for size in quantity.whole_shape)
    )
    for quantity in TABLE
    if quantity.shape.count("nv") < 2
}
WideWork: Any = namedtuple("WideWork", _declared, defaults=_declared.values())  # type: ignore[misc]  # names from a table

#: Bytes between the memory of two threads. A processor that goes through columns of a matrix asks
#: for lines that would come next, far beyond its end, and takes them from the one that computes
#: with them: side by side, two threads take a sixth longer.
APART = 64 * 1024

WIDE_LAYOUT: Layout[Any, WideSizes] = Layout(
    WideWork, WideSizes, wide_element, at_once=True, apart=APART
)

#: The arrays behind a handle.
open_wide = WIDE_LAYOUT.open


class WideWorkspace:
    """The scratch memory of one thread at a time, for one model."""

    def __init__(self, world: NDArray[np.void], bodies: NDArray[np.void], nq: int) -> None:
        starts = [
            int(body["q"]) + QUATERNION_AT[int(body["kind"])]
            for body in bodies
            if int(body["kind"]) in QUATERNION_AT
        ]
        sizes = WideSizes(
            bodies=len(bodies),
            columns=int(sum(bodies["columns"])),
            coordinates=nq,
            quaternions=len(starts),
        )
        body_of = np.repeat(np.arange(len(bodies)), bodies["columns"])
        quaternions = np.array(starts, np.int64)
        given = {
            "world": world,
            "bodies": bodies,
            "body_of": body_of,
            "quaternions": quaternions,
        }
        self._memory = WIDE_LAYOUT.allocate(sizes, given=given)
        #: What entries take. Valid as long as this object lives.
        self.handle: int = self._memory.address
