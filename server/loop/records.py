"""Memory that the servo and Python share: one record for the loop, one per session.

Python writes a session's record while its `state` is FREE, then sets it to OPEN; from then on the
servo owns the record and the socket, until Python asks with CLOSING and the servo answers CLOSED.
Counters are written by the servo alone. All fields are 8 bytes wide, so that a reader sees whole
values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import typeof
from numpy.typing import NDArray

MOST_SESSIONS = 16

#: States of a session slot and who moves it on.
FREE = 0  # Python: record may be filled
OPEN = 1  # servo: serves it each tick
CLOSING = 2  # servo: sends a last frame, then CLOSED
CLOSED = 3  # Python: closes the socket, then FREE

#: Bins of the histograms: bin k counts values in [2^(k/16), 2^((k+1)/16)) µs, 4 % wide.
BINS = 384
BINS_PER_OCTAVE = 16

LOOP = np.dtype(
    [
        ("running", "i8"),  # Python sets 0 to stop the loop
        ("period", "i8"),  # ns
        ("tick", "i8"),  # ticks done
        ("missed", "i8"),  # deadlines that passed before they could be served
        ("latest", "i8"),  # ns, largest lateness so far
        ("longest", "i8"),  # ns, longest compute time of a tick so far
        ("clock", "i8", (2,)),  # scratch of the clock calls
        ("lateness", "i8", (BINS,)),  # histogram, per tick
        ("compute", "i8", (BINS,)),  # histogram, per tick
        ("age", "i8", (BINS,)),  # histogram, per session and tick with a state
    ],
    align=True,
)

SESSION = np.dtype(
    [
        ("state", "i8"),  # FREE … CLOSED
        ("control", "u8"),  # address of the controller's record; its `Controller` fills it
        ("socket", "u8"),  # address of the ZeroMQ socket
        ("receive", "u8"),  # address of the buffer for states
        ("receive_size", "i8"),  # bytes of a whole state frame
        ("prefix", "i8"),  # the eight bytes that a state frame begins with
        ("send", "u8"),  # address of the output frame
        ("send_size", "i8"),
        ("sequence", "i8"),  # of the newest state, -1 before the first
        ("received", "i8"),  # ns, when it came
        ("stamp", "f8"),  # s, by the sender's clock
        ("good", "i8"),  # ns, until when the newest torque of the law is good
        ("ramp", "i8"),  # ticks until the gains are what they are changed to
        ("stale_after", "i8"),  # ns
        ("hold", "i8"),  # ns of holding the last torque once stale
        ("fade", "i8"),  # ns of fading it out after that
        ("states", "i8"),  # counters: states received,
        ("bad_states", "i8"),  # of wrong size or form, or not finite,
        ("outputs", "i8"),  # frames sent,
        ("dropped", "i8"),  # frames that the peer was too slow to take,
        ("stale", "i8"),  # ticks with a stale state,
        ("clamped", "i8"),  # ticks with a clamped torque
        ("status", "i8"),  # bits of the newest output
    ],
    align=True,
)


class Shared(NamedTuple):
    """What the servo takes: the loop's record and the sessions'."""

    loop: NDArray[np.void]  # (1,) LOOP
    sessions: NDArray[np.void]  # (MOST_SESSIONS,) SESSION


def shared_memory(period_ns: int) -> Shared:
    """Zeroed records."""
    loop = np.zeros(1, LOOP).view(np.recarray)
    loop.period = period_ns
    sessions = np.zeros(MOST_SESSIONS, SESSION).view(np.recarray)
    sessions.sequence = -1
    return Shared(loop, sessions)


SHARED = typeof(shared_memory(1))
SESSIONS = typeof(shared_memory(1).sessions)


def percentile(histogram: NDArray[np.int64], share: float) -> float:
    """The value in µs below which that share of a histogram lies, interpolated in its bin."""
    below = np.cumsum(histogram)
    wanted = share * int(below[-1])
    if wanted <= 0.0:
        return 0.0
    k = int(np.searchsorted(below, wanted))
    inside = 1.0 - float(below[k] - wanted) / float(histogram[k])
    return float(2.0 ** ((k + inside) / BINS_PER_OCTAVE))
