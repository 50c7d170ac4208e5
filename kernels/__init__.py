"""Rigid-body dynamics of robots: load a model, compute with it, all compiled.

`Robot` is the face; `errors` has what it raises.
"""

from torqued.common.errors import (
    InputError,
    ModelError,
    ModelWarning,
    NumericalError,
    TorquedError,
)
from torqued.kernels.charts import Custom
from torqued.kernels.contacts.types import Contact, Wrench
from torqued.kernels.robot.robot import Robot

__all__ = [
    "Contact",
    "Custom",
    "InputError",
    "ModelError",
    "ModelWarning",
    "NumericalError",
    "Robot",
    "TorquedError",
    "Wrench",
]
