"""Into the fallback of a session, and its torque. Compiled.

What the robot is held by is kernels/control/fallback.py; a robot that stands by a law with a solver
is held by that law after a stop (`law_holds`).
"""

from torqued.common.status import FROZEN, STOPPED
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.fallback import (
    BRAKE,
    GRAVITY,
    HOLD,
    fallback_torque,
    gravity_torque,
    reset_fallback,
)
from torqued.kernels.control.law import copy
from torqued.kernels.control.references.follow import hold
from torqued.kernels.control.session_arrays import first_reference
from torqued.kernels.control.springs import motor_velocity
from torqued.kernels.control.unknown_load import WANTED
from torqued.server.loop.sensor_checks import brake_blindly
from torqued.server.loop.session_modes import Event, advance, in_fallback

#: ns for which a robot with frozen encoders brakes before its torque fades.
FROZEN_BRAKING = 200_000_000


@kernel
def hold_by_law(session, control, sizes, data):
    """Before a stop: where a robot stands by a law with a solver, that goes on and its references
    come to rest, with the contacts as they are. Nothing else knows how to keep the robot up."""
    stands = sizes.unactuated > 0 and control.most_iterations > 0 and session.has_torque != 0
    if in_fallback(session) or not stands or session.fallback not in (BRAKE, HOLD):
        return
    session.law_holds = 1
    hold(control, sizes, data)
    for i in range(len(data.command)):
        if data.is_value[i]:
            data.command[i] = data.state[first_reference(sizes) + i]


@kernel
def lose_law(session, data):
    """From here on the law that held the robot counts as failed, until RESUME."""
    if session.law_holds != 0:
        session.law_holds = 0
        reset_fallback(session, data)


@kernel
def enter_fallback(session, data, event):
    """Hand the robot to the fallback until it is resumed."""
    if not in_fallback(session):
        if event != Event.NO_RESULT:
            session.reason = STOPPED
        session.resume_requested = 0
        session.fallbacks += 1
        session.overdue = max(session.overdue, session.stale_after + session.hold)
        reset_fallback(session, data)
    advance(session, event)


@kernel
def lose_state(session, sizes, data):
    """The fallback has lost the state that it needs: fade from its newest torque. Frozen encoders
    are left to the fallback at once, which brakes by what is known before that fades."""
    is_frozen = session.refusal & FROZEN != 0
    if is_frozen and not in_fallback(session):
        session.reason = FROZEN
        enter_fallback(session, data, Event.NO_RESULT)
    if in_fallback(session):
        lose_law(session, data)
        copy(data.last, data.held)
        session.overdue = session.stale_after + session.hold
        if is_frozen and sizes.unactuated == 0:
            session.overdue -= FROZEN_BRAKING


@kernel
def fall_back(work, session, sizes, data, has_state, is_stale, dt):
    """The torque without a usable result: the last one for a while, then fading into the fallback's
    while states come, and into gravity's or zero without states. The state of a virtual robot is
    always known, and nothing has to fade: it brakes at once."""
    over = session.overdue - session.stale_after - session.hold
    share = 0.0
    if session.has_torque != 0:
        share = 1.0 if over <= 0 else max(0.0, 1.0 - over / max(1.0, float(session.fade)))
        if over > 0:
            lose_law(session, data)
            enter_fallback(session, data, Event.NO_RESULT)
    if session.refusal & FROZEN and sizes.unactuated == 0 and sizes.virtual == 0:
        brake_blindly(work, session, sizes, data, is_stale, dt, data.held)
    other = data.rows[2]
    other[:] = 0.0
    data.unmodelled[:] = 0.0
    if has_state and in_fallback(session):
        fallback_torque(work, session, sizes, data, dt, other)
        if sizes.virtual > 0:
            share = 0.0
        v = motor_velocity(sizes, data)
        for k in range(sizes.unactuated, sizes.torques):
            other[k] -= session.damping * v[k]
    elif in_fallback(session):
        reset_fallback(session, data)  # the robot may be elsewhere when states come again
        if session.fallback_without_state == GRAVITY:
            gravity_torque(work, sizes, data, other)
    for k in range(sizes.torques):
        data.out[k] = share * data.held[k] + (1.0 - share) * other[k]
        data.unknown[WANTED, k] *= 1.0 - share
