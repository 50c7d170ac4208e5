"""Not a law but a stream: any of the dynamics quantities of the newest state, every tick."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import carray

from torqued.common.errors import InputError
from torqued.kernels.control import law
from torqued.kernels.dynamics.evaluation_plan import checked_want
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import shapes
from torqued.kernels.dynamics.quantity_arrays import project_quantities, quantities_at
from torqued.kernels.dynamics.selected_quantities import fill_quantities
from torqued.kernels.input_checks import at_most, choice, text, texts
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.workspace import pointer

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


#: Frames of a stream: each costs time in every tick.
MAX_FRAMES = 256


def no_gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    if given:
        raise InputError("gains: stream sessions have no gains", "gains")
    return {}


def prepare(robot: Robot, fields: law.Fields) -> law.Prepared:
    names = texts(fields, "frames", ())
    want = checked_want(texts(fields, "want", ("M", "C", "g")), names)
    at_most("frames", len(names), MAX_FRAMES)
    representation = text(fields, "representation", "hybrid")
    free = shapes(want, robot.nv_free, len(names)) if robot.model.mimics.present else {}
    return law.Prepared(
        no_gains(robot, fields.get("gains", {}), fields),
        outputs=shapes(want, robot.nv, len(names)),
        memory=np.zeros(sum(math.prod(shape) for shape in free.values())),
        frames=robot.frame_table.records(names, field="frames"),
        want=want,
        representation=REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)],
    )


LAW = law.Law(
    "stream_quantities",
    prepare,
    no_gains,
    options=("want", "frames", "representation"),
    is_torque=False,
)


@law.law
def stream_quantities(handle, address):
    """Returns status bits."""
    work, control, sizes, data = law.open_control(handle, address)
    k, want = control[0].frame_count, control[0].want
    frames = carray(pointer(control[0].frames), k, FRAME)
    out = quantities_at(data.out.ctypes.data, want, sizes.nv, k)
    if len(data.memory) == 0:
        q, v = data.state[: sizes.nq], law.velocity(sizes, data)
        fill_quantities(work, q, v, want, frames, control[0].representation, out)
        return 0
    free = quantities_at(data.memory.ctypes.data, want, sizes.nv_free, k)
    law.expand_state(sizes, data)
    fill_quantities(work, data.q_free, data.v_free, want, frames, control[0].representation, free)
    project_quantities(data.v_index, data.v_multiplier, want, free, out)
    return 0
