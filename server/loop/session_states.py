"""States of a session's slot, and which side moves it on.

              Python              loop               Python
    FREE ──────────────▶ OPEN ───────────▶ CLOSED ──────────────▶ FREE
     record filled        │  ▲ loop stops    ▲     socket closed
                          │  │               │
                   Python │                  │ loop: last frame sent
                          ▼                  │
                       CLOSING ──────────────┘

While a slot is OPEN or CLOSING the loop owns its record, its socket and its controller's memory;
while it is FREE or CLOSED Python does. If states are answered as they arrive, the loop shares these
with the session's thread: the one that holds the lock (session_lock.py) may use them.
"""

from __future__ import annotations

from typing import Any

FREE, OPEN, CLOSING, CLOSED = 0, 1, 2, 3
NAMES = ("FREE", "OPEN", "CLOSING", "CLOSED")

PYTHON, LOOP = "Python", "loop"

#: (from, to) → the side that may do it.
TRANSITIONS = {
    (FREE, OPEN): PYTHON,  # the record is filled
    (OPEN, CLOSING): PYTHON,  # it is to end
    (OPEN, CLOSED): LOOP,  # the loop stops: last frame sent
    (CLOSING, CLOSED): LOOP,  # last frame sent
    (CLOSED, FREE): PYTHON,  # the socket is closed
}

#: Owner of record, socket and controller's memory.
OWNER = {FREE: PYTHON, OPEN: LOOP, CLOSING: LOOP, CLOSED: PYTHON}


def move(record: Any, to: int) -> None:
    """Python's moves, checked against the table; the compiled one is in session_output.py."""
    before = int(record.state)
    if TRANSITIONS.get((before, to)) != PYTHON:
        raise RuntimeError(f"a session's slot cannot go from {NAMES[before]} to {NAMES[to]}")
    record.state = to
