"""One result of a controller: observer, law, limits. What the loop runs at each tick."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.extending import intrinsic

from torqued.common.status import CLAMPED, NONFINITE, SOLVER
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.records import CONTROL
from torqued.kernels.control.session_arrays import arrays_of, sizes_of
from torqued.kernels.primitives.layout import WORK

#: s since the last torque of a controller that is asked once: no limit of rates applies.
NEVER = 1e9

CONTROLS = typeof(np.zeros(1, CONTROL).view(np.recarray))


@intrinsic
def call_law(typing: Any, function: Any, handle: Any, control: Any) -> Any:
    """Call the C function at an address: a law, see `law` in law.py."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word, word])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(types.uint64, types.int64, types.uint64), generate


@kernel
def evaluate(handle, control, data):
    """The observer, then the law. Returns status bits; NONFINITE and SOLVER: not to be used.

    What cannot be used leaves no trace in what law and observer remember.
    """
    keep_memory(control, data)
    if control.observer != 0:
        call_law(control.observer, handle, control.address)
    status = call_law(control.law, handle, control.address)
    for k in range(len(data.out)):
        if not math.isfinite(data.out[k]):
            status |= NONFINITE
    if status & NONFINITE:
        data.out[:] = 0.0
    if status & (NONFINITE | SOLVER):
        restore_memory(control, data)
    return status


@kernel
def keep_memory(control, data):
    """Put what is remembered aside."""
    n = control.remembered
    for k in range(n):
        data.kept[k] = data.memory[k]
    for k in range(len(data.observer)):
        data.kept[n + k] = data.observer[k]


@kernel
def restore_memory(control, data):
    """Bring it back."""
    n = control.remembered
    for k in range(n):
        data.memory[k] = data.kept[k]
    for k in range(len(data.observer)):
        data.observer[k] = data.kept[n + k]


@kernel
def limit(sizes, data, period):
    """Cut torques to their limits and to the limits of their rates. Returns status bits."""
    status = 0
    for k in range(sizes.unactuated):
        data.out[k] = 0.0
    for k in range(sizes.unactuated, sizes.torques):
        x = data.out[k]
        step = data.rate[k] * period
        x = min(max(x, data.last[k] - step), data.last[k] + step)
        x = min(max(x, -data.effort[k]), data.effort[k])
        if x != data.out[k]:
            status = CLAMPED
        data.out[k] = x
        data.last[k] = x
    return status


@entry(WORK, CONTROLS)
def evaluate_once(handle, controls):
    """One result outside of the loop. Returns status bits."""
    control = controls[0]
    sizes, data = sizes_of(control), arrays_of(control)
    status = evaluate(handle, control, data) | limit(sizes, data, NEVER)
    control.cut = 1 if status & CLAMPED else 0
    return status
