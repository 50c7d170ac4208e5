"""What compiled code knows of quantities: a bit and an array for each row of their table.

The table is in common/results.py.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common import results
from torqued.common.results import Quantity as Quantity

Array = NDArray[np.float64]
Shape = tuple[int, ...]


TABLE = results.QUANTITIES
QUANTITIES = {quantity.name: quantity for quantity in TABLE}
NAMES = tuple(QUANTITIES)

#: Name → bit in what kernels are asked for.
WANTS = {name: 1 << k for k, name in enumerate(NAMES)}

#: Where results go: one array for each row of the table, of size 0 where it is not wanted.
Quantities: Any = namedtuple("Quantities", NAMES)  # type: ignore[misc]  # names from the table

#: The same names, with bits: what compiled code asks `want` for.
Bits: Any = namedtuple("Bits", NAMES)  # type: ignore[misc]  # likewise
BIT: Any = Bits(*WANTS.values())


def bits_of(names: Iterable[str]) -> int:
    bits = 0
    for name in names:
        bits |= WANTS[name]
    return bits


def bits_that_need(what: str) -> int:
    return bits_of(quantity.name for quantity in TABLE if what in quantity.needs)


def filled_by(quantity: Quantity) -> int:
    """Any of these bits, and the quantity is computed."""
    return bits_of([quantity.name, *quantity.brought_by])


NEED_VELOCITY = bits_that_need("velocity")
NEED_FACTORS = bits_that_need("factors")
NEED_INERTIAS = bits_that_need("inertias")
NEED_FRAMES = bits_that_need("frames")


def shapes(want: int, nv: int, frames: int) -> dict[str, Shape]:
    """Arrays that come where these are wanted, in order; M, Mdot and C come together."""
    return {q.name: sized(q, nv, frames) for q in TABLE if want & filled_by(q)}


@cache
def sized(quantity: Quantity, nv: int, frames: int) -> Shape:
    sizes = {"nv": nv, "frames": frames}
    return tuple(sizes[x] if isinstance(x, str) else x for x in quantity.whole_shape)


def quantities(want: int, nv: int, frames: int) -> Any:
    """Zeroed arrays for what is wanted, as `Quantities`."""
    come = shapes(want, nv, frames)
    nothing = {q.name: (0,) * len(q.whole_shape) for q in TABLE}
    return Quantities(*(np.zeros(shape) for shape in (nothing | come).values()))
