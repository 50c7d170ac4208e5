"""The steps of a tick, as compiled code takes them: through addresses in the controller's record.

    put_on → follow → evaluate → guard
    payload  references/  evaluation.py

Each is an entry, compiled once and by itself. Compiled into its callers, arithmetic that may be
reordered would be so in another way in each of them: the loop, `Controller.step` and a replay would
differ in the last bits. And the loop need not be compiled again when one of them changes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torqued.kernels.compilation.jit import address_of, kernel

#: Fields of the record in control_record.py, and the entries whose addresses they hold.
STEPS = {
    "put_on": "put_payload_on",
    "follow": "follow_references",
    "evaluate": "evaluate_law",
    "guard": "guard_torques",
    "watch": "watch_torques",
}


def fill_steps(record: Any) -> None:
    """Where compiled code finds them."""
    for field, name in STEPS.items():
        record[field] = address_of(name)


@intrinsic
def call_law(typing: Any, function: Any, handle: Any, control: Any) -> Any:
    """Call the C function at an address: a law, see `law` in law.py, or a step like one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        return _call(builder, args, [word, word])

    return types.int64(types.uint64, types.int64, types.uint64), generate


@intrinsic
def call_timed(typing: Any, function: Any, handle: Any, control: Any, dt: Any) -> Any:
    """The same for a step that takes the time since the last one, s."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        return _call(builder, args, [word, word, ir.DoubleType()])

    return types.int64(types.uint64, types.int64, types.uint64, types.float64), generate


def _call(builder: Any, args: Any, parameters: list[Any]) -> Any:
    kind = ir.FunctionType(ir.IntType(64), parameters)
    return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])


@kernel
def put_on(handle, control):
    """Add the session's payload to the bodies of a workspace that is not the model's own."""
    call_law(control.put_on, handle, control.address)


@kernel
def follow(handle, control, dt):
    """Fill in the references of this tick, dt s after the last. Returns status bits."""
    return call_timed(control.follow, handle, control.address, dt)


@kernel
def evaluate(handle, control):
    """The observer and the law. Returns status bits; NONFINITE and SOLVER: not to be used."""
    return call_law(control.evaluate, handle, control.address)


@kernel
def guard(handle, control, dt, has_state):
    """What keeps any torque safe. Returns status bits."""
    control.has_state = 1 if has_state else 0
    return call_timed(control.guard, handle, control.address, dt)


@kernel
def watch(control, dt):
    """Look for oscillation in the torques of this tick. Returns status bits."""
    return call_timed(control.watch, 0, control.address, dt)
