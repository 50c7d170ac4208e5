"""A session's frames through shared memory; page_layout.py says where they are.

The daemon makes the page and hands it to whoever knows the session's secret, over a local socket.
Its size is sealed. The daemon checks what a client writes as it checks what comes over sockets:
what a client does to its page harms its own session only.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from torqued.client import futex
from torqued.client.endpoints import check_local
from torqued.client.errors import TimeoutError
from torqued.client.futex import STAYS_IN_ORDER, barrier
from torqued.client.page_layout import (
    CLIENT_SLEEPS,
    COUNT_MASK,
    DAEMON_SLEEPS,
    LOCK_BYTES,
    MAGIC,
    OUTPUTS,
    STATES,
    PageLayout,
)
from torqued.common.errors import TorquedError

#: s for the daemon to hand over a page.
LONGEST_HANDOVER = 5
#: Looks for an output that is whole, where the daemon overtakes each of them.
TRIES = 8
NO_COUNT = -1
#: Numbers of the page's words of 4 bytes.
STATES_WORD, DAEMON_SLEEPS_WORD = STATES // 4, DAEMON_SLEEPS // 4
OUTPUTS_WORD, CLIENT_SLEEPS_WORD = OUTPUTS // 4, CLIENT_SLEEPS // 4


class MemoryChannel:
    """The client's side of a page. Not to be shared between threads."""

    def __init__(self, descriptor: int, opened: Mapping[str, Any]) -> None:
        """`descriptor` is that of the page, which this maps and leaves open."""
        self.spin = float(opened.get("spin", 0.0))
        self._layout = layout = PageLayout(**opened["memory"])
        if os.fstat(descriptor).st_size < layout.page_bytes:
            raise TorquedError(f"the page of this session has not {layout.page_bytes} bytes")
        self._map = mmap.mmap(descriptor, layout.page_bytes)
        self._bytes = memoryview(self._map)
        self._words, self._longs = self._bytes.cast("I"), self._bytes.cast("Q")
        self._state_slots: list[tuple[int, memoryview]] = []
        self._output_slots: list[tuple[int, memoryview]] = []
        if self._bytes[: len(MAGIC)] != MAGIC:
            self.close()
            raise TorquedError("the page of this session is of another version")
        self._address = address_of(self._bytes)
        self._states = futex.Word(self._address + STATES)
        self._outputs = futex.Word(self._address + OUTPUTS)
        self._state_slots = self._slots(layout.states, layout.state_slot, opened["state_bytes"])
        self._output_slots = self._slots(layout.outputs, layout.output_slot, opened["output_bytes"])
        self._sent = self._words[STATES_WORD]  # where another process had the session before
        self._taken = self._words[OUTPUTS_WORD]

    def _slots(self, first: int, size: int, frame: int) -> list[tuple[int, memoryview]]:
        """Of each slot, the number of its lock among those of 8 bytes, and its frame."""
        places = [first + k * size for k in range(self._layout.slots)]
        return [
            (place // 8, self._bytes[place + LOCK_BYTES : place + LOCK_BYTES + frame])
            for place in places
        ]

    def send(self, frame: bytearray | bytes) -> None:
        count = self._sent = (self._sent + 1) & COUNT_MASK
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
        for _ in range(TRIES):
            count = self._words[OUTPUTS_WORD]
            if count == self._taken:
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
                    self._taken = count
                    return data
        return None

    def glance(self) -> bytes | None:
        """The newest output once more, whether or not it has been received: it stays as it was."""
        taken, self._taken = self._taken, NO_COUNT
        data = self.newest()
        self._taken = taken
        return data

    #: The bytes of a frame; a function of C, as there is nothing else to do.
    _frame_in: Callable[[memoryview], bytes] = staticmethod(memoryview.tobytes)

    def receive(self, seconds: float) -> bytes | None:
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
        self._outputs.wait(self._taken, seconds)
        words[CLIENT_SLEEPS_WORD] = 0

    def _watch(self, seconds: float) -> bool:
        """Look for another output again and again, so long at most; whether there is one.

        Whoever wants this processor, or the interpreter's lock, gets it meanwhile: it may be who
        writes the output.
        """
        words, taken = self._words, self._taken
        until = time.monotonic() + seconds
        while words[OUTPUTS_WORD] == taken:
            if time.monotonic() >= until:
                return False
            futex.give_way()
        return True

    def close(self) -> None:
        for _, place in (*self._state_slots, *self._output_slots):
            place.release()
        for view in (self._words, self._longs, self._bytes):
            view.release()
        self._map.close()


def memory_channel(endpoint: str, owner: bytes, opened: Mapping[str, Any]) -> MemoryChannel:
    """The channel of a session that was opened with `transport="memory"`."""
    with asked_for(endpoint, owner) as asked:
        return MemoryChannel(asked.descriptor, opened)


def address_of(view: memoryview) -> int:
    """Where a writable view begins in memory."""
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


class Handover(NamedTuple):
    """A page's file descriptor, and the connection that it came by."""

    descriptor: int
    connection: socket.socket

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
        self.connection.close()


def asked_for(endpoint: str, owner: bytes) -> Handover:
    """The page that a daemon has made for whoever knows the secret `owner`."""
    futex.require_futex()
    check_local(endpoint)
    path = endpoint.removeprefix("ipc://")
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    try:
        # Times of the system's own: with Python's, connecting fails at once where others wait.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            asked.setsockopt(socket.SOL_SOCKET, option, struct.pack("qq", LONGEST_HANDOVER, 0))
        asked.connect(path)
        asked.send(owner)
        _, descriptors, _, _ = socket.recv_fds(asked, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            raise TorquedError(f"the daemon at {path} knows no such session, or has ended it")
    except BaseException as error:
        asked.close()
        if isinstance(error, BlockingIOError):
            raise TimeoutError(f"no page from {path} within {LONGEST_HANDOVER} s") from None
        if isinstance(error, OSError):
            raise TorquedError(f"no page from {path}: {error.strerror}") from None
        raise
    return Handover(descriptors[0], asked)


def handed_over(endpoint: str, owner: bytes) -> int:
    """The descriptor alone."""
    descriptor, connection = asked_for(endpoint, owner)
    connection.close()
    return descriptor
