"""Batches that come again: asked of the daemon's worker itself, without waking the daemon.

The reply to a batch whose states are in this client's memory may give it a number, `direct`. Who
asks for the same batch again, with other numbers in the same memory, then writes that number and
an id to a pipe, from which the worker reads, and the reply comes by the pipe that replies come by
(shared_states.py). What the worker does not compute so, it gives back there as it came: then the
daemon is asked, as it is when the worker has ended and nobody reads from the pipe any more.
"""

from __future__ import annotations

import os
import select
import struct
from collections.abc import Callable

from torqued.client.errors import TimeoutError

#: A request: the batch's number, and the id that the reply brings back.
REQUEST = struct.Struct("<QQ")
#: Batches of one file that are known by their number; then it begins anew.
MAX_KNOWN = 16


class DirectRequests:
    """The requests of one file of states."""

    def __init__(self, replies: int, opened: list[int]) -> None:
        """`replies` is where replies come in; what is open is added to `opened`, to be closed by
        whoever has that list. Raises OSError where there is no pipe to be had."""
        self._replies, self._opened = replies, opened
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        opened += self._reader, self._writer
        self._numbers: dict[bytes, int] = {}
        #: Whether the worker has read from the pipe, and does so no more.
        self.ended = False
        self._sources = select.poll()
        self._sources.register(replies, select.POLLIN)
        self._sources.register(self._writer, 0)  # tells nothing but that nobody reads

    @property
    def descriptor(self) -> int | None:
        """What the worker is told to read from, until it does."""
        return self._reader if self._reader >= 0 else None

    def learn(self, batch: bytes, number: int) -> None:
        """The worker reads from the pipe, and knows a batch by that number."""
        if self._reader >= 0:  # from now on its end is seen
            self._opened.remove(self._reader)
            os.close(self._reader)
            self._reader = -1
        if len(self._numbers) >= MAX_KNOWN:
            self._numbers.clear()
        self._numbers[batch] = number

    def ask(
        self, batch: bytes, identity: int, write: Callable[[int], None], timeout: float
    ) -> bytes | None:
        """The worker's reply to a batch whose numbers `write(identity)` puts to their places; None
        where the daemon has to be asked."""
        number = self._numbers.get(batch)
        if number is None or self.ended:
            return None
        request = REQUEST.pack(number, identity)
        try:
            # Looked at first: to write where nobody reads ends programs that do not ignore SIGPIPE.
            self.ended = bool(self._sources.poll(0)) or not os.write(self._writer, request)
        except OSError:
            self.ended = True
        if self.ended:
            return None
        write(identity)
        ready = dict(self._sources.poll(max(1.0, 1000.0 * timeout)))
        if not ready:
            raise TimeoutError(f"batch: no reply from the daemon's worker within {timeout} s")
        if self._replies not in ready:
            self.ended = True
            return None
        reply = os.read(self._replies, select.PIPE_BUF)
        if reply == request:  # given back
            del self._numbers[batch]
            return None
        return reply
