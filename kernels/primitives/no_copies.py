"""Objects whose address compiled code has: their copies would lead to the memory of the original,
which may be gone."""

from __future__ import annotations

import copyreg
from typing import Any, NoReturn

from torqued.kernels.primitives.arrays import Memory
from torqued.kernels.primitives.workspace import Workspace


def refuse_copy(value: Any) -> NoReturn:
    """What `copy` and `pickle` call in place of copying."""
    kind = type(value).__name__
    raise TypeError(f"a {kind} cannot be copied or pickled, compiled code has its address")


copyreg.pickle(Memory, refuse_copy)
copyreg.pickle(Workspace, refuse_copy)
