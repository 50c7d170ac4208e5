"""What holds a robot when its law cannot: brake to rest with gravity compensated, then hold.

    brake     v̇ = −2 ω v, until all joints are slow or speeds stop falling; then hold
    hold      v̇ = −ω² e − 2 ω v about the position where it began
    gravity   gravity is compensated, motion is damped
    zero      nothing

Where there are springs between motors and links, position and speed are those of motors, which
torques act on directly: what brakes a motor takes energy away however its link swings.

On a fixed base the torque for that v̇ is the inverse dynamics, and what joints carry beyond the
model (unknown_load.py): it suits any pose, any arm and any load that motors can hold. A floating
base stands on contacts that this knows nothing of: there the newest torque of the law is kept,
which carries the robot, and joints are held at once about where they were, as stiffly as a leg in
the air allows with late torques.
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import copy, expand_state, joint_error, project
from torqued.kernels.control.springs import motor_position, motor_velocity
from torqued.kernels.control.unknown_load import (
    AT_REST,
    BESIDE,
    INERTIA,
    LOAD,
    WANTED,
    forget,
    learn,
    load_of,
    motion_torque,
)
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.rnea import fill_gravity

BRAKE, HOLD, GRAVITY, ZERO = 0, 1, 2, 3
KINDS = {"brake": BRAKE, "hold": HOLD, "gravity": GRAVITY, "zero": ZERO}

#: rad/s, ω. A loop that is slow or late allows less: ω times its period and a delay of 3 ms. With
#: springs between motors and links the loop must be slower than those.
HOLD_RATE, LOOP_SHARE, DELAY, ELASTIC_RATE = 30.0, 0.15, 3e-3, 10.0
#: Joints of a floating base, by their least inertia: frequency relative to ω, and damping ratio.
STIFFER, FLOATING_DAMPING = 5.0, 2.0 / 3.0
GRAVITY_DAMPING = 2.0  # 1/s
#: Speeds fall if they are less than this share of what they were, this time ago, s.
FALLING, FALL_TIME = 0.95, 0.05
#: Share of the speed limit: |v| + |e| 1/s below which the load that is compensated stays.
SETTLED = 0.01


@kernel
def reset_fallback(session, data):
    """Forget where an earlier fallback held the robot, and what it carried."""
    session.fallback_holds, session.braking_time = 0, 0.0
    session.braking_speed = math.inf
    forget(data)


@kernel
def brake_or_hold(session, sizes, data, dt):
    """Go from braking to holding once all joints are slow, or speeds do not fall though the law's
    torque has faded; or at once, where that was chosen."""
    if session.fallback_holds != 0 or session.fallback == GRAVITY:
        return
    session.braking_time += dt
    v = motor_velocity(sizes, data)
    if session.fallback == BRAKE and sizes.unactuated == 0:
        speed = 0.0
        for k in range(sizes.nv):
            speed = max(speed, abs(v[k]) / data.speed[k])
        if speed < FALLING * session.braking_speed:
            session.braking_speed, session.braking_time = speed, 0.0
        has_time = session.braking_time < FALL_TIME + session.fade * 1e-9
        if speed > AT_REST and has_time:
            return
    session.fallback_holds = 1
    copy(motor_position(sizes, data), data.hold_at)


@kernel
def fallback_torque(work, session, sizes, data, dt, tau):
    """The torque (nv,) of a fallback that has states."""
    tau[:] = 0.0
    if session.fallback == ZERO:
        return
    brake_or_hold(session, sizes, data, dt)
    e, wanted = data.rows[0], data.unknown[WANTED]
    v = motor_velocity(sizes, data)
    expand_state(sizes, data)
    if session.fallback_holds != 0:
        drive_error(work, sizes, data, e)
    else:
        e[:] = 0.0
    omega = min(HOLD_RATE, LOOP_SHARE / (dt + DELAY))
    if sizes.unactuated > 0:
        hold_floating(sizes, data, STIFFER * omega, e, v, tau)
        return
    if sizes.springs > 0:
        omega = min(omega, ELASTIC_RATE)
    rate = GRAVITY_DAMPING if session.fallback == GRAVITY else 2.0 * omega
    # Nothing is learned from a state that is estimated because encoders are frozen.
    learns = session.fallback != GRAVITY and sizes.springs == 0 and session.refusal == 0
    learns = learns and sizes.virtual == 0  # which is as its model
    if learns:
        learn(work, sizes, data, v, True, dt)
        data.unknown[BESIDE] = 0.0
    for k in range(sizes.nv):
        wanted[k] = -(omega**2) * e[k] - rate * v[k]
    motion_torque(work, data, wanted, tau)
    for k in range(sizes.springs):
        tau[k] += data.motor_inertia[k] * wanted[k]
    for k in range(sizes.nv if learns else 0):
        if abs(v[k]) + abs(e[k]) > SETTLED * data.speed[k]:
            data.unknown[LOAD, k] = load_of(data, k)
        tau[k] += data.unknown[INERTIA, k] * wanted[k] + data.unknown[LOAD, k]


@kernel
def drive_error(work, sizes, data, e):
    """How far what torques act on is from where it is held; needs expand_state."""
    if sizes.springs == 0:
        joint_error(work, sizes, data, data.hold_at, e)
        return
    at = motor_position(sizes, data)
    for k in range(sizes.nv):
        e[k] = at[k] - data.hold_at[k]


@kernel
def hold_floating(sizes, data, omega, e, v, tau):
    """The newest torque of the law, and springs beside it."""
    for k in range(sizes.unactuated, sizes.nv):
        pull = omega**2 * e[k] + 2.0 * FLOATING_DAMPING * omega * v[k]
        tau[k] = data.held[k] - data.least_inertia[k] * pull


@kernel
def gravity_torque(work, sizes, data, tau):
    """Gravity at the last known state."""
    expand_state(sizes, data)
    body_poses(work, data.q_free)
    composite_inertias(work)
    fill_gravity(work, data.tau_free)
    project(data, data.tau_free, tau)
