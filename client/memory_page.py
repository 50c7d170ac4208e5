"""The client's side of a page in shared memory; page_layout.py says where things are on it.

`_native.Page` (native/page.c) does the same without the interpreter, by the same names.
"""

from __future__ import annotations

import ctypes
import struct
import time
from mmap import mmap

from torqued.client import futex
from torqued.client.futex import STAYS_IN_ORDER, barrier
from torqued.client.page_layout import (
    CLIENT_SLEEPS,
    COUNT_MASK,
    DAEMON_SLEEPS,
    LOCK_BYTES,
    OUTPUTS,
    STATES,
    PageLayout,
)

#: Looks for an output that is whole, where the daemon overtakes each of them.
TRIES = 8
NO_COUNT = -1
#: Numbers of the page's words of 4 bytes.
STATES_WORD, DAEMON_SLEEPS_WORD = STATES // 4, DAEMON_SLEEPS // 4
OUTPUTS_WORD, CLIENT_SLEEPS_WORD = OUTPUTS // 4, CLIENT_SLEEPS // 4

_size = struct.Struct("<Q")

#: Bytes before a frame that tell its size.
SIZE = 8


class MemoryPage:
    """Frames out and in. Not to be shared between threads.

    Where frames are `sized`, as those of requests, each has its size before it.
    """

    def __init__(
        self,
        memory: mmap,
        layout: PageLayout,
        state_bytes: int,
        output_bytes: int,
        spin: float,
        sized: bool,
    ) -> None:
        self.spin, self._sized, self._layout = spin, sized, layout
        self._bytes = memoryview(memory)
        self._words, self._longs = self._bytes.cast("I"), self._bytes.cast("Q")
        self.address = address_of(self._bytes)
        self._states = futex.Word(self.address + STATES)
        self._outputs = futex.Word(self.address + OUTPUTS)
        self._state_slots = self._slots(layout.states, layout.state_slot, state_bytes)
        self._output_slots = self._slots(layout.outputs, layout.output_slot, output_bytes)
        self.sent = self._words[STATES_WORD]  # where another process had the session before
        self.taken = self._words[OUTPUTS_WORD]

    def _slots(self, first: int, size: int, frame: int) -> list[tuple[int, memoryview]]:
        """Of each slot, the number of its lock among those of 8 bytes, and its frame."""
        places = [first + k * size for k in range(self._layout.slots)]
        return [
            (place // 8, self._bytes[place + LOCK_BYTES : place + LOCK_BYTES + frame])
            for place in places
        ]

    def send(self, frame: bytearray | bytes | memoryview) -> None:
        """Hand over a frame without waiting."""
        if self._sized:
            frame = _size.pack(len(frame)) + frame
        count = self.sent = (self.sent + 1) & COUNT_MASK
        longs, words = self._longs, self._words
        lock, place = self._state_slots[count % len(self._state_slots)]
        longs[lock] = 2 * count + 1
        if not STAYS_IN_ORDER:
            barrier()
        place[: len(frame)] = frame
        if not STAYS_IN_ORDER:
            barrier()
        longs[lock] = 2 * count
        if not STAYS_IN_ORDER:
            barrier()
        words[STATES_WORD] = count
        if not words[DAEMON_SLEEPS_WORD]:
            barrier()  # either we see that the daemon sleeps, or it sees this state before it does
            if not words[DAEMON_SLEEPS_WORD]:
                return
        self._states.wake()

    def newest(self) -> bytes | None:
        """The newest output that has not been received."""
        for _ in range(TRIES):
            count = self._words[OUTPUTS_WORD]
            if count == self.taken:
                return None
            lock, place = self._output_slots[count % len(self._output_slots)]
            if not STAYS_IN_ORDER:
                barrier()
            if self._longs[lock] == 2 * count:
                if not STAYS_IN_ORDER:
                    barrier()
                data = self._frame_in(place)
                if not STAYS_IN_ORDER:
                    barrier()
                if self._longs[lock] == 2 * count:
                    self.taken = count
                    return data
        return None

    def glance(self) -> bytes | None:
        """The newest output once more, whether or not it has been received: it stays as it was."""
        taken, self.taken = self.taken, NO_COUNT
        data = self.newest()
        self.taken = taken
        return data

    def _frame_in(self, place: memoryview) -> bytes:
        if not self._sized:
            return place.tobytes()
        size: int = _size.unpack_from(place)[0]
        return place[SIZE : SIZE + min(size, len(place) - SIZE)].tobytes()

    def receive(self, seconds: float) -> bytes | None:
        """The same, waiting so long at most."""
        data = self.newest()
        if data is not None:
            return data
        deadline, left = time.monotonic() + seconds, seconds
        while left > 0.0:
            self.wait(left)
            data = self.newest()
            if data is not None:
                return data
            left = deadline - time.monotonic()
        return None

    def wait(self, seconds: float) -> None:
        """Until there is another output, or that time is over; may return early."""
        words = self._words
        if self.spin > 0.0 and self._watch(min(self.spin, seconds)):
            return
        words[CLIENT_SLEEPS_WORD] = 1
        # The system looks at the word once more, after a barrier of its own.
        self._outputs.wait(self.taken, seconds)
        words[CLIENT_SLEEPS_WORD] = 0

    def _watch(self, seconds: float) -> bool:
        """Look for another output again and again, so long at most; whether there is one.

        Whoever wants this processor, or the interpreter's lock, gets it meanwhile: it may be who
        writes the output.
        """
        words, taken = self._words, self.taken
        until = time.monotonic() + seconds
        while words[OUTPUTS_WORD] == taken:
            if time.monotonic() >= until:
                return False
            futex.give_way()
        return True

    def close(self) -> None:
        """Give the memory back."""
        for _, place in (*self._state_slots, *self._output_slots):
            place.release()
        for view in (self._words, self._longs, self._bytes):
            view.release()


def address_of(view: memoryview) -> int:
    """Where a writable view begins in memory."""
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
