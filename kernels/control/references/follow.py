"""From what is commanded to the references in effect: what a law gets to see.

    command given  ─┐
    planned move   ─┼→ limiter → references in effect
    held           ─┘

Until something is commanded, what was there with the first state is held.
"""

import math

from numba import types

from torqued.common.status import NONFINITE
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.law import expand_state
from torqued.kernels.control.references.frames import (
    brake_frame,
    copy_frame,
    follow_frame,
    jump_frame,
    latch_frame,
    plan_frame,
)
from torqued.kernels.control.references.joints import (
    brake_joints,
    copy_joints,
    follow_joints,
    jump_joints,
    latch_joints,
    plan_joints,
)
from torqued.kernels.control.references.motions import JOINTS
from torqued.kernels.control.references.via_points import take_path
from torqued.kernels.control.session_arrays import arrays_of, control_at, first_reference, sizes_of
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.workspace import open_work

#: Where references come from: the state frames (or calls), or orders of a commander.
FROM_STATES, FROM_ORDERS = 0, 1


@kernel
def latch(work, control, sizes, data):
    """Hold what the present state is."""
    if len(data.motions) > 0:
        expand_state(sizes, data)
        body_poses(work, data.q_free)
    for k in range(len(data.motions)):
        motion = data.motions[k]
        motion.planned = 0
        if motion.kind == JOINTS:
            latch_joints(motion, sizes, data)
        else:
            latch_frame(work, motion, data)
    control.move_seconds = 0.0
    control.references_latched = 1


@kernel
def forget_command(data):
    """Nothing is commanded any more."""
    for i in range(len(data.command)):
        data.command[i] = math.nan


@kernel
def hold(control, sizes, data):
    """Bring the references to rest and keep them there; whatever states say."""
    for k in range(len(data.motions)):
        motion = data.motions[k]
        motion.planned = 0
        if motion.kind == JOINTS:
            brake_joints(motion, sizes, data)
        else:
            brake_frame(motion, data)
    control.move_seconds = 0.0
    control.source = FROM_ORDERS
    forget_command(data)


@kernel
def move(control, sizes, data, seconds):
    """Begin a movement to what is ordered; motions without an order are held."""
    hold(control, sizes, data)
    take_path(data)
    for k in range(len(data.motions)):
        motion = data.motions[k]
        if is_given(motion, data.ordered):
            motion.planned = 1
            if motion.kind == JOINTS:
                plan_joints(motion, sizes, data)
            else:
                plan_frame(motion, data)
    control.move_time, control.move_seconds = 0.0, seconds


@kernel
def is_given(motion, source):
    """Whether a source has a place for a motion to go to."""
    position, orientation = motion.position, motion.orientation
    if position >= 0 and math.isfinite(source[position]):
        return True
    return orientation >= 0 and math.isfinite(source[orientation])


@entry(WORK, types.uint64, types.float64)
def follow_references(handle, address, dt):
    """`follow` of steps.py. Returns status bits.

    With dt = 0 nothing is limited: one result outside of the loop. Nor is what a session gives
    that asked for that; what it holds and where it is moved is.
    """
    work, control = open_work(handle), control_at(address)
    sizes, data = sizes_of(control), arrays_of(control)
    if control.references_latched == 0:
        latch(work, control, sizes, data)
    t, T = control.move_time + dt, control.move_seconds
    status = 0
    for k in range(len(data.motions)):
        motion = data.motions[k]
        given = is_given(motion, data.command)
        if dt > 0.0 and (control.limited != 0 or not given):
            if motion.kind == JOINTS:
                status |= follow_joints(work, motion, sizes, data, given, t, T, dt)
            else:
                status |= follow_frame(work, motion, sizes, data, given, t, T, dt)
        elif motion.kind == JOINTS:
            copy_joints(motion, sizes, data, given)
            jump_joints(motion, sizes, data)
        else:
            copy_frame(motion, sizes, data, given)
            jump_frame(motion, sizes, data)
    start = first_reference(sizes)
    for i in range(len(data.command)):
        if data.is_value[i]:
            x = data.command[i]
            data.state[start + i] = x if math.isfinite(x) else data.latched[i]
    finish_move(control, data, t, T)
    for i in range(len(data.command)):
        if not math.isfinite(data.state[start + i]):  # numbers so large that they overflow
            control.references_latched = 0
            return NONFINITE
    return status


@kernel
def finish_move(control, data, t, T):
    """After its last tick the target of a movement is held."""
    control.move_time = t
    if T > 0.0 and t >= T:
        control.move_seconds = 0.0
        for k in range(len(data.motions)):
            data.motions[k].planned = 0
