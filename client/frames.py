"""Session frames: valid msgpack of a fixed layout, so that compiled code reads at known offsets.

A frame is a msgpack array of two: a short text, and a binary payload. The text is as long as it
takes for the payload to begin at byte 8, whatever the payload's size; any msgpack library that
writes the shortest form, as all do, writes these bytes.

    payload of a state    sequence number (u64), sender's time in s (f64), q, v, references (f64 …)
    payload of an output  tick (u64), sequence number used (i64), status bits (u64), age of the
                          state in s (f64), compute time in s (f64), time in s (f64), values (f64 …)

The sequence number used is -1 before the first state.
"""

from __future__ import annotations

import struct

PAYLOAD = 8  # where every payload begins
STATE_HEAD = struct.Struct("<Qd")
OUTPUT_HEAD = struct.Struct("<QqQddd")


def prefix(payload: int) -> bytes:
    """The eight bytes before a payload of that many bytes."""
    if payload < 256:
        return b"\x92\xa4tqrd\xc4" + struct.pack(">B", payload)
    if payload < 65536:
        return b"\x92\xa3tqd\xc5" + struct.pack(">H", payload)
    return b"\x92\xa1t\xc6" + struct.pack(">I", payload)
