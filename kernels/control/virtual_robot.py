"""Admittance: laws for robots that take positions or velocities, by a virtual robot.

    M(q) v̇ + C v + g = τ + τ_ext

τ is the torque of the law after all guards, held from one state to the next, and τ_ext what the
robot's sensor measures. References, law, walls, limits and fallback act on (q, v), which the robot
is to follow. A step is exact for a constant acceleration, as that of a robot under a held torque.

Whatever τ and τ_ext are, |v| ≤ V and |Δv| ≤ A dt for the speed limit V and A = V / REACH, and a
joint comes no closer to its end than it can brake with half of A. A robot that follows with a lag
of at most T is between q and q behind a low-pass of time constant T, give or take a share of V T.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.status import LAGGING, NONFINITE
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import law
from torqued.kernels.control.joint_limits import joint_limits
from torqued.kernels.control.laws import frame_force
from torqued.kernels.control.references.limiter import approach, clip
from torqued.kernels.control.session_arrays import first_reference
from torqued.kernels.dynamics.articulated import OK, solve_motion
from torqued.kernels.dynamics.frames import HYBRID, fill_jacobian, frame_placement
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.rnea import body_forces, rest_acceleration
from torqued.kernels.input_checks import choice, known_keys, number, shown
from torqued.kernels.primitives.layout import FRAME

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

NAMES = ("sensor", "frame", "lag")
#: What measures external forces, and what a state then carries beside q and v.
SENSORS = ("wrench", "torques", "none")
#: s in which a command may reach the speed limit; 1/s at which it comes up to a joint's end, and
#: the share of that acceleration with which it counts on braking there.
REACH, NEAR_RATE, BRAKING = 0.05, 20.0, 0.5
#: s by which a robot is late by default; and the share of V T by which it may be off beside that.
LAG, LEAST_LAG, TOLERANCE = 0.1, 1e-3, 0.2
#: Share of the speed limit below which a robot stands: a restart makes no larger step in speed.
AT_REST = 0.01
#: Laws and options that a virtual robot, which is as its model, has no use for.
WITHOUT_LAWS, WITHOUT = ("adaptive", "elastic"), ("friction", "integral", "contacts")


@dataclass(frozen=True)
class Admittance:
    """The option, checked."""

    measured: dict[str, law.Shape]  # by the sensor, in each state
    frames: Any  # (1,) FRAME of the wrench; (0,) where none is measured
    lag: float


def admittance(
    robot: Robot, name: str, fields: law.Fields, prepared: law.Prepared
) -> Admittance | None:
    """From the option `admittance` of the law `name`; None: torques are commanded."""
    given = fields.get("admittance")
    if given is None:
        return None
    if not isinstance(given, Mapping):
        wanted = f"a map with any of {', '.join(NAMES)}"
        raise InputError(f"admittance: {shown(given)}, expected {wanted}", "admittance")
    known_keys("admittance", given, NAMES)
    sensor = choice("admittance.sensor", given.get("sensor", "wrench"), SENSORS)
    lag = number("admittance.lag", given.get("lag", LAG))
    shapes: dict[str, law.Shape] = {"torques": (robot.nv,), "wrench": (6,)}
    measured = {frame_force.MEASURED[sensor]: shapes[sensor]} if sensor in shapes else {}
    own, model = fields.get("frame"), robot.model
    frame = given.get("frame", own)
    shared = not prepared.measured or (prepared.measured == measured and frame == own)
    many = model.mimics.present or (joint_limits(robot).coordinate < 0).any()
    for wrong, why in (
        (model.base != "fixed", f"robot {robot.name!r} has a floating base"),
        (many, f"robot {robot.name!r} has joints of several coordinates or that mimic others"),
        (not (robot.limits.effort > 0.0).all(), "a joint without effort carries no virtual robot"),
        (name in WITHOUT_LAWS, f"law {name!r} has nothing to learn or to bend in a virtual robot"),
        (any(map(fields.get, WITHOUT)), f"a virtual robot has no {', '.join(WITHOUT)}"),
        (not shared, "it has the sensor of `force`, at the frame of the law"),
        (
            sensor == "wrench" and not isinstance(frame, str),
            f"frame of the wrench is {frame!r}, expected a name",
        ),
        (not LEAST_LAG <= lag <= 1.0, f"lag is {lag}, expected {LEAST_LAG} … 1 s"),
    ):
        if wrong:
            raise InputError(f"admittance: {why}", "admittance")
    frames: Any = np.zeros(0, FRAME).view(np.recarray)
    if sensor == "wrench":
        frames = robot.frame_table.records([frame], fields.get("point") if frame == own else None)
    return Admittance(measured, frames, lag)


@kernel
def place_virtual(control, sizes, data, has_state, dt):
    """Put the virtual robot's state before the law: the measured one at first, or once restarted.

    Returns LAGGING if the robot is not where its commands lead.
    """
    n = sizes.virtual
    if n == 0 or (control.moves == 0 and not has_state):
        return 0
    q, v, late, measured = data.virtual[0], data.virtual[1], data.virtual[2], data.state[2 * n :]
    for k in range(n if control.moves == 0 else 0):
        q[k] = late[k] = measured[k]
        v[k] = clip(measured[n + k], data.own_speed[k])
    control.moves, status = 1, 0
    for k in range(n):
        data.state[k], data.state[n + k] = q[k], v[k]
        late[k] += dt / (control.lag + dt) * (q[k] - late[k])
        behind, off = late[k] - q[k], measured[k] - q[k]
        if data.turn[k] > 0.0:
            off -= data.turn[k] * math.ceil(off / data.turn[k] - 0.5)
        slack = TOLERANCE * control.lag * data.own_speed[k]
        if has_state and not min(behind, 0.0) - slack <= off <= max(behind, 0.0) + slack:
            status = LAGGING
    return status


@kernel
def stands(sizes, data):
    """Whether robot and virtual robot are at rest: then the robot's position is a command."""
    n, at_rest = sizes.virtual, True
    for k in range(n):
        speed = max(abs(data.virtual[1, k]), abs(data.state[3 * n + k]))
        at_rest = at_rest and speed <= AT_REST * data.own_speed[k]
    return at_rest


@kernel
def fill_external(work, control, sizes, data):
    """The torque of the surroundings on the virtual robot, as measured."""
    external, first = data.external, first_reference(sizes)
    external[:] = 0.0
    if sizes.virtual == 0 or control.feels == 0:
        return
    if len(data.sensed) > 0:
        law.expand_state(sizes, data)
        body_poses(work, data.q_free)
        J, x = data.wall_jacobian, data.state[first - 6 : first]
        fill_jacobian(work, data.sensed[0], HYBRID, J)
        R, _ = frame_placement(work, data.sensed[0])
        for r in range(6):
            i, at = 3 * (r % 3), r - r % 3
            f = R[i] * x[at] + R[i + 1] * x[at + 1] + R[i + 2] * x[at + 2]
            for k in range(sizes.virtual):
                external[k] += J[r, k] * f
    elif sizes.measured > 2 * sizes.virtual:
        law.copy(data.state[first - sizes.virtual : first], external)


@kernel
def move_virtual(work, control, sizes, data, dt):
    """Move the virtual robot by dt, under the torque after all guards, and put out its state.

    Returns NONFINITE where it brakes because what was measured is too large for numbers.
    """
    n, status = sizes.virtual, 0
    if n > 0 and control.moves != 0:
        net, a = data.rows[6], data.rows[7]
        for k in range(n):
            net[k] = data.last[k] + data.external[k]
        law.expand_state(sizes, data)
        body_poses(work, data.q_free)
        bias_accelerations(work, data.v_free, rest_acceleration(work))
        body_forces(work)
        solved = solve_motion(work, net, a) == OK
        for k in range(n):
            q, v = data.state[k], data.state[n + k]
            if not (solved and math.isfinite(a[k])):
                a[k], status = -v / dt if dt > 0.0 else 0.0, NONFINITE
            after = limited_speed(data, k, q, v, a[k], dt)
            # A joint that began beyond its end may go back, but no further.
            low, high = min(data.lower[k], q), max(data.upper[k], q)
            data.virtual[0, k] = min(max(q + 0.5 * dt * (v + after), low), high)
            data.virtual[1, k] = after
    put_command(sizes, data, 1.0)
    return status


@kernel
def limited_speed(data, k, q, v, a, dt):
    """The speed of joint k after dt, within the limits of commands."""
    fastest, ahead = data.own_speed[k], q + v * dt
    most = fastest / REACH
    up = min(fastest, approach(max(data.upper[k] - ahead, 0.0), NEAR_RATE, BRAKING * most))
    down = min(fastest, approach(max(ahead - data.lower[k], 0.0), NEAR_RATE, BRAKING * most))
    wanted = min(max(v + clip(a, most) * dt, -down), up)
    return min(max(wanted, v - most * dt), v + most * dt)


@kernel
def put_command(sizes, data, share):
    """Put out what the robot is to do: position, and a share of its speed."""
    n = sizes.virtual
    observed = n + 2 if len(data.observer) > 0 else 0
    at = len(data.out) - observed - 2 * n
    for k in range(n):
        data.out[at + k], data.out[at + n + k] = data.virtual[0, k], share * data.virtual[1, k]
