"""One tick of one session. Compiled.

    newest state → time → events → mode → references → law → walls and limits → output
    state_frames.py  session_time.py  session_modes.py  kernels/control/evaluation.py
                                       or session_fallback.py  session_output.py

and, once the torque is on its way, all of it into the ring (ring_writer.py).
"""

from __future__ import annotations

import math

from numba import carray, types

from torqued.common.status import (
    CAUSES,
    CLAMPED,
    FALLBACK,
    LAGGING,
    NONFINITE,
    OVERRUN,
    SOLVER,
    STALE,
    STOPPED,
    WALL,
)
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.law import copy
from torqued.kernels.control.payload import LEFT, ramp_load, take_off, take_wanted_load
from torqued.kernels.control.references.follow import (
    FROM_ORDERS,
    FROM_STATES,
    forget_command,
    hold,
    move,
)
from torqued.kernels.control.session_arrays import (
    arrays_of,
    control_at,
    sizes_of,
)
from torqued.kernels.control.steps import evaluate, follow, guard, put_on
from torqued.kernels.control.unknown_load import forget
from torqued.kernels.control.virtual_robot import place_virtual, stands
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.system_calls import now, processor_time
from torqued.kernels.primitives.workspace import open_work, pointer
from torqued.server.loop.loop_records import LOOP, SESSION
from torqued.server.loop.ring_writer import write_gains, write_load, write_tick
from torqued.server.loop.sensor_checks import trust_sensors
from torqued.server.loop.seqlock import begin_changes, end_changes
from torqued.server.loop.session_fallback import (
    enter_fallback,
    fall_back,
    hold_by_law,
    lose_state,
)
from torqued.server.loop.session_modes import Event, Mode, advance, in_fallback
from torqued.server.loop.session_output import count_success, send_output
from torqued.server.loop.session_time import step_in_time
from torqued.server.loop.state_frames import age_of, newest_state
from torqued.server.observation.layout import REPEATED, USED

#: What waits for a fresh state: RESUME, or RESUME and then the HOLD that was ordered after it.
RESUME, RESUME_AND_HOLD = 1, 2
#: ns that RESUME waits for a fresh state: a robot never starts to move long after it was asked.
MAX_RESUME = 1_000_000_000
#: Ticks whose time a session may save up for a tick that takes longer, or owe after one.
MAX_CREDIT, MAX_DEBT = 20, 100
#: Part of what is left of a period since the tick began that a solver may take at its first try;
#: it may try twice. And the iterations that it always has.
SOLVER_SHARE, MIN_ITERATIONS = 0.4, 20


@entry(WORK, types.uint64, types.uint64)
def serve_session(handle, loop_address, session_address):
    """One tick of one session; see session_call.py. Returns its status bits."""
    loop = carray(pointer(loop_address), 1, LOOP)[0]
    session = carray(pointer(session_address), 1, SESSION)[0]
    begin_changes(session)
    control = control_at(session.control)
    sizes, data = sizes_of(control), arrays_of(control)
    before = session.sequence, session.seen
    status = take_state(loop, session, control, data)
    is_new = session.sequence != before[0]
    take_order(loop, session, control, sizes, data)
    age = age_of(session, loop.time) if session.sequence >= 0 else 0
    is_stale = session.sequence < 0 or age > session.stale_after
    begin = now(loop.clock)
    if is_stale:
        status |= STALE
        session.stale += 1
    has_state = not is_stale and session.refusal == 0
    if session.had_state != 0 and not has_state:
        lose_state(session, sizes, data)
    step_in_time(loop, session, control, has_state, is_new, session.seen != before[1])
    repeats = has_state and not is_new
    take_gains(loop, session, data, repeats)
    take_load(loop, session, data, repeats)
    put_on(handle, control)  # until `take_off`
    status |= take_stops(loop, session, control, sizes, data)
    ready = is_new and has_state and loop.stop_requested == 0
    if in_fallback(session):
        ready = ready and stands(sizes, data)
    else:  # else RESUME would keep a robot that lags out of its fallback
        ready = ready and control.status & LAGGING == 0
    if session.resume_requested != 0 and ready:
        resume(session, control, data)
    elif loop.time > session.resume_until:
        session.resume_requested = 0
    usable = False
    if repeats:
        status |= repeat_output(session, control)
    else:
        usable, found = new_output(handle, loop, session, control, has_state, age, status)
        status |= found
        control.status = status
        count_success(session, usable)
    take_off(handle, data)
    spent = now(loop.clock) - begin
    if sizes.virtual == 0 or control.moves != 0:  # no position is safe before a state has come
        send_output(loop, session, data, status, age, spent)
    mode = REPEATED if repeats else (USED if usable else 0)
    write_tick(loop, session, control, data, status, mode, age, spent)
    if loop.on_arrival == 0:  # else it is read while no state waits; arrival_loop.py
        loop.processor = processor_time(loop.clock)
    end_changes(session, session_address)
    return status


@kernel
def repeat_output(session, control):
    """Status bits of a tick between two states: its output is the one before."""
    return (control.status & ~STOPPED) | (FALLBACK if in_fallback(session) else 0)


@kernel
def new_output(handle, loop, session, control, has_state, age, status):
    """Fill `data.out` from the law, or from the fallback. Returns whether it is the law's, and
    status bits."""
    sizes, data, work = sizes_of(control), arrays_of(control), open_work(handle)
    dt = session.step * 1e-9
    lagging = place_virtual(control, sizes, data, has_state, dt)
    status |= lagging
    usable = has_state and (not in_fallback(session) or session.law_holds != 0) and lagging == 0
    if usable:
        status |= follow_robot_time(handle, loop, control)
        status |= compute(handle, loop, session, control)
        usable = status & (NONFINITE | SOLVER | OVERRUN) == 0
    end_move(session, control, data)
    if not usable and status & SOLVER == 0:  # a solver's report of its failure is kept
        data.out[:] = 0.0
    if sizes.torques > 0:
        if usable:
            if in_fallback(session):
                status |= FALLBACK
            else:
                session.reason = 0
            session.has_torque, session.overdue = 1, age
            copy(data.out[: sizes.torques], data.held)
        else:
            if not in_fallback(session):
                session.reason |= status & CAUSES
            status |= FALLBACK
            is_known = has_state or control.moves != 0
            fall_back(work, session, sizes, data, is_known, status & STALE != 0, dt)
        control.feels = 0 if in_fallback(session) else 1
        status |= guard(handle, control, dt, has_state or control.moves != 0)
        if session.has_torque == 0 and not in_fallback(session):
            # Zero before the first torque, the law's or the fallback's, does not limit its rate.
            control.has_last_torque = 0
        if status & CLAMPED:
            session.clamped += 1
        if status & WALL:
            session.walls += 1
    return usable, status


# Events and modes; session_modes.py.


@kernel
def take_state(loop, session, control, data):
    """Take the newest good state. Returns status bits."""
    before = session.sequence
    status = newest_state(session, control, data, loop)
    if session.sequence != before:
        advance(session, event_of_state(control, data))
    return status


@kernel
def event_of_state(control, data):
    """The event of the newest state."""
    if control.source == FROM_ORDERS:
        return Event.STATE
    if is_commanded(data):
        return Event.STATE_WITH_REFERENCES
    return Event.STATE_WITHOUT_REFERENCES


@kernel
def is_commanded(data):
    """Whether any reference is given."""
    given = False
    for k in range(len(data.command)):
        given |= math.isfinite(data.command[k])
    return given


@kernel
def take_order(loop, session, control, sizes, data):
    """Carry out a new order; hold if the commander's lease has expired."""
    if 0 < session.lease_deadline < loop.time:
        session.lease_deadline = 0
        session.lost_commanders += 1
        hold(control, sizes, data)
        advance(session, Event.LEASE_EXPIRED)
    if session.order_taken == session.order_number:
        return
    order = session.order
    if order == Event.RESUME:
        session.resume_requested, session.resume_until = RESUME, loop.time + MAX_RESUME
        trust_sensors(session, data)
    elif order == Event.HOLD and session.resume_requested != 0:
        session.resume_requested = RESUME_AND_HOLD
    if order == Event.HOLD or control.references_latched != 0:
        carry_out(session, control, sizes, data, order)
    session.order_taken = session.order_number


@kernel
def carry_out(session, control, sizes, data, order):
    """Move references and mode by an order, unless the fallback has the robot."""
    if order != Event.RESUME and not in_fallback(session):
        if order == Event.HOLD:
            hold(control, sizes, data)
        elif order == Event.MOVE:
            move(control, sizes, data, session.order_seconds)
        elif order == Event.COMMAND:
            if control.source != FROM_ORDERS:
                hold(control, sizes, data)
            for k in range(len(data.command)):
                if math.isfinite(data.ordered[k]):
                    data.command[k] = data.ordered[k]
        advance(session, order)


@kernel
def take_stops(loop, session, control, sizes, data):
    """Carry out an operator's stops. Returns status bits."""
    status = 0
    if loop.stop_requested == 0:
        advance(session, Event.RECOVER)
    elif sizes.torques > 0:
        status = STOPPED
        session.resume_requested = 0
        hold_by_law(session, control, sizes, data)
        enter_fallback(session, data, Event.STOP)
    if session.halt_requested != 0:
        session.halt_requested = session.resume_requested = 0
        hold_by_law(session, control, sizes, data)
        enter_fallback(session, data, Event.HALT)
    return status


@kernel
def resume(session, control, data):
    """Hand the robot back to the law, which holds the present state until references come."""
    if session.law_holds == 0:
        control.references_latched = 0
    if in_fallback(session):
        control.moves = 0
    session.law_holds = 0
    if session.resume_requested == RESUME_AND_HOLD:
        control.source = FROM_ORDERS
        forget_command(data)
    elif control.source == FROM_ORDERS:
        control.source = FROM_STATES
        forget_command(data)
    session.resume_requested = 0
    forget(data)
    # If the law has no result now, the last torque sent is held.
    copy(data.last, data.held)
    session.has_torque, session.overdue = 1, session.stale_after
    advance(session, Event.RESUME)
    advance(session, event_of_state(control, data))


@kernel
def end_move(session, control, data):
    """Move the mode at the end of a movement, which references/follow.py ends."""
    if session.mode == Mode.MOVING and control.move_seconds == 0.0:
        if is_commanded(data):
            advance(session, Event.MOVE_ENDED_WITH_REFERENCES)
        else:
            advance(session, Event.MOVE_ENDED)


# Gradual changes.


@kernel
def take_gains(loop, session, data, repeats):
    """Take changed gains, and move one step towards them unless the output is repeated."""
    if session.tuned != session.tuning:
        copy(data.wanted, data.target)
        session.ramp = session.wanted_ramp
        session.tuned = session.tuning
    changed = session.ramp > 0 and not repeats
    if changed:
        for k in range(len(data.gains)):
            data.gains[k] += (data.target[k] - data.gains[k]) / session.ramp
        session.ramp -= 1
    if changed or session.recorded == 0:
        write_gains(loop, session, data)


@kernel
def take_load(loop, session, data, repeats):
    """The same for the payload."""
    take_wanted_load(data)
    changed = data.load_steps[LEFT] > 0 and not repeats
    if changed:
        ramp_load(data)
    if changed or session.recorded == 0:
        write_load(loop, session, data)


# Torques.


@kernel
def follow_robot_time(handle, loop, control):
    """Move references with the robot's time. Returns status bits."""
    passed = control.elapsed
    if control.references_latched == 0:
        passed = loop.period * 1e-9
    if passed > 0.0:
        control.followed = follow(handle, control, passed)
    return control.followed


@kernel
def compute(handle, loop, session, control):
    """Evaluate the law within the session's time budget. Returns status bits."""
    session.credit = min(session.credit + session.share, MAX_CREDIT * session.share)
    if session.credit < 0:
        session.overruns += 1
        return OVERRUN
    if control.most_iterations > 0:
        left = loop.period - (now(loop.clock) - loop.time)  # also in a tick that began late
        allowed = max(MIN_ITERATIONS, int(SOLVER_SHARE * left / control.iteration_time))
        control.iterations = min(control.most_iterations, allowed)
    begin = now(loop.clock)
    status = evaluate(handle, control)
    spent = now(loop.clock) - begin
    if spent > session.share:  # preemption does not count; reading this is slow
        spent = min(spent, processor_time(loop.clock) - loop.processor)
    # A processor that the host takes away counts as one period at most: one tick does not demote.
    spent = min(spent, loop.period)
    session.credit = max(session.credit - spent, -MAX_DEBT * session.share)
    return status
