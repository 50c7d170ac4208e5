"""Targets as rows: how far a frame or the center of mass is off, and how joints change that.

    e = [log(R_targetᵀ R); p − p_target],    ė = J v

Rotations are in the axes of the target, positions in those of the world. Rows with weight 0 are
left out, all others come in units of weight times metres.
"""

from __future__ import annotations

import numpy as np
from numba import typeof

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.contacts.rows import rotation_vector
from torqued.kernels.dynamics.centroidal import relative_com
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.manifold import shift_inverse
from torqued.kernels.primitives.layout import FRAME, empty_records
from torqued.kernels.primitives.spatial import (
    ZERO3,
    add,
    angular,
    compose,
    cross,
    inertia_times,
    linear,
    rotate_back,
    scale,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load3, load6, load9, load10

FRAME_TASK, COM_TASK = 0, 1

TASK = np.dtype(
    [
        ("frame", FRAME),
        ("kind", "i8"),
        ("row", "i8"),  # the first of its rows
        ("rows", "i8"),  # how many
        ("level", "i8"),  # its priority, counted from 0 without gaps
        ("weight", "f8", (6,)),  # of each component; 0: no row
        ("R", "f8", (9,)),  # where it belongs
        ("p", "f8", (3,)),
    ],
    align=True,
)


TASKS = typeof(empty_records(TASK, 1))


@kernel
def task_error(work, task):
    """Rotation and translation by which a task is off; needs body_poses."""
    target = sub(load3(task.p), load3(work.origin))
    if task.kind == COM_TASK:
        return ZERO3, sub(relative_com(work), target)
    R, p = frame_placement(work, task.frame)
    turn = ZERO3
    if task.weight[0] + task.weight[1] + task.weight[2] > 0.0:
        turn = rotation_vector(compose(transpose(load9(task.R)), R))
    return turn, sub(p, target)


@kernel
def put_weighted(task, turn, shift, e):
    """The rows of one task."""
    row = task.row
    for k in range(3):
        if task.weight[k] > 0.0:
            e[row] = task.weight[k] * turn[k]
            row += 1
    for k in range(3):
        if task.weight[3 + k] > 0.0:
            e[row] = task.weight[3 + k] * shift[k]
            row += 1


@kernel
def fill_errors(work, tasks, e):
    """e of all tasks; needs body_poses."""
    for t in range(len(tasks)):
        turn, shift = task_error(work, tasks[t])
        put_weighted(tasks[t], turn, shift, e)


@kernel
def fill_com_rows(work, task, J):
    """Velocity of the center of mass per column: its momentum by the whole mass."""
    composite_inertias(work)
    mass = 0.0
    for i in range(len(work.bodies)):
        mass += work.bodies[i].mass
    if not mass > 0.0:
        return
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        inertia = load10(work.states[i].I)
        for c in range(body.column, body.column + body.columns):
            momentum = linear(inertia_times(inertia, load6(work.columns[c].S)))
            put_weighted(task, ZERO3, scale(momentum, 1.0 / mass), J[:, c])


@kernel
def fill_frame_rows(work, task, J):
    R_target = load9(task.R)
    turn, _ = task_error(work, task)
    _, p = frame_placement(work, task.frame)
    b = task.frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            S = load6(work.columns[c].S)
            w = angular(S)
            # d log(R_targetᵀ R) is the inverse of the left Jacobian of SO(3) times ω.
            rate = shift_inverse(turn, rotate_back(R_target, w))
            put_weighted(task, rate, add(linear(S), cross(w, p)), J[:, c])
        b = body.above


@kernel
def fill_rows(work, tasks, J):
    """J (m, columns) of all tasks; needs body_poses."""
    J[:, :] = 0.0
    for t in range(len(tasks)):
        if tasks[t].kind == COM_TASK:
            fill_com_rows(work, tasks[t], J)
        else:
            fill_frame_rows(work, tasks[t], J)
