"""Rigid-body dynamics of robots: load a model, compute with it, all compiled.

`Robot` is the face; `errors` has what it raises. Names are loaded when they are asked for: to look
a robot up in the catalog, no program waits for the kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from torqued.common.errors import InputError, ModelError, ModelWarning, NumericalError, TorquedError

if TYPE_CHECKING:
    from torqued.kernels.charts.user import Custom
    from torqued.kernels.constraints.types import Loop, Rows
    from torqued.kernels.contacts.types import Contact, Wrench
    from torqued.kernels.inverse_kinematics.targets import Target
    from torqued.kernels.model.description import (
        Description,
        Inertia,
        Joint,
        Limits,
        Link,
        Mimic,
        Pose,
    )
    from torqued.kernels.robot.robot import Robot

__all__ = [
    "Contact",
    "Custom",
    "Description",
    "Inertia",
    "InputError",
    "Joint",
    "Limits",
    "Link",
    "Loop",
    "Mimic",
    "ModelError",
    "ModelWarning",
    "NumericalError",
    "Pose",
    "Robot",
    "Rows",
    "Target",
    "TorquedError",
    "Wrench",
]

_HOMES = {
    "Contact": "torqued.kernels.contacts.types",
    "Custom": "torqued.kernels.charts.user",
    **dict.fromkeys(
        ("Description", "Inertia", "Joint", "Limits", "Link", "Mimic", "Pose"),
        "torqued.kernels.model.description",
    ),
    "Loop": "torqued.kernels.constraints.types",
    "Robot": "torqued.kernels.robot.robot",
    "Rows": "torqued.kernels.constraints.types",
    "Target": "torqued.kernels.inverse_kinematics.targets",
    "Wrench": "torqued.kernels.contacts.types",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("torqued"):
            raise
        raise ModuleNotFoundError(
            f"torqued.kernels.{name} needs {error.name}, which is not installed; "
            "install the 'server' extra: pip install 'torqued[server]'",
            name=error.name,
        ) from None
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
