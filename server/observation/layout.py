"""The ring's bytes: its header and its records. docs/RECORDING.md is this file in words.

Nothing but numpy is needed here, so that readers are light. All numbers have 8 bytes and are
little-endian.
"""

from __future__ import annotations

import numpy as np

MAGIC = int.from_bytes(b"torqring", "little")
VERSION = 2
#: Bytes before the first record, and what records begin at multiples of.
HEADER_BYTES, ALIGN = 4096, 64
#: Places in the ring that the header has a record's position for: where to go on after a loss.
MARKS = 256

#: Kinds of records.
PAD, TICK, GAINS, LOAD, LOOP = range(5)

#: `reserved` and `written` lie on separate cache lines, because readers poll them.
HEADER = np.dtype(
    {
        "names": [
            "magic",
            "version",
            "header",
            "capacity",
            "epoch",
            "period",
            "process",
            "closed",
            "reserved",
            "written",
            "records",
            "refused",
            "marks",
        ],
        "formats": ["u8", *["i8"] * 3, "u8", *["i8"] * 7, ("i8", (MARKS,))],
        "offsets": [*range(0, 64, 8), 128, 192, 200, 208, 256],
        "itemsize": HEADER_BYTES,
    }
)

_HEAD = [
    ("number", "i8"),  # of this record, one more than that of the record before
    ("size", "i8"),  # bytes to the next record, this head included
    ("kind", "i8"),  # PAD … LOOP
    ("session", "i8"),  # its number; 0: none
]
HEAD = np.dtype(_HEAD)

#: One tick of one session. Behind it: q, v, references in effect, outputs, all f8.
TICK_HEAD = np.dtype(
    [
        *_HEAD,
        ("index", "i8"),  # ticks of this session before this one
        ("tick", "i8"),  # of the loop
        ("sequence", "i8"),  # of the state that was used, -1 before the first
        ("seen", "i8"),  # of the newest state that came
        ("status", "i8"),  # bits
        ("time", "i8"),  # ns, when the tick began, CLOCK_MONOTONIC
        # ns, when it should have: lateness is time - deadline, which is 0 on arrival of a state
        ("deadline", "i8"),
        ("age", "i8"),  # ns, of the state that was used
        ("compute", "i8"),  # ns that computing took
        ("stamp", "f8"),  # s, of the state, as its sender wrote it
        ("at", "f8"),  # s, the same in the time of the robot
        ("elapsed", "f8"),  # s from the state before to this one; 0 where none came
        ("allowed", "i8"),  # iterations that a solver was allowed; 0: there is none, or all
        ("mode", "i8"),  # bits: MODES
        ("period", "i8"),  # ns, the step of time that limits and filters went by
        ("walls", "i8"),  # bits: which walls changed the torque; common/status.py
        ("reason", "i8"),  # bits: why the torque is not the law's, as in outputs
    ]
)
#: Bits of `mode`.
FALLEN, ORDERED, MOVING, USED, ARRIVAL, REPEATED = 1, 2, 4, 8, 16, 32
MODES = {
    FALLEN: "fallback",
    ORDERED: "ordered",
    MOVING: "moving",
    USED: "law",
    ARRIVAL: "on arrival",
    REPEATED: "repeated",
}

#: Numbers of a session that have changed with tick `index`, or that it begins with: gains, or what
#: bodies carry (m, m c, Ī of each). Behind it: that many f8.
VALUES_HEAD = np.dtype([*_HEAD, ("index", "i8"), ("count", "i8")])

#: One tick of the loop, written after those of its sessions.
LOOP_TICK = np.dtype(
    [
        *_HEAD,
        ("tick", "i8"),
        ("time", "i8"),  # ns
        ("deadline", "i8"),  # ns
        ("compute", "i8"),  # ns, of all sessions, with frames and records
        ("missed", "i8"),  # deadlines so far that passed before they could be served
        ("served", "i8"),  # sessions
    ]
)


def padded(size: int) -> int:
    """Bytes of a record, up to the next."""
    return -(-size // ALIGN) * ALIGN
