"""One tick of a controller again, from a recording: with references that are in effect already."""

from numba import types

from torqued.common.status import NONFINITE, SOLVER
from torqued.kernels.compilation.jit import entry
from torqued.kernels.control.evaluation import CONTROLS
from torqued.kernels.control.payload import take_off
from torqued.kernels.control.session_arrays import arrays_of, sizes_of
from torqued.kernels.control.steps import evaluate, guard, put_on, watch
from torqued.kernels.control.unknown_load import forget
from torqued.kernels.primitives.layout import WORK


@entry(WORK, CONTROLS, types.float64)
def replay_tick(handle, controls, dt):
    """What a session sends for the state and the references in `data.state`, dt s after the last
    torque. Returns status bits; NONFINITE and SOLVER: not to be used."""
    control = controls[0]
    sizes, data = sizes_of(control), arrays_of(control)
    control.moves = 1  # a virtual robot from its recorded state
    put_on(handle, control)
    status = evaluate(handle, control)
    if sizes.torques > 0 and status & (NONFINITE | SOLVER) == 0:
        status |= guard(handle, control, dt, True)
    take_off(handle, data)
    control.status = status
    return status


@entry(CONTROLS, types.float64)
def replay_sent(controls, dt):
    """Go on from a torque in `data.out` that was sent and not the law's. Returns status bits."""
    control = controls[0]
    sizes, data = sizes_of(control), arrays_of(control)
    for k in range(sizes.torques):
        data.last[k] = data.smooth[k] = data.out[k]
    forget(data)
    control.has_last_torque = 1
    return watch(control, dt)
