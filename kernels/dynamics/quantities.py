"""The quantities that can be asked for by name, many from one walk over the tree: one table.

`Robot.dynamics`, streams, charts and docs/PROTOCOL.md go by it. To add a
quantity, add its row to the end of `TABLE` and the line that computes it to `fill_quantities`
(selected_quantities.py); a test fails until docs/PROTOCOL.md has the row too.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Quantity:
    """One row.

    shape        in terms of "nv" and numbers; of one frame, where it `needs` frames
    needs        "velocity": depends on v; "inertias", "factors": which sweep over the composite
                 bodies has to come before; "frames": there is one for each frame
    brought_by   others that are never computed without it, and bring it along
    projection   from the tree with mimic joints free to the robot's own velocities: "vector" Gᵀ x,
                 "matrix" Gᵀ M G, "tensor" likewise for Γ, "rows" J G, or "none" (mimic.py)
    chart        what it becomes in other coordinates (charts/transformations.py)
    sparse       its kernel leaves zeros alone, so that its array has to be zeroed before
    """

    name: str
    shape: tuple[str | int, ...]
    unit: str
    meaning: str
    needs: tuple[str, ...] = ()
    brought_by: tuple[str, ...] = ()
    projection: str = "none"
    chart: str = "same"
    sparse: bool = False

    @property
    def per_frame(self) -> bool:
        return "frames" in self.needs

    @property
    def whole_shape(self) -> tuple[str | int, ...]:
        """That of the array with all frames."""
        return ("frames", *self.shape) if self.per_frame else self.shape


TABLE = (
    Quantity(
        "M",
        ("nv", "nv"),
        "kg m², kg m, kg",
        "mass matrix",
        needs=("inertias",),
        brought_by=("Mdot", "C"),
        projection="matrix",
        chart="mass",
    ),
    Quantity(
        "Mdot",
        ("nv", "nv"),
        "per s",
        "its rate Ṁ",
        needs=("velocity", "factors"),
        brought_by=("C",),
        projection="matrix",
        chart="mass_rate",
    ),
    Quantity(
        "C",
        ("nv", "nv"),
        "per s",
        "Coriolis matrix of the Christoffel symbols, Ṁ = C + Cᵀ",
        needs=("velocity", "factors"),
        brought_by=("Mdot",),
        projection="matrix",
        chart="coriolis",
    ),
    Quantity(
        "Gamma",
        ("nv", "nv", "nv"),
        "",
        "Christoffel symbols, C_ij = Σ_k Γ_ijk v_k",
        needs=("inertias",),
        projection="tensor",
        chart="christoffel",
        sparse=True,
    ),
    Quantity(
        "g",
        ("nv",),
        "N m, N",
        "gravity torque",
        needs=("inertias",),
        projection="vector",
        chart="torque",
    ),
    Quantity(
        "bias",
        ("nv",),
        "N m, N",
        "C v + g",
        needs=("velocity",),
        projection="vector",
        chart="bias",
    ),
    Quantity("energy", (2,), "J", "kinetic, potential", needs=("velocity",)),
    Quantity("com", (3,), "m", "center of mass, in the world"),
    Quantity("momentum", (6,), "N m s, N s", "centroidal momentum", needs=("velocity",)),
    Quantity(
        "J",
        (6, "nv"),
        "",
        "Jacobian of a frame",
        needs=("frames",),
        projection="rows",
        chart="jacobian",
    ),
    Quantity(
        "Jdot_v",
        (6,),
        "rad/s², m/s²",
        "J̇ v of a frame",
        needs=("velocity", "frames"),
        chart="frame_bias",
    ),
    Quantity(
        "pose", (4, 4), "m", "homogeneous transform of a frame to the world", needs=("frames",)
    ),
)

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
