"""Results by name, of a request as of a call in process: `r.M`, also `r["M"]` and `"M" in r`.

With the table of quantities, which can be asked for by name, many from one walk over the tree:
`Robot.dynamics`, batches, streams, charts, both clients, the daemon's limits and docs/PROTOCOL.md
go by it. To add one, add its row to the end of `QUANTITIES` and its line to `Dynamics`, and the
lines that compute it to kernels/dynamics/selected_quantities.py; a test fails until
docs/PROTOCOL.md has the row too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"

#: Entries of an array or list that are printed in full; a pose has 16.
MAX_SHOWN = 16


class Result:
    """Fields that are attributes."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no {name!r} in this result, which has {', '.join(self.__dict__)}")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be set: results are read-only")

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __repr__(self) -> str:
        fields = (f"{name}={_shown(value)}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({', '.join(fields)})"

    def as_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


def _shown(value: Any) -> str:
    """A value on one line: a short one in full, a large array or list by its size."""
    if hasattr(value, "shape"):
        numbers = " ".join(str(value).split())
        return numbers if value.size <= MAX_SHOWN else f"<array {value.shape}>"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        if len(value) > MAX_SHOWN:
            return f"<list of {len(value)}>"
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


class Kinematics(Result):
    """Of frames, by their names. Those from `velocity` on come with their order."""

    pose: dict[str, Array]  # (4, 4), to the world
    J: dict[str, Array]  # (6, nv), rows [angular; linear]
    Jdot_v: dict[str, Array]  # (6,) rad/s², m/s²; where v was given, without an order
    velocity: dict[str, Array]  # (6,) rad/s, m/s
    acceleration: dict[str, Array]  # (6,) rad/s², m/s²
    Jdot: dict[str, Array]  # (6, nv) per s
    jerk: dict[str, Array]  # (6,) rad/s³, m/s³
    Jddot: dict[str, Array]  # (6, nv) per s²


class Quantity(NamedTuple):
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


QUANTITIES = (
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

#: There is one of each for every frame.
OF_FRAMES = tuple(quantity.name for quantity in QUANTITIES if quantity.per_frame)


class Dynamics(Result):
    """Those quantities that `want` named. M, C and the like in SI units, rows in v's order."""

    M: Array  # (nv, nv) mass matrix
    Mdot: Array  # (nv, nv) its rate
    C: Array  # (nv, nv) Coriolis matrix of the Christoffel symbols: Mdot = C + Cᵀ
    Gamma: Array  # (nv, nv, nv) Christoffel symbols: C_ij = Σ_k Γ_ijk v_k
    g: Array  # (nv,) N m, gravity torque
    bias: Array  # (nv,) N m, C v + g
    energy: Array  # (2,) J, kinetic and potential
    com: Array  # (3,) m, center of mass in the world
    momentum: Array  # (6,) N m s, N s, centroidal
    J: dict[str, Array]  # frame → (6, nv), rows [angular; linear]
    Jdot_v: dict[str, Array]  # frame → (6,) rad/s², m/s²
    pose: dict[str, Array]  # frame → (4, 4), to the world
