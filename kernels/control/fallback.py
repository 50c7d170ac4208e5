"""What holds a robot when its law cannot: brake to rest with gravity compensated, then hold.

    brake     v̇ = −BRAKE_RATE v, until all joints are slow; then hold
    hold      v̇ = −ω² e − 2 ω v about the position where it began
    gravity   gravity is compensated, motion is damped
    zero      nothing

Where there are springs between motors and links, position and speed are those of motors, which
torques act on directly: what brakes a motor takes energy away however its link swings.

On a fixed base the torque for that v̇ is the inverse dynamics: it suits any pose and any arm. A
floating base stands on contacts that this knows nothing of: there the newest torque of the law is
kept, and joints are held about where they were with what their inertia allows.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import copy, expand_state, expand_v, joint_error, project
from torqued.kernels.control.springs import motor_position, motor_velocity
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.rnea import (
    add_armature,
    collect_forces,
    fill_gravity,
    newton_euler_sweep,
    rest_acceleration,
)

BRAKE, HOLD, GRAVITY, ZERO = 0, 1, 2, 3
KINDS = {"brake": BRAKE, "hold": HOLD, "gravity": GRAVITY, "zero": ZERO}

BRAKE_RATE = 20.0  # 1/s
HOLD_RATE = 10.0  # rad/s, critically damped
FLOATING_RATE = 30.0  # rad/s, of joints by their least inertia
GRAVITY_DAMPING = 2.0  # 1/s
#: Share of the speed limit below which a joint counts as at rest; s after which holding begins.
AT_REST, MAX_BRAKING = 0.02, 2.0


@kernel
def reset_fallback(session):
    """Forget where an earlier fallback held the robot."""
    session.fallback_holds = 0
    session.braking_time = 0.0


@kernel
def brake_or_hold(session, sizes, data, dt):
    """Go from braking to holding once all joints are slow; or at once, where that was chosen."""
    if session.fallback_holds != 0 or session.fallback == GRAVITY:
        return
    session.braking_time += dt
    v = motor_velocity(sizes, data)
    if session.fallback == BRAKE and session.braking_time < MAX_BRAKING:
        for k in range(sizes.unactuated, sizes.nv):
            if abs(v[k]) > AT_REST * data.speed[k]:
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
    e, a, v = data.rows[0], data.rows[1], motor_velocity(sizes, data)
    expand_state(sizes, data)
    if session.fallback_holds != 0:
        drive_error(work, sizes, data, e)
    else:
        e[:] = 0.0
    if sizes.unactuated > 0:
        hold_floating(session, sizes, data, e, v, tau)
        return
    rate = 2.0 * HOLD_RATE if session.fallback_holds != 0 else BRAKE_RATE
    if session.fallback == GRAVITY:
        rate = GRAVITY_DAMPING
    for k in range(sizes.nv):
        a[k] = -(HOLD_RATE**2) * e[k] - rate * v[k]
    expand_v(data, a, data.a_free)
    body_poses(work, data.q_free)
    newton_euler_sweep(work, data.v_free, data.a_free, rest_acceleration(work))
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    project(data, data.tau_free, tau)
    for k in range(sizes.springs):
        tau[k] += data.motor_inertia[k] * a[k]


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
def hold_floating(session, sizes, data, e, v, tau):
    """The newest torque of the law, and springs that its joints' inertia allows."""
    for k in range(sizes.unactuated, sizes.nv):
        m = data.least_inertia[k]
        tau[k] = data.held[k] - m * (FLOATING_RATE**2 * e[k] + 2.0 * FLOATING_RATE * v[k])


@kernel
def gravity_torque(work, sizes, data, tau):
    """Gravity at the last known state."""
    expand_state(sizes, data)
    body_poses(work, data.q_free)
    composite_inertias(work)
    fill_gravity(work, data.tau_free)
    project(data, data.tau_free, tau)
