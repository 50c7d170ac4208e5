"""Cartesian impedance: a frame that behaves like a mass on a spring, and a posture behind it.

    τ = g + M ẇ + C w + Jᵀ f − Jᵀ ∇U − N (K_n σ(e) + ∇W) − D s,      s = v − w

with the spring's potential U (frame_spring.py), that of joint ends W (joint_ends.py), joint
velocities w that move the frame and the posture as their references do, and a damping D(q) that
suits the frame's own inertia at each configuration (frame_damping.py). Inertia is not shaped, so no
force sensor is needed, and no inverse is taken that grows in a singularity (task_space.py). Because
Ṁ = C + Cᵀ, the storage

    ½ sᵀ M s + U + P(e) + W

with the potential P of the posture's spring, bounded as errors of joints are (saturation.py),
falls by sᵀ D s at every configuration, singular ones included. `reference_power` is what a
reference brings that the arm cannot follow, what the frame's motion does to the posture's spring,
which N keeps from acting on the frame, what cutting elastic torques takes away, and the work of the
wrench f that the frame is to exert (frame_force.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import carray

from torqued.common.errors import InputError
from torqued.common.status import SOLVER
from torqued.kernels.compilation.jit import routine
from torqued.kernels.control import joint_gains, law
from torqued.kernels.control.frame_mobility import FrameMobility, frame_mobility
from torqued.kernels.control.gains import matrix
from torqued.kernels.control.laws import frame_force
from torqued.kernels.control.laws.frame_damping import boost, cut_elastic, fill_damping, speeding
from torqued.kernels.control.laws.frame_force import axes_of, fill_exerted, fill_wrench
from torqued.kernels.control.laws.frame_spring import POSTURE, spring
from torqued.kernels.control.laws.impedance_linearization import linearized
from torqued.kernels.control.laws.joint_ends import lead_away
from torqued.kernels.control.laws.task_space import (
    TASK,
    TaskSizes,
    decouple,
    feed_forward,
    fill_task,
    multiply,
    null_velocity,
    open_task,
    pass_null,
    regularity,
)
from torqued.kernels.control.poses import Poses
from torqued.kernels.control.posture_inertia import posture_inertia
from torqued.kernels.control.references.motions import FRAME_MOTION, JOINTS, Motion
from torqued.kernels.control.saturation import bounded_spring
from torqued.kernels.control.session_arrays import first_reference
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.input_checks import choice, known_keys, numbers
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.workspace import pointer

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Which rows of the frame's twist are controlled: where they begin and how many.
AXES = {"all": (0, 6), "position": (3, 3), "orientation": (0, 3)}

GAINS = (
    "stiffness",
    "rotational_stiffness",
    "damping",
    "rotational_damping",
    "coupled_stiffness",
    "posture_stiffness",
    "posture_damping",
    "damping_ratio",
    "joint_damping",
    "force_limit",
    "moment_limit",
    "posture_limit",
)

#: rad/s, of the fastest translation and rotation that the default spring makes anywhere, and what
#: it has at most: a hand that is light is held softly, and none harder than people should meet.
TRANSLATION_RATE, ROTATION_RATE = 50.0, 80.0
MAX_STIFFNESS = 500.0  # N/m
MAX_ROTATIONAL_STIFFNESS = 40.0  # N m/rad
DEFAULT_RATIO = 0.8
#: rad/s, of each joint by itself. Gravity of a model that is wrong by a tenth moves a joint whose
#: links have their mass at the distance l by 0.1 g / (l rate²): 0.05 rad for 5 cm.
POSTURE_RATE = 20.0
#: s: a posture's error pulls as much as its joint moves in this time at its speed limit, and no
#: more: it is large where a frame has been moved far away from its posture, and what holds it back
#: there is gone at once where the arm loses a direction. And the share of an effort that it takes.
POSTURE_TIME, POSTURE_EFFORT = 0.04, 0.25
JOINT_DAMPING = 6.4  # 1/s, of what no spring holds
#: For a robot whose joints have no effort limits.
UNLIMITED = 1e6


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """Positive matrices: a number, a diagonal or all of it.

    `stiffness` (3, 3) N/m and `damping` N s/m in world axes, or with `axes_in="frame"` in those of
    the frame's reference; `rotational_stiffness` N m/rad in the frame's axes, `rotational_damping`
    N m s/rad in the same axes as `damping`, as is `coupled_stiffness` (6, 6) [rotation;
    translation], beside which the other stiffnesses are zero by default. A stiffness may be zero
    along an axis, and is along force axes. `posture_stiffness` (nv, nv) N m/rad and
    `posture_damping` for the null space, zero allowed; `posture_limit` (nv,) rad bounds its
    errors. Where a damping is zero, as by default,
    `damping_ratio` (translation, rotation) gives it at each configuration, from stiffness and
    inertia. `joint_damping` 1/s is that of motions that the frame does not show. `force_limit` N
    and `moment_limit` N m bound the spring.
    """
    known_keys("gains", given, GAINS)
    mobility = frame_mobility(robot, checked_frame(robot, fields), fields.get("point"))
    stiffness = min(MAX_STIFFNESS, TRANSLATION_RATE**2 / max(mobility.most[1], 1e-12))
    turn = mobility.rotational_stiffness(ROTATION_RATE, MAX_ROTATIONAL_STIFFNESS)
    coupled = coupled_stiffness(robot, given, fields)
    stiffness, turn = (0.0, 0.0 * turn) if coupled.any() else (stiffness, turn)
    size, posture = robot.nv, POSTURE_RATE**2 * posture_inertia(robot)
    found = {
        "stiffness": matrix(given, "stiffness", stiffness, 3, definite=False),
        "rotational_stiffness": matrix(given, "rotational_stiffness", turn, 3, definite=False),
        "damping": matrix(given, "damping", 0.0, 3, definite=False),
        "rotational_damping": matrix(given, "rotational_damping", 0.0, 3, definite=False),
        "coupled_stiffness": coupled,
        "posture_stiffness": matrix(given, "posture_stiffness", posture, size, definite=False),
        "posture_damping": matrix(given, "posture_damping", 0.0, size, definite=False),
        "damping_ratio": several(given, "damping_ratio", DEFAULT_RATIO, 2),
        "joint_damping": several(given, "joint_damping", JOINT_DAMPING, 1),
        "force_limit": several(given, "force_limit", min(mobility.force, UNLIMITED), 1, True),
        "moment_limit": several(given, "moment_limit", min(mobility.moment, UNLIMITED), 1, True),
    }
    held = 1.0 - frame_force.force_axes(fields)
    parts = {"rotational_stiffness": held[:3], "stiffness": held[3:], "coupled_stiffness": held}
    for name, axes in parts.items():
        found[name] *= np.outer(axes, axes)
    found["posture_limit"] = posture_limit(robot, given, found["posture_stiffness"])
    for k, name in enumerate(("damping", "rotational_damping")):
        if found[name].any():  # given: it is all the damping there is
            found["damping_ratio"][k] = 0.0
    return found


def coupled_stiffness(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Array:
    found = matrix(given, "coupled_stiffness", 0.0, 6, definite=False)
    axes = controlled_axes(robot, fields)
    if axes != "all" and found.any():
        message = f"gains.coupled_stiffness requires axes 'all', the session controls {axes!r}"
        raise InputError(message, "gains", None, "axes 'all'")
    return found


def posture_limit(robot: Robot, given: law.Fields, stiffness: law.Array) -> law.Array:
    """(nv,) rad: errors of the posture pull as much as these and no more."""
    effort = np.where(robot.limits.effort > 0.0, robot.limits.effort, np.inf)
    with np.errstate(divide="ignore"):  # no spring: no bound
        limit = np.minimum(
            joint_gains.speed_bound(robot, POSTURE_TIME),
            POSTURE_EFFORT * effort / np.diag(stiffness),
        )
    default = joint_gains.bounded(limit)
    return several(given, "posture_limit", default, robot.nv, True)


def several(
    given: law.Fields, name: str, default: Any, size: int, positive: bool = False
) -> law.Array:
    """Numbers that are not negative, or positive: one for all, or one each."""
    field = f"gains.{name}"
    values = numbers(field, given.get(name, default), (), (size,))
    least = float(values.min())
    if least < 0.0 or (positive and least == 0.0):
        allowed = "a positive number" if positive else "zero or a positive number"
        raise InputError(f"{field} is {least:.6g}, expected {allowed}", "gains", least, allowed)
    return np.array(np.broadcast_to(values, (size,)))


def checked_frame(robot: Robot, fields: law.Fields) -> str:
    name = fields.get("frame")
    if not isinstance(name, str):
        raise InputError("frame is missing: name the frame to control", "frame", name)
    robot.frame_table.records([name], fields.get("point"))
    if robot.frame_table.is_fixed(name):
        message = f"frame: {name!r} does not move: it is fixed in the world"
        raise InputError(message, "frame", name, "a frame of a moving link")
    return name


def chosen_axes(fields: law.Fields, name: str, mobility: FrameMobility) -> str:
    """The given axes, if the frame can move in all of them; without any, what it can do.

    All six where it can, else its position, else its orientation.
    """
    possible = [axes for axes, rows in AXES.items() if mobility.rows(*rows) == rows[1]]
    given = fields.get("axes")
    if given is None:
        turn, shift, _ = mobility.directions
        return possible[0] if possible else ("position" if shift >= turn else "orientation")
    axes = choice("axes", given, AXES)
    # Where none is possible, that of the frame's directions which would be taken unasked is.
    if axes not in (possible or [chosen_axes({}, name, mobility)]):
        count = mobility.rows(*AXES[axes])
        turn, shift, both = mobility.directions
        listed = ", ".join(map(repr, possible)) or "none"
        raise InputError(
            f"axes: {axes!r} requires {AXES[axes][1]} directions, frame {name!r} moves in {count} "
            f"of them (position {shift} of 3, orientation {turn} of 3, together {both} of 6); "
            f"possible: {listed}",
            "axes",
            axes,
            listed,
        )
    return axes


def controlled_axes(robot: Robot, fields: law.Fields) -> str:
    """Of the session's frame, as asked for or as it can move."""
    name = checked_frame(robot, fields)
    return chosen_axes(fields, name, frame_mobility(robot, name, fields.get("point")))


def prepare(robot: Robot, fields: law.Fields) -> law.Prepared:
    law.fixed_base(robot, "impedance")
    name, point = checked_frame(robot, fields), fields.get("point")
    frames = robot.frame_table.records([name], point)
    mobility = frame_mobility(robot, name, point)
    axes = controlled_axes(robot, fields)
    first, rows = AXES[axes]
    packed = gains(robot, fields.get("gains", {}), fields)
    references = {
        "position": np.zeros(3),
        "orientation": np.array([0.0, 0.0, 0.0, 1.0]),
        "velocity": np.zeros(6),
        "acceleration": np.zeros(6),
        "posture": robot.neutral(),
        "wrench": np.zeros(6),
        "posture_velocity": np.zeros(robot.nv),
        "posture_acceleration": np.zeros(robot.nv),
    }
    pose = robot.frame_pose(robot.neutral(), name, point)
    references["position"] = pose[:3, 3]
    memory = TASK.allocate(TaskSizes(robot.nv, robot.nv_free, rows))
    memory.arrays.scale[:] = np.repeat(1.0 / np.sqrt(mobility.typical), 3)
    speed = robot.limits.velocity
    memory.arrays.speed[:] = np.where(speed > 0.0, speed, np.inf)
    outputs = {**law.power_outputs(robot), "error": (6,), "inertia": (6, 6)}
    if frame_force.sensor_of(fields):
        outputs |= {"exerted": (6,), "touching": (6,)}
    options = np.zeros(frame_force.WORDS)
    frame_force.fill_memory(options, first, rows, fields)
    motions = (
        Motion(
            FRAME_MOTION, "position", "orientation", "velocity", "acceleration", frames[0].item()
        ),
        Motion(JOINTS, "posture", None, "posture_velocity", "posture_acceleration"),
    )
    return law.Prepared(
        packed,
        references,
        outputs,
        options,
        frame_force.REMEMBERED,
        frames,
        law_memory=memory.address,
        owner=memory,
        axes=axes,
        motions=motions,
        measured=frame_force.measured(robot, fields),
        observes=frame_force.sensor_of(fields) == "observer",
    )


def linearization(
    robot: Robot, gains: law.Gains, fields: law.Fields, poses: Poses
) -> tuple[law.Array, law.Array]:
    return linearized(robot, gains, fields, poses, *AXES[controlled_axes(robot, fields)])


SCALING = {
    "stiffness": 2,
    "rotational_stiffness": 2,
    "damping": 1,
    "rotational_damping": 1,
    "coupled_stiffness": 2,
    "posture_stiffness": 2,
    "posture_damping": 1,
    "joint_damping": 1,
}

LAW = law.Law(
    "impedance_torque",
    prepare,
    gains,
    options=("frame", "point", "axes", "axes_in", "force"),
    linearization=linearization,
    scaling=SCALING,
    replaces={
        "posture_stiffness": ("posture_limit",),
        "coupled_stiffness": ("stiffness", "rotational_stiffness"),
    },
    optional=("damping", "rotational_damping", "damping_ratio", "coupled_stiffness"),
)


@law.law
def impedance_torque(handle, address):
    """Returns status bits."""
    work, control, sizes, data = law.open_control(handle, address)
    task = open_task(np.int64(control[0].law_memory))
    n, m, start = sizes.nv, len(task.g), first_reference(sizes)
    first, rest = (
        int(data.memory[frame_force.FIRST]),
        POSTURE + 2 * n * n,
    )  # gains after the matrices
    tau, v, s = data.out[:n], law.velocity(sizes, data), law.port(sizes, data)
    frame = carray(pointer(control[0].frames), 1, FRAME)[0]
    reference = data.state[start : start + 19]
    error, report = data.out[2 * n + 3 : 2 * n + 9], data.out[2 * n + 9 : 2 * n + 45]
    e, Ke, w = data.rows[0], data.rows[1], data.rows[2]
    elastic, exerted, ahead = data.rows[3], data.rows[4], data.rows[5]
    braking, null = data.rows[6], data.rows[7]
    pull, momentum, a, b = task.force, task.y[4], task.x[6], task.x[7]
    law.expand_state(sizes, data)
    law.joint_error(work, sizes, data, data.state[start + 19 : start + 19 + sizes.nq], e)
    status = fill_task(work, sizes, data, task, frame, first, tau)
    T = axes_of(data.memory, reference)
    turning = data.memory[frame_force.IN_FRAME] != 0.0
    rotation, translation, turned = spring(
        work, frame, reference, T, turning, data.gains, rest, task, error
    )
    wanted = reference[7 + first : 7 + first + m]
    posture_v = data.state[start + 25 + sizes.nq : start + 25 + sizes.nq + n]
    posture_a = data.state[start + 25 + sizes.nq + n : start + 25 + sizes.nq + 2 * n]
    wanted_rate = reference[13 + first : 13 + first + m]
    feed_forward(task, first, wanted, wanted_rate, posture_v, posture_a, w, ahead)
    posture = bounded_spring(data.gains, POSTURE, data.gains[rest + 5 : rest + 5 + n], e, Ke)
    moved = law.inner(Ke, posture_v)  # W that potentials lose as the posture's reference moves
    at_ends, fade = data.rows[8], regularity(task)
    ends, with_reference = lead_away(sizes, data, e, posture_v, at_ends)
    moved += with_reference
    for k in range(n):
        null[k] = Ke[k] + fade * at_ends[k]
        Ke[k] += at_ends[k]
    pass_null(task, null, elastic, a, b)
    for k in range(n):
        s[k] = v[k] - w[k]
        for r in range(m):
            elastic[k] += task.J[r, k] * pull[first + r]
    R, _ = frame_placement(work, frame)
    fill_damping(task, data.gains, data.memory, first, rest, R, T)
    cut_elastic(task, w, elastic, exerted)
    faster = max(boost(task, w, exerted), speeding(task, v))
    # D s, of the frame and of all joints, then that of the posture: N D_n Nᵀ s
    multiply(task.D, s, braking)
    null_velocity(task, s, null, a, b)
    law.times(data.gains, POSTURE + n * n, null, momentum)
    pass_null(task, momentum, null, a, b)
    multiply(task.M, s, momentum)
    for k in range(n):
        braking[k] += null[k] + faster * momentum[k]
        tau[k] += ahead[k] - exerted[k] - braking[k]
    decouple(task, s, tau)
    # What the potentials gain beside what the elastic torque takes from the motion.
    brought = law.inner(Ke, v) - moved - law.inner(s, exerted) - law.inner(s, task.missing)
    for r in range(m):
        brought += pull[first + r] * (law.inner(task.J[r], v) - wanted[r])
    brought += turned if first + m == 6 else 0.0
    exert(work, control[0], sizes, data, task, first, rest, R, T)
    for r in range(m):
        brought += task.wrench[first + r] * law.inner(task.J[r], s)
    storage = 0.5 * law.inner(s, momentum) + posture + ends
    storage += (rotation if first == 0 else 0.0) + (translation if first + m == 6 else 0.0)
    report[:] = 0.0
    for r in range(m):
        for c in range(m):
            report[6 * (first + r) + first + c] = task.inertia[r, c]
    law.put_power(sizes, data, storage, law.inner(s, braking), brought)
    return 0 if status == OK else SOLVER


@routine
def exert(work, control, sizes, data, task, first, rest, R, T):
    """Add the torque of the wrench to exert, which `task.wrench` (6,) becomes."""
    n, m, start = sizes.nv, len(task.g), first_reference(sizes)
    wanted = data.state[start + 19 + sizes.nq : start + 25 + sizes.nq]
    exerted, limits = task.exerted, data.gains[rest + 3 : rest + 5]
    if data.memory[frame_force.ACTIVE] != 0.0:
        fill_exerted(sizes, data, task, R, first, exerted, task.x[0])
    learns = control.cut == 0
    elapsed, memory = control.elapsed, data.memory
    fill_wrench(memory, task, T, first, wanted, limits, exerted, elapsed, learns, task.wrench)
    for k in range(n):
        for r in range(m):
            data.out[k] += task.J[r, k] * task.wrench[first + r]
    if memory[frame_force.ACTIVE] != 0.0:
        report = data.out[2 * n + 45 : 2 * n + 57]
        for k in range(6):
            report[k], report[6 + k] = exerted[k], memory[frame_force.TOUCHING + k]
