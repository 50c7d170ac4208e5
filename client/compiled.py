"""Which way exchanges go: through compiled code where that was built, or through Python alone.

`torqued.client._native` (native/) is built with the package where there is a C compiler. Both ways
do the same.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: Of the compiled part that goes with these modules: native/module.c has the same number.
VERSION = 3
#: Set to 1, everything is done in Python.
VARIABLE = "TORQUED_PURE_PYTHON"


def native() -> ModuleType | None:
    """The compiled part, or None where Python does it all."""
    return None if os.environ.get(VARIABLE, "0") != "0" else _built()


@cache
def _built() -> ModuleType | None:
    try:
        built = import_module("torqued.client._native")
    except ImportError:  # no compiler was there, or not of this machine
        return None
    if built.VERSION != VERSION:
        warnings.warn(
            f"{built.__file__} was built from other sources and is not used: install anew",
            stacklevel=3,
        )
        return None
    return built
