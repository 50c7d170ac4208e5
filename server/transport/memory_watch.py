"""Memory that connections make the daemon hold, bounded: those that go too far are cut.

libzmq bounds the size of a frame and the number of whole messages. Frames of a message whose last
one has not come are neither counted nor handed over (its pipe.cpp and ypipe.hpp), for which it has
no option: whoever may connect could fill the memory with one message that never ends. When its
connection ends, libzmq drops all of it.

So a thread watches the memory of the process. Where that has grown beyond the limit, and is in use
rather than kept by the C library, connections are cut, in twice as many each time, until it is
below it again: first those that are just sending, then those that say nothing, which lose nothing
and come back by themselves, and of sessions those alone from which no states come. A connection
that delivers whole messages holds no unfinished one. Where cutting does not help, something else
has taken the memory: that is logged, and counts as the daemon's own from then on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from torqued.server.transport.allocation import allocated, give_back, resident
from torqued.server.transport.connections import Address, Connection, connections

log = logging.getLogger("torqued")

MIB = 1 << 20
#: MiB that may be used beyond the limit until the daemon is ready, for compiling kernels.
COMPILING = 2048
#: s between two looks at the memory.
LOOK = 0.01
#: How often, and at intervals of how many s, connections are looked at to see which ones send.
SAMPLES, SAMPLE = 10, 0.001
#: s for libzmq to give memory back after connections were cut.
SETTLE = 0.25

#: States that have been taken from each session, by the address of its socket.
States = Mapping[Address, int]


class MemoryWatch:
    """The thread that watches. `limit` is in MiB, beyond what the daemon has when it is ready."""

    def __init__(
        self,
        limit: int,
        listening: Callable[[], Iterable[Address]],
        states: Callable[[], States],
    ) -> None:
        self.limit = limit * MIB
        self._listening, self._states = listening, states
        #: Connections that have been cut so far.
        self.cut = 0
        self._stopping = threading.Event()
        self._count_from_here(self.limit + COMPILING * MIB)
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        self._thread.start()

    def ready(self) -> None:
        """Count from here: kernels are compiled."""
        self._count_from_here(self.limit)

    def _count_from_here(self, limit: int) -> None:
        #: Bytes that the process may have, and of those may be in use, before connections are cut.
        self.most, self.most_in_use = resident() + limit, allocated() + limit

    def statistics(self) -> dict[str, int]:
        """Bytes that there are, and above which connections may be cut; how many have been."""
        return {"resident": resident(), "most": self.most, "cut": self.cut}

    def close(self) -> None:
        """Watch no longer."""
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK):
            if self._is_too_much():
                self._relieve()

    def _is_too_much(self) -> bool:
        """Whether there is more memory than there may be, and it is in use."""
        return resident() > self.most and allocated() > self.most_in_use

    def _relieve(self) -> None:
        """Cut connections until the memory is below the mark again."""
        before, cut = resident(), self.cut
        suspects = self._suspects()
        settled = False
        try:
            for group in doubling(suspects):
                for connection in group:
                    connection.cut()
                self.cut += len(group)
                settled = self._has_settled()
                if settled:
                    break
        finally:
            for connection in suspects:
                connection.close()
        log.warning(
            "%d MiB of memory, at most %d: %d of %d connections cut, now %d MiB",
            before // MIB,
            self.most // MIB,
            self.cut - cut,
            len(suspects),
            resident() // MIB,
        )
        if not settled:
            self._count_from_here(self.limit)
            log.error(
                "no connection holds that memory; connections are cut above %d MiB from now on",
                self.most // MIB,
            )

    def _suspects(self) -> list[Connection]:
        """Connections that may hold unfinished messages, the likeliest first."""
        before = self._states()
        found = connections(set(self._listening()))
        for _ in range(SAMPLES):
            for connection in found:
                with suppress(OSError):
                    connection.look()
            time.sleep(SAMPLE)
        suspects, proven = divide(found, before, self._states())
        for connection in proven:
            connection.close()
        return suspects

    def _has_settled(self) -> bool:
        """Whether connections have given back what they held, soon enough."""
        deadline = time.monotonic() + SETTLE
        while self._is_too_much():
            if time.monotonic() > deadline:
                return False
            time.sleep(SAMPLE)
        give_back()
        return True


def divide(
    found: Iterable[Connection], before: States, after: States
) -> tuple[list[Connection], list[Connection]]:
    """Connections that are to be suspected, the likeliest first, and those that are not.

    The only connection of a session from which states have come meanwhile holds no other message.
    """
    found = list(found)
    number = Counter(connection.address for connection in found)
    proven: list[Connection] = []
    suspects: list[Connection] = []
    for connection in found:
        address = connection.address
        came = after.get(address, 0) > before.get(address, 0)
        (proven if came and number[address] == 1 else suspects).append(connection)
    suspects.sort(key=lambda connection: (-connection.busy, connection.address in after))
    return suspects, proven


def doubling(suspects: list[Connection]) -> Iterable[list[Connection]]:
    """One, then two more, then four more: few are cut in vain, and many are cut soon."""
    first, count = 0, 1
    while first < len(suspects):
        yield suspects[first : first + count]
        first, count = first + count, 2 * count
