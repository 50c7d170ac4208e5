"""Results by name, of requests and of calls in process: `r.M`, also `r["M"]` and `"M" in r`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"


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
        return f"{type(self).__name__}({', '.join(self.__dict__)})"

    def as_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


class Dynamics(Result):
    """The quantities in `want`, in SI units, rows in v's order."""

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
