"""The loop: one compiled function in its own thread, entered once, never in the interpreter.

    newest state frame → references → law → walls and limits → torque frame
    state_frames.py      kernels/control/evaluation.py
                         or, where that cannot be used, kernels/control/fallback.py

and, once the torque is on its way, all of it into the ring (ring_writer.py).

Deadlines are absolute. A tick that comes so late that the next deadline has passed skips the
missed ones and counts them; it never runs ticks in a burst.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray, types

from torqued.client.frames import OUTPUT_HEAD, PAYLOAD
from torqued.common.status import (
    CLAMPED,
    FALLBACK,
    LAST,
    NONFINITE,
    OVERRUN,
    SOLVER,
    STALE,
    STOPPED,
    WALL,
)
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.fallback import (
    GRAVITY,
    begin_fallback,
    fallback_torque,
    gravity_torque,
)
from torqued.kernels.control.law import copy
from torqued.kernels.control.payload import ASKED, LEFT, TAKEN, ramp_load, take_off
from torqued.kernels.control.references.follow import (
    FROM_ORDERS,
    FROM_STATES,
    forget_command,
    hold,
    move,
)
from torqued.kernels.control.session_arrays import arrays_of, control_at, sizes_of
from torqued.kernels.control.springs import motor_velocity
from torqued.kernels.control.steps import evaluate, follow, guard, put_on
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.system_calls import now, processor_time, sleep_until
from torqued.kernels.primitives.workspace import open_work, pointer
from torqued.server.loop.memory_frames import put_into_page
from torqued.server.loop.order_kinds import HOLD, MOVE, REFERENCES, RESUME
from torqued.server.loop.records import (
    BINS,
    BINS_PER_OCTAVE,
    LOOP,
    SESSION,
    SHARED,
    WINDOW,
)
from torqued.server.loop.ring_writer import write_gains, write_load, write_loop, write_tick
from torqued.server.loop.seqlock import begin_changes, end_changes
from torqued.server.loop.session_call import call_session
from torqued.server.loop.session_lock import BY_LOOP, acquire, release, try_acquire
from torqued.server.loop.session_states import CLOSED, CLOSING, OPEN
from torqued.server.loop.state_frames import age_of, newest_state
from torqued.server.loop.zeromq_calls import send_to

#: Where the values of an output frame begin.
OUTPUT_VALUES = PAYLOAD + OUTPUT_HEAD.size
#: Ticks whose time a session may save up for a tick that takes longer, or owe after one.
MAX_CREDIT, MAX_DEBT = 20, 100
#: Part of what is left of a period since the tick began that a solver may take at its first try;
#: it may try twice. And the iterations that it always has.
SOLVER_SHARE, MIN_ITERATIONS = 0.4, 20


@kernel
def count(histogram, nanoseconds):
    """Put one value into a histogram."""
    microseconds = max(1.0, nanoseconds * 1e-3)
    histogram[min(BINS - 1, int(BINS_PER_OCTAVE * math.log2(microseconds)))] += 1


@kernel
def control_of(session):
    """The record of a session's controller."""
    return control_at(session.control)


@kernel
def ramp_gains(session, data):
    """Take over changed gains, and go one step of the way to them. Whether they have changed."""
    if session.tuned != session.tuning:
        copy(data.wanted, data.target)
        session.ramp = session.wanted_ramp
        session.tuned = session.tuning
    if session.ramp > 0:
        for k in range(len(data.gains)):
            data.gains[k] += (data.target[k] - data.gains[k]) / session.ramp
        session.ramp -= 1
        return True
    return False


@kernel
def take_order(loop, session, control, sizes, data):
    """Do what was ordered since the last tick; a commander that has fallen silent leads to hold."""
    if session.lease > 0 and loop.time > session.lease:
        session.lease = 0
        session.lost_commanders += 1
        hold(control, sizes, data)
    if session.order_taken == session.order_number:
        return
    order = session.order
    if order == RESUME:
        session.resuming = 1
    elif session.fallen == 0 and control.started != 0:
        if order == HOLD:
            hold(control, sizes, data)
        elif order == MOVE:
            move(control, sizes, data, session.order_seconds)
        elif order == REFERENCES:
            if control.source != FROM_ORDERS:
                hold(control, sizes, data)
            for k in range(len(data.command)):
                if math.isfinite(data.ordered[k]):
                    data.command[k] = data.ordered[k]
    session.order_taken = session.order_number


@kernel
def resume(loop, session, control, sizes, data):
    """Give the robot back to the law, which holds the present state until states bring more."""
    session.resuming = session.fallen = 0
    control.started = 0
    if control.source == FROM_ORDERS:
        control.source = FROM_STATES
        forget_command(data)
    # Should the law have no answer now, what was sent last is what it is held from.
    copy(data.last, data.held)
    session.good = loop.time


@kernel
def fall(session, time):
    """Give the robot to the fallback, from now on and until it is resumed."""
    if session.fallen != 0:
        return
    session.fallen, session.resuming = 1, 0
    session.fallbacks += 1
    session.good = min(session.good, time - session.hold)
    begin_fallback(session)


@kernel
def fallback(work, session, sizes, data, has_state, time, dt):
    """The torque of a session without a usable result: the newest one for a while, which fades
    into what the fallback does while states come, and into gravity's or nothing without."""
    over = time - session.good - session.hold
    share = 0.0
    if session.good > 0:
        share = 1.0 if over <= 0 else max(0.0, 1.0 - over / max(1.0, float(session.fade)))
        if over > 0:
            fall(session, time)
    other = data.rows[2]
    other[:] = 0.0
    data.unmodelled[:] = 0.0
    if has_state and session.fallen != 0:
        fallback_torque(work, session, sizes, data, dt, other)
        v = motor_velocity(sizes, data)
        for k in range(sizes.unactuated, sizes.torques):
            other[k] -= session.damping * v[k]
    elif session.fallen != 0:
        begin_fallback(session)  # by the time that states come again, it may be elsewhere
        if session.blind == GRAVITY:
            gravity_torque(work, sizes, data, other)
    for k in range(sizes.torques):
        data.out[k] = share * data.held[k] + (1.0 - share) * other[k]


@kernel
def compute(handle, loop, session, control):
    """Evaluate the law, on the session's time. Returns status bits."""
    session.credit = min(session.credit + session.share, MAX_CREDIT * session.share)
    if session.credit < 0:
        session.overruns += 1
        return OVERRUN
    if control.most_iterations > 0:
        left = loop.period - (now(loop.clock) - loop.time)  # of a tick that woke up late, too
        allowed = max(MIN_ITERATIONS, int(SOLVER_SHARE * left / control.iteration_time))
        control.iterations = min(control.most_iterations, allowed)
    begin = now(loop.clock)
    status = evaluate(handle, control)
    spent = now(loop.clock) - begin
    if spent > session.share:  # what preempted this thread does not count; to ask takes a while
        spent = min(spent, processor_time(loop.clock) - loop.processor)
    # A virtual processor that is taken away for long counts as one period: no single tick demotes.
    spent = min(spent, loop.period)
    session.credit = max(session.credit - spent, -MAX_DEBT * session.share)
    return status


@entry(WORK, types.uint64, types.uint64)
def serve_session(handle, loop_address, session_address):
    """One tick of one session; see session_call.py. Returns its status bits."""
    loop = carray(pointer(loop_address), 1, LOOP)[0]
    session = carray(pointer(session_address), 1, SESSION)[0]
    begin_changes(session)
    control = control_of(session)
    sizes, data, work = sizes_of(control), arrays_of(control), open_work(handle)
    dt = loop.period * 1e-9
    status = newest_state(session, control, data, loop)
    take_order(loop, session, control, sizes, data)
    if ramp_gains(session, data) or session.recorded == 0:
        write_gains(loop, session, data)
    left, taken = data.load_steps[LEFT], data.load_steps[TAKEN]
    ramp_load(data)
    moved = data.load_steps[LEFT] != left or data.load_steps[TAKEN] != taken
    if moved or session.recorded == 0:
        write_load(loop, session, data)
    put_on(handle, control)  # for all that computes until it is taken off
    age = age_of(session, loop.time) if session.sequence >= 0 else 0
    stale = session.sequence < 0 or age > session.stale_after
    begin = now(loop.clock)
    if stale:
        status |= STALE
        session.stale += 1
    if sizes.torques > 0 and loop.stopped != 0:
        status |= STOPPED
        fall(session, loop.time)
    if session.halt != 0:
        session.halt = 0
        fall(session, loop.time)
    has_state = not stale and session.refusal == 0
    if session.resuming != 0 and has_state and loop.stopped == 0:
        resume(loop, session, control, sizes, data)
    usable = has_state and session.fallen == 0
    if usable:
        status |= follow_robot_time(handle, control, dt)
        status |= compute(handle, loop, session, control)
        usable = status & (NONFINITE | SOLVER | OVERRUN) == 0
    if not usable and status & SOLVER == 0:  # what a solver says of its failure is kept
        data.out[:] = 0.0
    if sizes.torques > 0:
        if usable:
            session.good = loop.time - age + session.stale_after
            copy(data.out[: sizes.torques], data.held)
        else:
            status |= FALLBACK
            fallback(work, session, sizes, data, has_state, loop.time, dt)
        status |= guard(handle, control, dt, has_state)
        if session.good == 0:  # what is sent before the law's first torque binds it to nothing
            control.begun = 0
        if status & CLAMPED:
            session.clamped += 1
        if status & WALL:
            session.walls += 1
    take_off(handle, data)
    control.status = status
    count_success(session, usable)
    spent = now(loop.clock) - begin
    send_output(loop, session, data, status, age, spent)
    write_tick(loop, session, control, data, status, usable, age, spent)
    if loop.on_arrival == 0:  # else it is noted once nobody waits; arrival_loop.py
        loop.processor = processor_time(loop.clock)
    end_changes(session, session_address)
    return status


@kernel
def follow_robot_time(handle, control, dt):
    """References move on with the robot's time: where no state came, they stay. Status bits."""
    passed = control.elapsed
    if control.started == 0:
        passed = dt
    if passed > 0.0:
        control.followed = follow(handle, control, passed)
    return control.followed


@kernel
def count_success(session, usable):
    """Keep the share of the last ticks that had a result."""
    if session.sequence >= 0:
        k = session.ticks % WINDOW
        session.window_sum += (1 if usable else 0) - session.window[k]
        session.window[k] = 1 if usable else 0
        session.ticks += 1


@kernel
def success_rate(session):
    return session.window_sum / max(1, min(session.ticks, WINDOW))


@kernel
def send_output(loop, session, data, status, age, spent):
    """Fill the output frame and send it; client/frames.py has the table of its head.

    Returns whether it could be sent.
    """
    head = carray(pointer(session.send + np.uint64(PAYLOAD)), 4, np.int64)
    head[0], head[1], head[2], head[3] = loop.tick, session.sequence, session.seen, status
    times = carray(pointer(session.send + np.uint64(PAYLOAD + 32)), 6, np.float64)
    times[0], times[1] = age * 1e-9, spent * 1e-9
    times[2], times[3], times[4] = loop.time * 1e-9, loop.deadline * 1e-9, session.stamp
    times[5] = success_rate(session)
    at = session.send + np.uint64(OUTPUT_VALUES)
    copy(data.out, carray(pointer(at), len(data.out), np.float64))
    sent = np.int32(0)
    if session.page != 0:
        put_into_page(session)  # where nobody takes it, the next one takes its place
    else:
        sent = send_to(
            session.socket, session.owner, session.owner_size, session.send, session.send_size
        )
    session.status = status
    if session.sequence >= 0:
        count(loop.age, age)
    if sent < 0:
        session.dropped += 1
        return False
    session.outputs += 1
    return True


@kernel
def close_session(loop, session):
    """The last frame of a session: zero torque."""
    control = control_of(session)
    data = arrays_of(control)
    data.out[:] = 0.0
    session.last_sent = 1 if send_output(loop, session, data, FALLBACK | LAST, 0, 0) else 0
    write_tick(loop, session, control, data, FALLBACK | LAST, False, 0, 0)
    session.state = CLOSED


@kernel
def sleep_and_spin(loop):
    """Sleep until the deadline; the last part of that time is spent watching the clock."""
    sleep_until(loop.deadline - loop.spin, loop.clock)
    if loop.spin > 0:
        begin = now(loop.clock)
        time = begin
        while time < loop.deadline:
            time = now(loop.clock)
        loop.spun += time - begin
        loop.processor = processor_time(loop.clock)  # budgets are not for the time spent watching


@kernel
def serve(handle, loop, session):
    """What a tick does for an open session."""
    if session.on_arrival == 0:
        call_session(loop.serve, handle, loop, session)
    elif wants_watch(loop, session) and try_acquire(session, BY_LOOP):
        call_session(loop.serve, handle, loop, session)
        session.served = loop.time
        release(session)


@kernel
def close(loop, session):
    """What a tick does for a session that is to end; once more at the next, where it is served."""
    if try_acquire(session, BY_LOOP):
        close_session(loop, session)
        release(session)


@kernel
def wants_watch(loop, session):
    """Whether the loop has to act for a session whose states are answered as they arrive.

    It does where none has come for too long or at all, and where something was ordered.
    """
    if session.sequence < 0 or loop.time - session.arrived > session.stale_after:
        return True
    if session.order_taken != session.order_number or session.tuned != session.tuning:
        return True
    load = arrays_of(control_of(session)).load_steps
    if load[TAKEN] != load[ASKED] or 0 < session.lease < loop.time:
        return True
    return loop.stopped != 0 or session.halt != 0


@entry(WORK, SHARED)
def run_servo(handle, shared):
    """Serve all sessions at each deadline until `running` is 0.

    A loop that is entered again goes on from its last deadline, and counts those that passed
    meanwhile as it does all that it misses.
    """
    loop = shared.loop[0]
    while loop.running:
        loop.deadline += loop.period
        time = now(loop.clock)
        if time > loop.deadline + loop.period:
            skipped = (time - loop.deadline) // loop.period
            loop.missed += skipped
            loop.deadline += skipped * loop.period
        sleep_and_spin(loop)
        loop.time = now(loop.clock)
        loop.latest = max(loop.latest, loop.time - loop.deadline)
        count(loop.lateness, loop.time - loop.deadline)
        served = 0
        for k in range(len(shared.sessions)):
            session = shared.sessions[k]
            if session.state == OPEN:
                serve(handle, loop, session)
                served += 1
            elif session.state == CLOSING:
                close(loop, session)
        spent = now(loop.clock) - loop.time
        loop.longest = max(loop.longest, spent)
        count(loop.compute, spent)
        write_loop(loop, spent, served)
        loop.processor = processor_time(loop.clock)
        loop.tick += 1
    for k in range(len(shared.sessions)):
        session = shared.sessions[k]
        if session.state == OPEN or session.state == CLOSING:
            loop.time = now(loop.clock)
            acquire(session, BY_LOOP, loop.clock)
            close_session(loop, session)
            release(session)
