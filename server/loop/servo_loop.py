"""The loop: one compiled function in its own thread, entered once, never in the interpreter.

    deadline → for each open session: session_tick.py → ring_writer.py

Deadlines are absolute. A tick that comes so late that the next deadline has passed skips the
missed ones and counts them; it never runs ticks in a burst.
"""

from __future__ import annotations

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.payload import ASKED, TAKEN
from torqued.kernels.control.session_arrays import arrays_of, control_at
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.system_calls import now, processor_time, sleep_until
from torqued.server.loop.loop_records import SHARED
from torqued.server.loop.ring_writer import write_loop
from torqued.server.loop.session_call import call_session
from torqued.server.loop.session_lock import BY_LOOP, acquire, release, try_acquire
from torqued.server.loop.session_output import close_session, count
from torqued.server.loop.session_states import CLOSING, OPEN


@entry(WORK, SHARED)
def run_servo(handle, shared):
    """Serve all sessions at each deadline until `running` is 0.

    A loop that is entered again continues from its last deadline, and counts those that passed
    meanwhile as missed.
    """
    loop = shared.loop[0]
    while loop.running:
        next_deadline(loop)
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


@kernel
def next_deadline(loop):
    """A period after the last; those that have passed by more than a period are skipped."""
    loop.deadline += loop.period
    time = now(loop.clock)
    if time > loop.deadline + loop.period:
        skipped = (time - loop.deadline) // loop.period
        loop.missed += skipped
        loop.deadline += skipped * loop.period


@kernel
def sleep_and_spin(loop):
    """Sleep until the deadline; with `spin`, poll the clock at the end."""
    sleep_until(loop.deadline - loop.spin, loop.clock)
    if loop.spin > 0:
        begin = now(loop.clock)
        time = begin
        while time < loop.deadline:
            time = now(loop.clock)
        loop.spun += time - begin
        loop.processor = processor_time(loop.clock)  # budgets do not count polling


@kernel
def serve(handle, loop, session):
    """What a tick does for an open session."""
    if session.on_arrival == 0:
        call_session(loop.serve, handle, loop, session)
    elif needs_loop(loop, session) and try_acquire(session, BY_LOOP):
        call_session(loop.serve, handle, loop, session)
        release(session)


@kernel
def needs_loop(loop, session):
    """Whether the loop has to serve a session whose states are answered as they arrive.

    It does if no state has come, or none for too long, and if there is an order.
    """
    is_silent = session.lock_step == 0 and loop.time - session.arrived > session.stale_after
    if session.sequence < 0 or is_silent:
        return True
    if session.order_taken != session.order_number or session.tuned != session.tuning:
        return True
    load = arrays_of(control_at(session.control)).load_steps
    if load[TAKEN] != load[ASKED] or 0 < session.lease_deadline < loop.time:
        return True
    return loop.stop_requested != 0 or session.halt_requested != 0


@kernel
def close(loop, session):
    """What a tick does for a session that is to end; if its thread serves it, the next tick."""
    if try_acquire(session, BY_LOOP):
        close_session(loop, session)
        release(session)
