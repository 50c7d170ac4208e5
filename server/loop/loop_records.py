"""Memory that the loop and Python share: one record for the loop, one per session.

The state of a session (session_states.py) decides which side may write its record, with two
exceptions: Python reads counters at any time, and hands over new gains (`tuning`). All fields are 8
bytes wide, so that a reader sees whole values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import typeof
from numpy.typing import NDArray

MAX_SESSIONS = 16

#: Bins of the histograms: bin k counts values in [2^(k/16), 2^((k+1)/16)) µs, 4 % wide.
BINS = 384
#: Ticks that the success rate is taken over.
WINDOW = 100
BINS_PER_OCTAVE = 16

LOOP = np.dtype(
    [
        ("running", "i8"),  # Python sets 0 to stop the loop
        ("serve", "u8"),  # address of what serves a session; session_call.py
        ("period", "i8"),  # ns
        ("tick", "i8"),  # ticks done
        ("missed", "i8"),  # deadlines that were skipped
        ("latest", "i8"),  # ns, largest lateness so far
        ("longest", "i8"),  # ns, longest compute time of a tick so far
        ("deadline", "i8"),  # ns, of this tick
        ("time", "i8"),  # ns, when this tick began
        ("ring", "u8"),  # address of the ring that ticks are written to; 0: there is none
        ("on_arrival", "i8"),  # 1: the record of a thread that answers states as they arrive
        ("spin", "i8"),  # ns before a deadline that the loop polls the clock instead of sleeping
        ("spun", "i8"),  # ns that it has done so
        ("stop_requested", "i8"),  # 1: all sessions are stopped, until Python sets 0
        ("clock", "i8", (2,)),  # scratch of the clock calls
        ("more", "i8", (2,)),  # scratch of the calls that ask whether a message goes on
        ("processor", "i8"),  # ns, processor time of the thread after its newest tick
        ("lateness", "i8", (BINS,)),  # histogram, per tick
        ("compute", "i8", (BINS,)),  # histogram, per tick
        ("age", "i8", (BINS,)),  # histogram, per session and tick with a state
    ],
    align=True,
)

SESSION = np.dtype(
    [
        ("state", "i8"),  # of its slot, FREE … CLOSED; session_states.py
        ("mode", "i8"),  # what it does; session_modes.py
        ("number", "i8"),  # how clients name it
        ("changes", "i8"),  # beginnings and ends of ticks: odd within one; seqlock.py
        ("control", "u8"),  # address of the controller's record; its `Controller` fills it
        # the connection
        ("socket", "u8"),  # address of the ZeroMQ socket, a ROUTER
        ("owner", "u8"),  # address of the client's routing id
        ("owner_size", "i8"),
        ("route", "u8"),  # buffer for the routing id of a message
        ("receive", "u8"),  # address of the buffer for states
        ("receive_size", "i8"),  # bytes of a whole state frame
        ("parts", "i8"),  # parts of messages that may still be read in this tick
        ("unfinished", "i8"),  # 1: a message has parts that are still to be dropped
        ("prefix", "i8"),  # the eight bytes that a state frame begins with
        ("send", "u8"),  # address of the output frame
        ("send_size", "i8"),
        ("last_sent", "i8"),  # 1: the last frame of the session has been handed to ZeroMQ
        # shared memory in place of a socket; client/memory/page_layout.py
        ("page", "u8"),  # address of the page, 0: the session has a socket
        ("page_states", "i8"),  # byte where the slots of states begin
        ("page_state_slot", "i8"),  # bytes of one of them
        ("page_outputs", "i8"),  # the same for outputs
        ("page_output_slot", "i8"),
        ("page_taken", "i8"),  # count of states at the last read
        ("page_sent", "i8"),  # outputs written so far
        # states that the session's own thread answers as they arrive; arrivals.py
        ("on_arrival", "i8"),  # 1: it does, and the loop serves the session if none come
        ("lock", "u8"),  # address of the word that says which thread serves it; session_lock.py
        ("ring", "u8"),  # address of its own ring, written under the lock; 0: none
        ("arrived", "i8"),  # ns, when a state was last answered on arrival
        ("light", "i8"),  # ns: an answer that takes longer counts as a whole one
        ("spin", "i8"),  # ns that its thread polls for a state before it sleeps
        ("spun", "i8"),  # ns that it has done so
        # the newest state
        ("sequence", "i8"),  # of the state that is used, -1 before the first
        ("seen", "i8"),  # the largest that came, used or refused
        ("refusal", "i8"),  # why that was refused, as status bits; 0: it is used
        ("received", "i8"),  # ns, the tick that took it
        ("stamp", "f8"),  # s, when it was measured, by the sender's clock
        ("at", "f8"),  # s, the same in the time of the robot
        ("same_clock", "i8"),  # 1: the sender's clock is taken for ours
        ("offset", "f8"),  # s, our clock less the sender's, for the fastest state that came
        # encoders that stop; sensor_checks.py
        ("frozen_after", "f8"),  # s in doubt after which a joint is frozen; 0: not checked
        ("checked", "i8"),  # ns, the tick of the last state that was checked; 0: none
        ("checked_at", "f8"),  # s, its time of the robot
        ("settled", "f8"),  # s that states have been checked in a row while the law acted
        # time; session_tick.py
        ("lock_step", "i8"),  # 1: time passes with states alone
        ("served", "i8"),  # ns, when it was last served
        ("had_state", "i8"),  # 1: that had a state that is neither stale nor refused
        ("step", "i8"),  # ns by which this tick moves torques
        # what the fallback goes by
        ("reason", "i8"),  # status bits since the law's last torque, until the fallback is entered
        ("has_torque", "i8"),  # 1: the law has given a torque
        ("overdue", "i8"),  # ns since the state of its newest one was measured
        ("stale_after", "i8"),  # ns
        ("hold", "i8"),  # ns of holding the last torque once stale
        ("fade", "i8"),  # ns of fading it out after that
        ("damping", "f8"),  # N m s/rad, of a brake beside it while states come
        ("fallback", "i8"),  # BRAKE, HOLD, GRAVITY, ZERO; kernels/control/fallback.py
        ("fallback_without_state", "i8"),  # GRAVITY or ZERO: what a torque fades to without states
        ("law_holds", "i8"),  # 1: in the fallback the law goes on, with references at rest
        ("fallback_holds", "i8"),  # 1: the robot has come to rest and is held
        ("braking_speed", "f8"),  # of the fastest joint, relative to its limit: least so far
        ("braking_time", "f8"),  # s since that has fallen
        # orders: Python writes `order_number` after all else, the loop answers in `order_taken`
        ("order", "i8"),  # HOLD, MOVE, COMMAND or RESUME; session_modes.py
        ("order_seconds", "f8"),  # of a movement
        ("order_number", "i8"),
        ("order_taken", "i8"),
        ("resume_requested", "i8"),  # not 0: RESUME waits for a fresh state without a stop,
        ("resume_until", "i8"),  # ns, until then
        ("halt_requested", "i8"),  # Python sets 1: HALT happens at the next tick, which sets 0
        ("lease_deadline", "i8"),  # ns, until when a commander counts as alive; 0: there is none
        # changed gains: Python writes `tuning` after the wanted gains and the ramp, the loop takes
        # them over at its next tick and answers in `tuned`
        ("tuning", "i8"),
        ("tuned", "i8"),
        ("wanted_ramp", "i8"),  # ticks
        ("ramp", "i8"),  # ticks until the gains are reached
        # processor time
        ("share", "i8"),  # ns that the session may use in a tick
        ("credit", "i8"),  # ns that it may still use; below zero it waits
        # counters
        ("states", "i8"),  # states used
        ("bad_states", "i8"),  # of wrong size or form, not finite, refused
        ("old_states", "i8"),  # whose sequence number or stamp was not newer
        ("foreign", "i8"),  # messages of other clients
        ("outputs", "i8"),  # frames sent
        ("dropped", "i8"),  # frames that could not be sent: the client is too slow
        ("stale", "i8"),  # ticks with a stale state
        ("clamped", "i8"),  # ticks with a clamped torque
        ("overruns", "i8"),  # ticks skipped for lack of time
        ("fallbacks", "i8"),  # times that the session entered its fallback
        ("walls", "i8"),  # ticks in which a wall changed the torque
        ("lost_commanders", "i8"),  # leases that expired
        ("window", "i8", (WINDOW,)),  # 1 for each tick with a torque of the law
        ("window_sum", "i8"),  # of all of them
        ("ticks", "i8"),  # since the first state
        ("status", "i8"),  # bits of the newest output
        ("recorded", "i8"),  # ticks that were written into the ring
    ],
    align=True,
)

#: Counters that `sessions` and `stats` reply.
COUNTERS = (
    "states",
    "bad_states",
    "old_states",
    "foreign",
    "outputs",
    "dropped",
    "stale",
    "clamped",
    "overruns",
    "fallbacks",
    "walls",
    "lost_commanders",
)


class Shared(NamedTuple):
    """What the loop takes: its own record and the sessions'."""

    loop: NDArray[np.void]  # (1,) LOOP
    sessions: NDArray[np.void]  # (MAX_SESSIONS,) SESSION


def shared_memory(period_ns: int) -> Shared:
    """Zeroed records."""
    loop = np.zeros(1, LOOP).view(np.recarray)
    loop.period = period_ns
    return Shared(loop, np.zeros(MAX_SESSIONS, SESSION).view(np.recarray))


SHARED = typeof(shared_memory(1))


def percentile(histogram: NDArray[np.int64], share: float) -> float:
    """The value in µs below which that share of a histogram lies, interpolated in its bin."""
    below = np.cumsum(histogram)
    wanted = share * int(below[-1])
    if wanted <= 0.0:
        return 0.0
    k = int(np.searchsorted(below, wanted))
    inside = 1.0 - float(below[k] - wanted) / float(histogram[k])
    return float(2.0 ** ((k + inside) / BINS_PER_OCTAVE))
