"""One result of a controller, as the loop computes it at each tick.

references → observer → law → walls → low-pass → limits → virtual robot   → oscillation
references/  observer.py laws/  walls.py                   virtual_robot.py  oscillation.py

What calls these are the steps of steps.py.
"""

import math

import numpy as np
from numba import typeof, types

from torqued.common.status import CLAMPED, NONFINITE, SOLVER, WALL
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.control_record import CONTROL
from torqued.kernels.control.friction import compensate_friction
from torqued.kernels.control.integral import compensate_bias
from torqued.kernels.control.payload import take_off
from torqued.kernels.control.session_arrays import arrays_of, control_at, sizes_of
from torqued.kernels.control.steps import call_law, evaluate, follow, guard, put_on, watch
from torqued.kernels.control.unknown_load import WANTED, end_tick
from torqued.kernels.control.virtual_robot import fill_external, move_virtual, place_virtual
from torqued.kernels.control.walls import hold_walls
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.workspace import open_work

#: s since the last torque of a controller that is asked once: no limit of rates applies.
NEVER = 1e9
#: Relative to the effort limit: what is nearer than that to its goal has reached it.
REACHED = 1e-9

CONTROLS = typeof(np.zeros(1, CONTROL).view(np.recarray))


@entry(WORK, types.uint64)
def evaluate_law(handle, address):
    """The observer, then the law, then what friction and bias take. Returns status bits; NONFINITE
    and SOLVER: not to be used.

    The payload has to be on. What cannot be used leaves no trace in what law and observer remember.
    """
    control = control_at(address)
    sizes, data = sizes_of(control), arrays_of(control)
    keep_memory(control, data)
    data.unmodelled[:] = 0.0
    if control.observer != 0:
        call_law(control.observer, handle, control.address)
    status = call_law(control.law, handle, control.address)
    add_reference_torque(control, sizes, data)
    compensate_friction(control, sizes, data)
    compensate_bias(control, sizes, data)
    for k in range(len(data.out)):
        if not math.isfinite(data.out[k]):
            status |= NONFINITE
    if status & NONFINITE:
        data.out[:] = data.unmodelled[:] = 0.0
    if status & (NONFINITE | SOLVER):
        restore_memory(control, data)
    return status


@kernel
def add_reference_torque(control, sizes, data):
    """Add `tau_ff` to the law's torque, which feels it as an external one: portᵀ tau_ff."""
    if control.reference_torque >= 0:
        tau_ff = data.state[control.reference_torque :]
        for k in range(sizes.torques):
            data.out[k] += tau_ff[k]
            data.out[sizes.nv + 2] += tau_ff[k] * data.out[sizes.nv + 3 + k]


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


@entry(WORK, types.uint64, types.float64)
def guard_torques(handle, address, dt):
    """What keeps any torque safe: walls, low-pass, limits; it moves a virtual robot. Returns status
    bits."""
    work, control = open_work(handle), control_at(address)
    sizes, data = sizes_of(control), arrays_of(control)
    status = 0
    fill_external(work, control, sizes, data)
    if control.has_state != 0 and (control.has_walls != 0 or len(data.planes) > 0):
        status |= hold_walls(work, control, sizes, data, dt)
    else:
        data.wall_tau[:] = 0.0  # nothing is known of what torques did
    end_tick(data)
    for k in range(sizes.torques):
        if not math.isfinite(data.out[k]):  # a state so large that walls or fallback overflow
            data.out[k] = 0.0
            status |= NONFINITE
    smooth_torques(control, sizes, data, dt)
    status |= limit(control, sizes, data, dt)
    status |= move_virtual(work, control, sizes, data, dt)
    control.cut = status & (CLAMPED | WALL)
    return status | watch(control, dt)


@kernel
def smooth_torques(control, sizes, data, dt):
    """A first-order low-pass, which begins at the first torque."""
    share = 1.0
    if control.low_pass > 0.0 and control.has_last_torque != 0:
        share = 1.0 - math.exp(-2.0 * math.pi * control.low_pass * dt)
    for k in range(sizes.unactuated, sizes.torques):
        x = data.out[k]
        step = share * (x - data.smooth[k])
        if share < 1.0 and abs(x - data.smooth[k]) > REACHED * data.effort[k]:
            x = data.smooth[k] + step
        data.smooth[k] = data.out[k] = x


@kernel
def limit(control, sizes, data, dt):
    """Cut torques to their limits and to the limits of their rates. Returns status bits.

    The first torque has none before it from which it could be too far.
    """
    status = 0
    for k in range(sizes.unactuated):
        data.out[k] = 0.0
    for k in range(sizes.unactuated, sizes.torques):
        x = data.out[k]
        if control.has_last_torque != 0:
            step = data.rate[k] * dt
            x = min(max(x, data.last[k] - step), data.last[k] + step)
        x = min(max(x, -data.effort[k]), data.effort[k])
        if x != data.out[k]:
            status = CLAMPED
            data.unknown[WANTED, k] = 0.0  # the joint does not get what it was asked for with
        data.out[k] = data.smooth[k] = data.last[k] = x
    control.has_last_torque = 1
    return status


@entry(WORK, CONTROLS)
def evaluate_once(handle, controls):
    """One result of the law outside of the loop, within its limits. Returns status bits."""
    control = controls[0]
    sizes, data = sizes_of(control), arrays_of(control)
    put_on(handle, control)
    follow(handle, control, 0.0)
    control.status = evaluate(handle, control) | limit(control, sizes, data, NEVER)
    control.cut = control.status & CLAMPED
    take_off(handle, data)
    return control.status


@entry(WORK, CONTROLS, types.float64)
def step_once(handle, controls, dt):
    """What a session would send dt s after the last time: all that a tick does but the fallback.

    Returns status bits.
    """
    control = controls[0]
    sizes, data = sizes_of(control), arrays_of(control)
    put_on(handle, control)
    status = place_virtual(control, sizes, data, True, dt)
    status |= follow(handle, control, dt) | evaluate(handle, control)
    if sizes.torques > 0:
        status |= guard(handle, control, dt, True)
    take_off(handle, data)
    control.status = status
    return status
