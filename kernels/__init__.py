"""Rigid-body dynamics of robots: load a model, compute with it, all compiled.

`Robot` is the face; `errors` has what it raises.
"""

from torqued.kernels.charts import Custom
from torqued.kernels.contacts import Contact, Wrench
from torqued.kernels.errors import (
    InputError,
    ModelError,
    ModelWarning,
    NumericalError,
    TorquedError,
)
from torqued.kernels.robot import Robot

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
