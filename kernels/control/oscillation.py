"""A detector of limit cycles: torques that swing to and fro, tick after tick, around their mean.

Gains that are too high for a delay, or a joint's backlash, show as an oscillation that does not
end. A joint counts as swinging when its torque leaves a band around its slow mean on alternating
sides more than a few times within a window.
"""

import math

from numba import types

from torqued.common.status import OSCILLATING
from torqued.kernels.compilation.jit import entry
from torqued.kernels.control.session_arrays import arrays_of, control_at, sizes_of
from torqued.kernels.primitives.layout import WORK

#: s over which the mean is taken, and over which swings are forgotten.
MEAN_TIME, WINDOW = 0.1, 0.25
#: Of the effort limit: half of the band's width.
BAND = 0.03
#: Swings within the window that are too many: with 0.25 s those of 12 Hz and more.
MAX_SWINGS = 6.0


@entry(WORK, types.uint64, types.float64)
def watch_torques(handle, address, dt):
    """`watch` of steps.py. Returns status bits."""
    if not dt > 0.0:
        return 0
    control = control_at(address)
    sizes, data = sizes_of(control), arrays_of(control)
    slow, forget = 1.0 - math.exp(-dt / MEAN_TIME), math.exp(-dt / WINDOW)
    mean, side, swings = data.swing[0], data.swing[1], data.swing[2]
    status = 0
    for k in range(sizes.unactuated, sizes.torques):
        x = data.out[k] - mean[k]
        mean[k] += slow * x
        band = BAND * data.effort[k]
        swings[k] *= forget
        now = 1.0 if x > band else (-1.0 if x < -band else 0.0)
        if now != 0.0 and now != side[k]:
            if side[k] != 0.0:
                swings[k] += 1.0
            side[k] = now
        if swings[k] > MAX_SWINGS:
            status = OSCILLATING
    return status
