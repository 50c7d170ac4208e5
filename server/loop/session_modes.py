"""The modes of a session, the events between them, and who may cause each.

Theory of operation
-------------------
A session is in one mode. The compiled tick (session_tick.py) finds the events since the last tick
and moves the mode by NEXT, in this order:

1. A state has come. With the first one the session leaves WAITING. Until a commander gives an
   order, references come from states: the session follows those of the newest, and holds without
   any. From a commander's first order on, states only bring positions and velocities.
2. The commander's lease has expired, or there is an order: HOLD, MOVE, COMMAND. Orders count in
   FOLLOWING, HOLDING and MOVING; in other modes they have no effect, but for a HOLD before the
   first state or after a RESUME that still waits: the session then holds until the next RESUME.
3. An operator has stopped all sessions (STOP), has ended that (RECOVER), or has stopped this one
   (HALT).
4. RESUME: a request that waits for a fresh state, for 1 s at most, and is forgotten then. The
   session holds that state; then references come from states again.
5. A movement has ended.
6. NO_RESULT: there has been no torque of the law for longer than `stale_after` and `hold`, for lack
   of a fresh state, a finite result, a solver's success or time. Until then the mode stays, the
   last torque of the law is held, and the status has FALLBACK.

The safety argument is three sentences, which test_session_modes.py checks. The law follows
references in FOLLOWING, HOLDING and MOVING alone. NO_RESULT, HALT and STOP lead from each of these
to FALLBACK or STOPPED, and cancel a request to resume. The one event that leads back is RESUME,
from FALLBACK alone: a stop ends by RECOVER and then RESUME.

A stream has no torque, so NO_RESULT, HALT and STOP do not happen to it.

The states of a session's slot are another table: session_states.py.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from torqued.kernels.compilation.jit import kernel


class Mode(IntEnum):
    """Mode of a session."""

    WAITING = 0  # no state has come yet: zero torque
    FOLLOWING = 1  # the law follows references from states or orders
    HOLDING = 2  # the law holds: no references are given
    MOVING = 3  # the law follows a planned movement
    FALLBACK = 4  # kernels/control/fallback.py holds the robot, or the law that it stands by
    STOPPED = 5  # the same, until RECOVER
    CLOSING = 6  # the last frame: zero torque


class Event(IntEnum):
    """What changes a mode. An order of a commander is one of these numbers, in `order`."""

    STATE = 0
    STATE_WITH_REFERENCES = 1
    STATE_WITHOUT_REFERENCES = 2
    HOLD = 3
    MOVE = 4
    COMMAND = 5
    RESUME = 6
    LEASE_EXPIRED = 7
    MOVE_ENDED = 8
    MOVE_ENDED_WITH_REFERENCES = 9
    NO_RESULT = 10
    HALT = 11
    STOP = 12
    RECOVER = 13
    CLOSE = 14


CLIENT, COMMANDER, OPERATOR, LOOP = "client", "commander", "operator", "loop"


class Row(NamedTuple):
    """One event: who may cause it, what it is, and the modes that it changes."""

    causes: tuple[str, ...]
    meaning: str
    changes: dict[Mode, Mode]  # a mode that is not named stays


_WAITING, _FOLLOWING, _HOLDING, _MOVING, _FALLBACK, _STOPPED, _CLOSING = Mode
#: Modes in which the law computes torques.
LAW_MODES = (_FOLLOWING, _HOLDING, _MOVING)

TABLE = {
    Event.STATE: Row((CLIENT,), "a state came; references come from orders", {_WAITING: _HOLDING}),
    Event.STATE_WITH_REFERENCES: Row(
        (CLIENT,),
        "a state came with references, which count",
        {_WAITING: _FOLLOWING, _HOLDING: _FOLLOWING},
    ),
    Event.STATE_WITHOUT_REFERENCES: Row(
        (CLIENT,),
        "a state came without references, and none are ordered",
        {_WAITING: _HOLDING, _FOLLOWING: _HOLDING},
    ),
    Event.HOLD: Row(
        (COMMANDER,),
        "`hold`, `take` or `give`: come to rest",
        {_FOLLOWING: _HOLDING, _MOVING: _HOLDING},
    ),
    Event.MOVE: Row(
        (COMMANDER,), "`move`: a movement begins", {_FOLLOWING: _MOVING, _HOLDING: _MOVING}
    ),
    Event.COMMAND: Row((COMMANDER,), "`command`: follow references", {_HOLDING: _FOLLOWING}),
    Event.RESUME: Row(
        (COMMANDER,),
        "`resume`, once a fresh state is there and no stop holds: hold that state",
        {_FOLLOWING: _HOLDING, _MOVING: _HOLDING, _FALLBACK: _HOLDING},
    ),
    Event.LEASE_EXPIRED: Row(
        (LOOP,),
        "the commander was silent for longer than its lease",
        {_FOLLOWING: _HOLDING, _MOVING: _HOLDING},
    ),
    Event.MOVE_ENDED: Row((LOOP,), "a movement is over", {_MOVING: _HOLDING}),
    Event.MOVE_ENDED_WITH_REFERENCES: Row(
        (LOOP,), "the same, and references were ordered meanwhile", {_MOVING: _FOLLOWING}
    ),
    Event.NO_RESULT: Row(
        (LOOP,),
        "the law had no torque for longer than `hold`",
        dict.fromkeys(LAW_MODES, _FALLBACK),
    ),
    Event.HALT: Row(
        (OPERATOR,),
        "`stop` of this session",
        dict.fromkeys((_WAITING, *LAW_MODES), _FALLBACK),
    ),
    Event.STOP: Row(
        (OPERATOR,),
        "`stop` of all sessions",
        dict.fromkeys((_WAITING, *LAW_MODES, _FALLBACK), _STOPPED),
    ),
    Event.RECOVER: Row((OPERATOR,), "`recover`", {_STOPPED: _FALLBACK}),
    Event.CLOSE: Row(
        (CLIENT, LOOP),
        "`close`, or the daemon ends",
        dict.fromkeys((_WAITING, *LAW_MODES, _FALLBACK, _STOPPED), _CLOSING),
    ),
}


def next_mode(mode: Mode, event: Event) -> Mode:
    """The mode after an event, by the table."""
    return TABLE[event].changes.get(mode, mode)


#: The same for compiled code: NEXT[mode, event].
NEXT = np.array([[next_mode(mode, event) for event in Event] for mode in Mode], np.int64)


@kernel
def advance(session, event):
    """Move a session's mode by an event."""
    session.mode = NEXT[session.mode, event]


@kernel
def in_fallback(session):
    """Whether the fallback gives the torque."""
    return session.mode == Mode.FALLBACK or session.mode == Mode.STOPPED
