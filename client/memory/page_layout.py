"""The layout of a session's page in shared memory. No system calls here.

    byte 0      PAGE_FIELDS, written once by the daemon
    byte 64     states: how many frames the client has written; the daemon may sleep on this word
    byte 68     1 while the daemon sleeps on it
    byte 128    outputs: how many frames the daemon has written; the client may sleep on this word
    byte 132    1 while the client sleeps on it
    byte 256    slots of states, then slots of outputs

A slot is a lock of 8 bytes and a frame, as it goes over sockets (frames.py). Frame c, counted from
1 on and modulo 2³², is in slot c modulo SLOTS. Its lock is 2 c + 1 while it is being written, and
2 c once it is whole. docs/PROTOCOL.md has the rules for both sides.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

MAGIC = b"tqrdmem1"
#: Frames each way: a reader has SLOTS - 1 periods to copy one.
SLOTS = 4
LINE = 64  # bytes: words of different writers lie on different lines of the processor's cache
STATES, DAEMON_SLEEPS = LINE, LINE + 4
OUTPUTS, CLIENT_SLEEPS = 2 * LINE, 2 * LINE + 4
FIRST_SLOT = 4 * LINE
LOCK_BYTES = 8
#: Counts are numbers of 32 bits, as futexes are.
COUNT_MASK = 0xFFFFFFFF

#: Name and meaning of the numbers after MAGIC, 8 bytes each: one table for code and document.
PAGE_FIELDS = (
    ("page_bytes", "of the whole page"),
    ("slots", "each way"),
    ("states", "byte where the first slot of states begins"),
    ("state_slot", "bytes from one slot of states to the next"),
    ("outputs", "byte where the first slot of outputs begins"),
    ("output_slot", "bytes from one slot of outputs to the next"),
)


class PageLayout(NamedTuple):
    """Sizes and places in bytes, as PAGE_FIELDS explains them."""

    page_bytes: int
    slots: int
    states: int
    state_slot: int
    outputs: int
    output_slot: int

    @classmethod
    def of(cls, state_bytes: int, output_bytes: int) -> PageLayout:
        """The page for whole frames of these sizes."""
        state_slot, output_slot = slot_bytes(state_bytes), slot_bytes(output_bytes)
        outputs = FIRST_SLOT + SLOTS * state_slot
        return cls(
            outputs + SLOTS * output_slot, SLOTS, FIRST_SLOT, state_slot, outputs, output_slot
        )

    def head(self) -> bytes:
        """The first bytes of the page."""
        return MAGIC + struct.pack(f"<{len(self)}Q", *self)


def slot_bytes(frame: int) -> int:
    """Bytes of a lock and a frame, in whole lines."""
    return -(-(LOCK_BYTES + frame) // LINE) * LINE
