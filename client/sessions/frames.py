"""Session frames: valid msgpack of a fixed layout, so that compiled code reads at known offsets.

A frame is a msgpack array of two: a short text, whose length makes the payload begin at byte 8, and
a binary payload. Any msgpack library that writes shortest forms, as all do, writes these bytes. All
numbers are 8 bytes, little-endian.

    payload of a state    head (STATE_FIELDS), then q, v and references (f64 …)
    payload of an output  head (OUTPUT_FIELDS), then values (f64 …)
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

PAYLOAD = 8  # where every payload begins

#: Name, kind and meaning of the numbers before q: one table for code and document.
STATE_FIELDS = (
    ("sequence", "u64", "number of this state, larger than that of any before"),
    ("stamp", "f64", "s, when it was measured, by the sender's monotonic clock"),
    ("at", "f64", "s, the same in the time of the robot: for laws that learn, and observers"),
)
#: The same of an output.
OUTPUT_FIELDS = (
    ("tick", "u64", "number of the tick; what is missing was not received"),
    ("sequence", "i64", "of the state that was used, -1 before the first"),
    ("seen", "i64", "of the newest state that came, used or refused, -1 before the first"),
    ("status", "u64", "bits; 0 is good"),
    ("age", "f64", "s, of the state that was used, at the tick"),
    ("compute", "f64", "s that computing this output took"),
    ("time", "f64", "s, when the tick began, by the daemon's CLOCK_MONOTONIC"),
    ("deadline", "f64", "s, when it should have begun: ticks are whole periods apart"),
    ("stamp", "f64", "s, of the state that was used, as its sender wrote it"),
    ("success_rate", "f64", "share of the last 100 ticks that had a torque of the law"),
    ("reason", "u64", "status bits for which the torque is not the law's, until it is again"),
)


class OutputHead:
    """The same as attributes, for readers of programs."""

    __slots__ = ()

    if TYPE_CHECKING:
        tick: int
        sequence: int
        seen: int
        status: int
        age: float
        compute: float
        time: float
        deadline: float
        stamp: float
        success_rate: float
        reason: int


_KINDS = {"u64": "Q", "i64": "q", "f64": "d"}
STATE_HEAD = struct.Struct("<" + "".join(_KINDS[kind] for _, kind, _ in STATE_FIELDS))
OUTPUT_HEAD = struct.Struct("<" + "".join(_KINDS[kind] for _, kind, _ in OUTPUT_FIELDS))


def prefix(payload: int) -> bytes:
    """The eight bytes before a payload of that many bytes."""
    if payload < 256:
        return b"\x92\xa4tqrd\xc4" + struct.pack(">B", payload)
    if payload < 65536:
        return b"\x92\xa3tqd\xc5" + struct.pack(">H", payload)
    return b"\x92\xa1t\xc6" + struct.pack(">I", payload)
