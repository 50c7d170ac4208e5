"""Cartesian impedance: a frame that behaves like a mass on a spring, and a posture behind it.

Λ x̃̈ + (μ + D) x̃̇ + K x̃ = F_ext        with the frame's own inertia Λ and Coriolis matrix μ

    F = Λ ẍ_ref + J̄ᵀ C v − Λ J̇ v − μ x̃̇ − D x̃̇ − K x̃
    τ = g + Jᵀ F + (1 − Jᵀ J̄ᵀ) (−K_n e − D_n v + J̇ᵀ Λ ẋ − Cᵀ J̄ ẋ)

Inertia is not shaped, so no force sensor is needed, and Λ̇ = μ + μᵀ makes ½ x̃̇ᵀ Λ x̃̇ + U(x̃) a
storage that falls by exactly x̃̇ᵀ D x̃̇. The last bracket moves in the null space of the frame; its
last two terms cancel what the frame's motion would do there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import carray

from torqued.common.errors import InputError
from torqued.common.status import SOLVER
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.gains import known, matrix
from torqued.kernels.control.law import (
    Array,
    Fields,
    Gains,
    Law,
    Prepared,
    expand_state,
    fixed_base,
    inner,
    joint_error,
    law,
    open_control,
    port,
    power_outputs,
    put_power,
    row,
    times,
    velocity,
)
from torqued.kernels.control.laws.task_space import fill_task, task_words
from torqued.kernels.control.references.motions import FRAME_MOTION, JOINTS, Motion
from torqued.kernels.control.typical_inertia import frame_inertia, typical_inertia
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.manifold import quaternion_product
from torqued.kernels.input_checks import choice
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.spatial import add, cross, rotate, scale, sub
from torqued.kernels.primitives.tuples import load3
from torqued.kernels.primitives.workspace import pointer

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Which rows of the frame's twist are controlled: where they begin and how many.
AXES = {"all": (0, 6), "orientation": (0, 3), "position": (3, 3)}

GAINS = (
    "stiffness",
    "rotational_stiffness",
    "damping",
    "rotational_damping",
    "posture_stiffness",
    "posture_damping",
)

DEFAULT_STIFFNESS = 500.0  # N/m
DEFAULT_ROTATIONAL_STIFFNESS = 40.0  # N m/rad
DEFAULT_RATIO = 0.8
DEFAULT_POSTURE = 4.0  # rad/s, of each joint by itself


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """Positive matrices: a number, a diagonal or all of it.

    `stiffness` (3, 3) N/m and `damping` N s/m in world axes; `rotational_stiffness` N m/rad in the
    frame's axes, `rotational_damping` N m s/rad in world axes; `posture_stiffness` (nv, nv) N m/rad
    and `posture_damping` for the null space, zero allowed. By default damping suits the
    typical inertias of frame and joints.
    """
    known(given, GAINS)
    inertia = np.maximum(frame_inertia(robot, checked_frame(robot, fields)), 1e-3)
    typical = typical_inertia(robot)
    joints = typical.diagonal
    frequency = typical.rate(2 * DEFAULT_RATIO * DEFAULT_POSTURE) / (2 * DEFAULT_RATIO)
    stiffness = matrix(given, "stiffness", DEFAULT_STIFFNESS, 3)
    turning = matrix(given, "rotational_stiffness", DEFAULT_ROTATIONAL_STIFFNESS, 3)
    posture = matrix(given, "posture_stiffness", frequency**2 * joints, robot.nv, definite=False)
    return {
        "stiffness": stiffness,
        "rotational_stiffness": turning,
        "damping": matrix(given, "damping", critical(stiffness, inertia[3:]), 3),
        "rotational_damping": matrix(
            given, "rotational_damping", critical(turning, inertia[:3]), 3
        ),
        "posture_stiffness": posture,
        "posture_damping": matrix(
            given, "posture_damping", critical(posture, joints), robot.nv, definite=False
        ),
    }


def critical(stiffness: Array, inertia: Array) -> Array:
    damping: Array = 2 * DEFAULT_RATIO * np.sqrt(np.diag(stiffness) * inertia)
    return damping


def checked_frame(robot: Robot, fields: Fields) -> str:
    name = fields.get("frame")
    if not isinstance(name, str):
        raise InputError("frame: the frame that is to be moved is missing", "frame", name)
    robot.frame_table.records([name])
    if robot.frame_table.is_fixed(name):
        message = f"frame: {name!r} does not move, it is fixed in the world"
        raise InputError(message, "frame", name, "a frame of a moving link")
    return name


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "impedance")
    name = checked_frame(robot, fields)
    frames = robot.frame_table.records([name], fields.get("point"))
    first, rows = AXES[choice("axes", fields.get("axes", "all"), AXES)]
    packed = gains(robot, fields.get("gains", {}), fields)
    references = {
        "position": np.zeros(3),
        "orientation": np.array([0.0, 0.0, 0.0, 1.0]),
        "velocity": np.zeros(6),
        "acceleration": np.zeros(6),
        "posture": robot.neutral(),
    }
    pose = robot.frame_pose(robot.neutral(), name, fields.get("point"))
    references["position"] = pose[:3, 3]
    memory = np.zeros(task_words(robot.nv, robot.nv_free) + 2)
    memory[-2:] = first, rows
    outputs = {**power_outputs(robot), "error": (6,), "inertia": (6, 6)}
    motions = (
        Motion(
            FRAME_MOTION, "position", "orientation", "velocity", "acceleration", frames[0].item()
        ),
        Motion(JOINTS, "posture"),
    )
    return Prepared(packed, references, outputs, memory, frames=frames, motions=motions)


LAW = Law("impedance_torque", prepare, gains, options=("frame", "point", "axes"))


@kernel
def spring(work, frame, reference, gains, force, error):
    """Force (6,) of the spring in world axes, error (6,) [rotation; position]; returns U.

    U = ½ dᵀ K d + 2 εᵀ K_r ε with ε the vector part of the quaternion from wanted to actual
    orientation: K_r is the stiffness of small rotations, and the moment is bounded.
    """
    R, p = frame_placement(work, frame)
    p = add(p, load3(work.origin))
    d = sub(p, (reference[0], reference[1], reference[2]))
    x, y, z, w = quaternion_of(R)
    size = math.sqrt(inner(reference[3:7], reference[3:7]))
    s = 1.0 / max(size, 1e-300)
    back = (-reference[3] * s, -reference[4] * s, -reference[5] * s, reference[6] * s)
    turn = quaternion_product(back, (x, y, z, w))
    sign = 1.0 if turn[3] >= 0.0 else -1.0
    e, h = (sign * turn[0], sign * turn[1], sign * turn[2]), sign * turn[3]
    Kd, Ke = times3(gains, 0, d), times3(gains, 9, e)
    # d/dt 2 εᵀ K ε = 2 ωᵀ (η K ε + K ε × ε), ω in the frame's own axes
    moment = rotate(R, scale(add(scale(Ke, h), cross(Ke, e)), 2.0))
    angle = rotate(R, scale(e, 2.0))
    for k in range(3):
        force[k], force[3 + k] = moment[k], Kd[k]
        error[k], error[3 + k] = angle[k], d[k]
    translation = 0.5 * (d[0] * Kd[0] + d[1] * Kd[1] + d[2] * Kd[2])
    rotation = 2.0 * (e[0] * Ke[0] + e[1] * Ke[1] + e[2] * Ke[2])
    return rotation, translation


@kernel
def times3(gains, start, x):
    return (
        gains[start] * x[0] + gains[start + 1] * x[1] + gains[start + 2] * x[2],
        gains[start + 3] * x[0] + gains[start + 4] * x[1] + gains[start + 5] * x[2],
        gains[start + 6] * x[0] + gains[start + 7] * x[1] + gains[start + 8] * x[2],
    )


@kernel
def quaternion_of(R):
    """x y z w of a rotation, by the largest of its parts."""
    trace = R[0] + R[4] + R[8]
    if trace > 0.0:
        s = 2.0 * math.sqrt(1.0 + trace)
        return (R[7] - R[5]) / s, (R[2] - R[6]) / s, (R[3] - R[1]) / s, 0.25 * s
    if R[0] > R[4] and R[0] > R[8]:
        s = 2.0 * math.sqrt(1.0 + R[0] - R[4] - R[8])
        return 0.25 * s, (R[1] + R[3]) / s, (R[2] + R[6]) / s, (R[7] - R[5]) / s
    if R[4] > R[8]:
        s = 2.0 * math.sqrt(1.0 - R[0] + R[4] - R[8])
        return (R[1] + R[3]) / s, 0.25 * s, (R[5] + R[7]) / s, (R[2] - R[6]) / s
    s = 2.0 * math.sqrt(1.0 - R[0] - R[4] + R[8])
    return (R[2] + R[6]) / s, (R[5] + R[7]) / s, 0.25 * s, (R[3] - R[1]) / s


@law
def impedance_torque(handle, address):
    """Returns status bits."""
    work, control, sizes, data = open_control(handle, address)
    n, start = sizes.nv, sizes.nq + sizes.nv
    tau, v, w = data.out[:n], velocity(sizes, data), port(sizes, data)
    first, m = int(data.memory[-2]), int(data.memory[-1])
    frame = carray(pointer(control[0].frames), 1, FRAME)[0]
    reference = data.state[start : start + 19]
    error, report = data.out[2 * n + 3 : 2 * n + 9], data.out[2 * n + 9 : 2 * n + 45]
    null, Cv, Cw = row(sizes, data, 0), row(sizes, data, 1), row(sizes, data, 2)
    e, posture, moving = row(sizes, data, 3), row(sizes, data, 4), row(sizes, data, 5)
    expand_state(sizes, data)
    joint_error(work, sizes, data, data.state[start + 19 : start + 19 + sizes.nq], e)
    task, status = fill_task(work, sizes, data, frame, first, m, tau)
    # Of the memory's last rows: velocity, its error, wanted acceleration, force, scratch.
    rows = data.memory[len(data.memory) - 62 : len(data.memory) - 2]
    x_rate, x_error, force, braking = rows[:6], rows[6:12], rows[12:18], rows[18:24]
    pull, bias, turned = rows[24:30], rows[30:36], rows[36:42]
    rotation, translation = spring(work, frame, reference, data.gains, pull, error)
    for r in range(m):
        x_rate[r] = inner(task.J[r], v)
        x_error[r] = x_rate[r] - reference[7 + first + r]
        bias[r] = inner(task.Jdot[r], v)
    w[:] = 0.0
    moving[:] = 0.0
    for r in range(m):
        for k in range(n):
            w[k] += task.Jbar[r, k] * x_error[r]
            moving[k] += task.Jbar[r, k] * x_rate[r]
    for i in range(n):
        Cv[i] = inner(task.C[i], v)
        Cw[i] = inner(task.C[i], w)
    for r in range(m):
        turned[r] = bias[r] - inner(task.Jdot[r], w)
    damp(data.gains, first, m, x_error, braking)
    storage = (rotation if first == 0 else 0.0) + (translation if first + m == 6 else 0.0)
    dissipation = 0.0
    for r in range(m):
        inertial = 0.0
        for c in range(m):
            push = reference[13 + first + c] - turned[c]
            inertial += task.inertia[r, c] * push
            storage += 0.5 * x_error[r] * task.inertia[r, c] * x_error[c]
        coriolis = inner(task.Jbar[r], Cv) - inner(task.Jbar[r], Cw)
        force[r] = inertial + coriolis - braking[r] - pull[first + r]
        dissipation += x_error[r] * braking[r]
    # Null space: −K_n e − D_n v + J̇ᵀ Λ ẋ − Cᵀ J̄ ẋ
    times(data.gains, 36, e, null)
    times(data.gains, 36 + n * n, v, posture)
    for k in range(n):
        null[k] = -null[k] - posture[k]
        for i in range(n):
            null[k] -= task.C[i, k] * moving[i]
    for r in range(m):
        momentum = inner(task.inertia[r], x_rate[:m])
        for k in range(n):
            null[k] += task.Jdot[r, k] * momentum
    for r in range(m):
        force[r] -= inner(task.Jbar[r], null)
    for k in range(n):
        tau[k] += null[k]
        for r in range(m):
            tau[k] += task.J[r, k] * force[r]
    report[:] = 0.0
    for r in range(m):
        for c in range(m):
            report[6 * (first + r) + first + c] = task.inertia[r, c]
    put_power(sizes, data, storage, dissipation, 0.0)
    return 0 if status == OK else SOLVER


@kernel
def damp(gains, first, m, x_error, braking):
    """D x̃̇ of the controlled rows: rotational damping, then that of position."""
    for r in range(m):
        block = 27 if first + r < 3 else 18
        i = (first + r) % 3
        base = r - i  # where this block's rows begin
        braking[r] = 0.0
        for c in range(3):
            braking[r] += gains[block + 3 * i + c] * x_error[base + c]
