"""Arrays of the quantities for compiled code: where they lie in one stretch of memory, and how
those of the tree with mimic joints free become the robot's.

Both functions are written out from the table of quantities.py, a line or two for each row, since
compiled code cannot loop over arrays of different dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.dynamics.mimic import (
    project_matrix,
    project_rows,
    project_tensor,
    project_vector,
)
from torqued.kernels.dynamics.quantities import (
    NAMES,
    TABLE,
    Quantities,
    Quantity,
    filled_by,
)
from torqued.kernels.primitives.workspace import pointer

#: Where the written-out functions find what they call.
SCOPE: dict[str, Any] = {
    "__name__": __name__,
    "Quantities": Quantities,
    "carray": carray,
    "float64": np.float64,
    "int64": np.int64,
    "pointer": pointer,
    "project_matrix": project_matrix,
    "project_rows": project_rows,
    "project_tensor": project_tensor,
    "project_vector": project_vector,
}


def opening() -> str:
    """Source of `quantities_at`."""
    lines = ["def quantities_at(address, want, nv, frames):", "    at = int64(address)"]
    for quantity in TABLE:
        shape = "".join(f"{size} * here, " for size in quantity.whole_shape)
        lines += [
            f"    here = 1 if want & {filled_by(quantity)} else 0",
            f"    {quantity.name} = carray(pointer(at), ({shape}), float64)",
            f"    at += 8 * {quantity.name}.size",
        ]
    return "\n".join([*lines, f"    return Quantities({', '.join(NAMES)})"])


def projecting() -> str:
    """Source of `project_quantities`."""
    lines = ["def project_quantities(index, multiplier, want, free, out):"]
    for quantity in TABLE:
        lines.append(f"    if want & {filled_by(quantity)}:")
        lines += [f"        {line}" for line in projection_lines(quantity)]
    return "\n".join(lines)


def projection_lines(quantity: Quantity) -> list[str]:
    name = quantity.name
    if quantity.projection == "none":
        return [
            f"x, y = free.{name}.reshape(-1), out.{name}.reshape(-1)",
            "for k in range(len(x)): y[k] = x[k]",
        ]
    call = f"project_{quantity.projection}(index, multiplier, free.{name}{{0}}, out.{name}{{0}})"
    if quantity.per_frame:
        return [f"for k in range(len(out.{name})): {call.format('[k]')}"]
    return [call.format("")]


def written_out(source: str) -> Any:
    """The compiled function of a source text."""
    made: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), SCOPE, made)
    (function,) = made.values()
    return kernel(function)


#: (address, want, nv, frames) → `Quantities` at an address, one after the other as in `shapes`.
quantities_at = written_out(opening())

#: (index, multiplier, want, free, out): quantities of the free tree as the robot's, by projection.
project_quantities = written_out(projecting())
