"""Force at a frame: the wrench that it exerts, and axes along which that replaces its position.

    τ += Jᵀ (f_ref + i),     di/dt = rate (f_ref − f),  |i| ≤ |f_ref|     along force axes

f_ref is the reference `wrench` of the frame on its surroundings, f the wrench that it does exert,
from a sensor or from the observer. Along force axes the spring has no stiffness and motion has the
damping d = DAMPING_RATE / (sᵀ J M⁻¹ Jᵀ s) for the axis s. Against surroundings of any stiffness k,

    m ẍ + d ẋ + k x = f_ref + i,   f = k x

is then stable for rate < d/m = DAMPING_RATE (Routh); MAX_RATE leaves half of it to delays.

Until an axis touches, and once it has lost its contact, i is zero and the force is at most what
moves the frame at `approach_speed` against d: a frame that slips off an edge does not shoot away.
The work of f_ref + i is in `reference_power`. The integral is not passive; it is bounded by f_ref.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import law
from torqued.kernels.control.laws.task_space import multiply
from torqued.kernels.control.session_arrays import first_reference
from torqued.kernels.input_checks import choice, known_keys, number, numbers, shown
from torqued.kernels.primitives.spatial import quaternion_rotation

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

NAMES = ("axes", "sensor", "rate", "approach_speed")
#: What measures the wrench, and what a state then carries beside q and v.
OBSERVER, TORQUES, WRENCH = 0, 1, 2
SENSORS = {"observer": OBSERVER, "torques": TORQUES, "wrench": WRENCH}
MEASURED = {"torques": "external_torque", "wrench": "measured_wrench"}

#: 1/s: damping along force axes, and integral action by default and at most.
DAMPING_RATE, DEFAULT_RATE, MAX_RATE = 40.0, 5.0, 20.0
#: m/s and rad/s of a frame that seeks contact.
DEFAULT_SPEED = (0.05, 0.2)
#: An axis touches above the first share of the force that it seeks contact with, and has lost
#: contact once it has been below the second for so many s.
TOUCHES, LOST, LOST_AFTER = 0.5, 0.2, 0.02
#: 1/s at which the force of an axis that begins to touch approaches f_ref.
RISE = 20.0

# In the law's memory, what is remembered first: force in effect before the integral, the integral,
# 1 where an axis touches, s that it has been below LOST; then what the law was opened with.
FORCE, INTEGRAL, TOUCHING, BELOW, REMEMBERED = 0, 6, 12, 18, 24
FIRST, IN_FRAME, ACTIVE, SENSOR, RATE, SPEED, AXES = 24, 25, 26, 27, 28, 29, 31
WORDS = AXES + 6


def force_axes(fields: law.Fields) -> law.Array:
    """(6,) 1 along force axes [rotations; translations], from the option `force`."""
    given = fields.get("force")
    if given is None:
        return np.zeros(6)
    if not isinstance(given, Mapping) or "axes" not in given:
        wanted = "a map with axes (6), 1 where force is controlled"
        raise InputError(f"force: {shown(given)}, expected {wanted}", "force", None, wanted)
    known_keys("force", given, NAMES)
    axes = numbers("force.axes", given["axes"], (6,))
    if not np.isin(axes, (0.0, 1.0)).all() or not axes.any():
        wanted = "zeros and ones, at least one of them 1"
        raise InputError(f"force.axes is {shown(axes.tolist())}, expected {wanted}", "force.axes")
    if axes[:3].any() and not in_frame(fields):
        message = "force.axes: rotations are about the frame's axes, expected axes_in='frame'"
        raise InputError(message, "force.axes", None, "axes_in='frame'")
    return axes


def in_frame(fields: law.Fields) -> bool:
    """Whether translations and wrenches are in the axes of the frame's reference."""
    given = fields.get("axes_in")
    return choice("axes_in", "world" if given is None else given, ("world", "frame")) == "frame"


def measured(robot: Robot, fields: law.Fields) -> dict[str, law.Shape]:
    """What states have to carry for the option `force`."""
    sensor = sensor_of(fields)
    shapes: dict[str, law.Shape] = {"torques": (robot.nv,), "wrench": (6,)}
    return {MEASURED[sensor]: shapes[sensor]} if sensor in MEASURED else {}


def sensor_of(fields: law.Fields) -> str:
    """Of the wrench; "" where no force is controlled."""
    if not force_axes(fields).any():
        return ""
    return choice("force.sensor", fields["force"].get("sensor", "observer"), SENSORS)


def fill_memory(memory: law.Array, first: int, rows: int, fields: law.Fields) -> None:
    """Lay out the options; `rows` of the frame's twist are controlled from `first` on."""
    axes = force_axes(fields)
    memory[FIRST], memory[IN_FRAME] = first, in_frame(fields)
    if not axes.any():
        return
    if axes[:first].any() or axes[first + rows :].any():
        wanted = "axes that the session controls"
        raise InputError(f"force.axes is {shown(axes.tolist())}, expected {wanted}", "force.axes")
    given = fields["force"]
    rate = number("force.rate", given.get("rate", DEFAULT_RATE))
    if not 0.0 <= rate <= MAX_RATE:
        wanted = f"0 … {MAX_RATE:g} 1/s"
        raise InputError(f"force.rate is {rate}, expected {wanted}", "force.rate", rate, wanted)
    speed = numbers("force.approach_speed", given.get("approach_speed", DEFAULT_SPEED), (2,))
    if (speed <= 0.0).any():
        wanted = "positive: m/s, rad/s"
        message = f"force.approach_speed is {shown(speed.tolist())}, expected {wanted}"
        raise InputError(message, "force.approach_speed", None, wanted)
    memory[ACTIVE], memory[SENSOR], memory[RATE] = 1.0, SENSORS[sensor_of(fields)], rate
    memory[SPEED : SPEED + 2], memory[AXES : AXES + 6] = speed, axes


@kernel
def axes_of(memory, reference):
    """The axes of translations and wrenches, as a rotation: the world's, or the reference's."""
    if memory[IN_FRAME] == 0.0:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    return quaternion_rotation(reference[3], reference[4], reference[5], reference[6])


@kernel
def along(T, k, x, start):
    """The part of a vector x[start:start + 3] along axis k of T."""
    return T[k] * x[start] + T[3 + k] * x[start + 1] + T[6 + k] * x[start + 2]


@kernel
def fill_exerted(sizes, data, task, R, first, exerted, scratch):
    """The wrench (6,) of the frame on its surroundings, world axes, as measured or observed."""
    n, m, sensor = sizes.nv, len(task.g), int(data.memory[SENSOR])
    end = first_reference(sizes)
    if sensor == WRENCH:
        for k in range(3):
            for part in range(0, 6, 3):
                x = data.state[end - 6 + part : end - 3 + part]
                exerted[part + k] = -(R[3 * k] * x[0] + R[3 * k + 1] * x[1] + R[3 * k + 2] * x[2])
        return
    torque = data.state[end - n : end] if sensor == TORQUES else data.observer[4 * n : 5 * n]
    exerted[:] = 0.0
    multiply(task.X, torque, scratch)
    for r in range(m):
        exerted[first + r] = -law.inner(task.counted[r], scratch)


@kernel
def mobility_along(task, T, first, k):
    """sᵀ J M⁻¹ Jᵀ s of force axis k, rotations first, kept above zero in a singularity."""
    total, at, j = 0.0, 3 * (k // 3) - first, k % 3
    for r in range(3):
        for c in range(3):
            total += T[3 * r + j] * task.A[at + r, at + c] * T[3 * c + j]
    return max(total, 1e-6 / task.scale[k] ** 2)


@kernel
def damp_force_axes(memory, task, T, first):
    """Add the damping of force axes to that of the frame."""
    for k in range(6):
        if memory[AXES + k] == 0.0:
            continue
        d, at, j = DAMPING_RATE / mobility_along(task, T, first, k), 3 * (k // 3) - first, k % 3
        for r in range(3):
            for c in range(3):
                task.damping[at + r, at + c] += d * T[3 * r + j] * T[3 * c + j]


@kernel
def fill_wrench(memory, task, T, first, wanted, limits, exerted, elapsed, learns, wrench):
    """The wrench (6,) to exert in world axes: as wanted (6,) in axes T, within `limits` (force,
    moment), and controlled along force axes."""
    for part in range(0, 6, 3):
        size = math.sqrt(wanted[part] ** 2 + wanted[part + 1] ** 2 + wanted[part + 2] ** 2)
        most = limits[1] if part == 0 else limits[0]
        share = most / size if size > most else 1.0
        for k in range(3):
            wrench[part + k] = 0.0
        for j in range(3):
            f = share * wanted[part + j]
            if memory[AXES + part + j] != 0.0:
                f = controlled(memory, task, T, first, part + j, f, exerted, elapsed, learns)
            for k in range(3):
                wrench[part + k] += T[3 * k + j] * f


@kernel
def controlled(memory, task, T, first, k, wanted, exerted, elapsed, learns):
    """The force along force axis k that brings what is exerted to what is wanted."""
    f = along(T, k % 3, exerted, 3 * (k // 3))
    speed = memory[SPEED] if k >= 3 else memory[SPEED + 1]
    most = min(speed * DAMPING_RATE / mobility_along(task, T, first, k), abs(wanted))
    pressed = f if wanted >= 0.0 else -f
    memory[BELOW + k] = 0.0 if pressed > LOST * most else memory[BELOW + k] + elapsed
    if pressed > TOUCHES * most:
        memory[TOUCHING + k] = 1.0
    elif wanted == 0.0 or memory[BELOW + k] > LOST_AFTER:
        memory[TOUCHING + k] = 0.0
    goal = wanted
    if memory[TOUCHING + k] == 0.0:
        goal = min(max(wanted, -most), most)
        memory[FORCE + k] = min(max(memory[FORCE + k], -most), most)
        memory[INTEGRAL + k] = 0.0
    elif learns:
        i = memory[INTEGRAL + k] + memory[RATE] * elapsed * (wanted - f)
        memory[INTEGRAL + k] = min(max(i, -abs(wanted)), abs(wanted))
    memory[FORCE + k] += (1.0 - math.exp(-RISE * elapsed)) * (goal - memory[FORCE + k])
    return memory[FORCE + k] + memory[INTEGRAL + k]
