"""Memory that connections make the daemon hold, bounded: those that go too far are cut.

libzmq bounds the size of a frame and the number of whole messages. Frames of a message whose last
one has not come are neither counted nor handed over (its pipe.cpp and ypipe.hpp), for which it has
no option: whoever may connect could fill the memory with one message that never ends. When its
connection ends, libzmq drops all of it.

So a thread watches the memory of the process. Where that has grown beyond the limit, connections
are cut, in twice as many each time, until it is below it again: first those that are just sending,
then those that say nothing, which lose nothing and come back by themselves, and of sessions those
alone from which no states come. A connection that delivers whole messages holds no unfinished one.
Where cutting does not help, something else has taken the memory: that is logged, and counts as the
daemon's own from then on.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

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
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._stopping = threading.Event()
        #: Bytes of memory at which connections are cut.
        self.mark = self.resident() + self.limit + COMPILING * MIB
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        self._thread.start()

    def ready(self) -> None:
        """Count from here: kernels are compiled."""
        self.mark = self.resident() + self.limit

    def resident(self) -> int:
        """Bytes of memory that the process has."""
        return int(os.pread(self._statm, 128, 0).split()[1]) * self._page

    def statistics(self) -> dict[str, int]:
        """Bytes in use, and at which connections are cut; how many have been."""
        return {"resident": self.resident(), "most": self.mark, "cut": self.cut}

    def close(self) -> None:
        """Watch no longer."""
        self._stopping.set()
        self._thread.join()
        os.close(self._statm)

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK):
            if self.resident() > self.mark:
                self._relieve()

    def _relieve(self) -> None:
        """Cut connections until the memory is below the mark again."""
        before, cut = self.resident(), self.cut
        suspects = self._suspects()
        try:
            for group in doubling(suspects):
                for connection in group:
                    connection.cut()
                self.cut += len(group)
                if self._has_settled():
                    break
        finally:
            for connection in suspects:
                connection.close()
        after = self.resident()
        log.warning(
            "%d MiB of memory in use, at most %d: %d of %d connections cut, now %d MiB",
            before // MIB,
            self.mark // MIB,
            self.cut - cut,
            len(suspects),
            after // MIB,
        )
        if after > self.mark and not self._has_settled():
            self.mark = self.resident() + self.limit
            log.error(
                "no connection holds that memory; connections are cut above %d MiB from now on",
                self.mark // MIB,
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
        """Whether the memory is below the mark, soon enough."""
        deadline = time.monotonic() + SETTLE
        while time.monotonic() < deadline:
            give_back()
            if self.resident() <= self.mark:
                return True
            time.sleep(LOOK)
        return False


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


def give_back() -> None:
    """Have the C library give free memory back to the system; musl does so by itself."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
