"""ZeroMQ's context of the session sockets, with the id of its I/O thread.

Every state and every torque over a socket passes through that thread. Requests and telemetry have
another context and cannot hold up a torque.

libzmq can set priority and processor of its threads, but aborts the process if the system refuses
(posix_assert in its thread.cpp). So `realtime` sets them from outside, by the thread's id, and
reports a refusal.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zmq

from torqued.server.transport.endpoints import EndpointError

#: Name of the I/O thread, as `top -H` shows it; 15 bytes at most.
THREAD_NAME = "sessions-io"
#: Seconds for libzmq to start its thread.
START_TIMEOUT = 10.0

_numbers = itertools.count(1)


class SessionContext:
    """A context with one I/O thread."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.context: zmq.Context[Any] = zmq.Context(io_threads=1)
        # libzmq puts this number into the names of this context's threads.
        self.context.set(zmq.THREAD_NAME_PREFIX, number)
        self.context.socket(zmq.PAIR).close(linger=0)  # the first socket starts the threads
        self.io_thread = wait_for_thread(f"{number}/ZMQbg/IO/0")
        Path(f"/proc/self/task/{self.io_thread}/comm").write_text(THREAD_NAME)

    def close(self) -> None:
        """Call this when all session sockets are closed; waits for lingering frames."""
        self.context.term()


def wait_for_thread(name: str) -> int:
    """The id of this process's thread of that name; threads name themselves once they run."""
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        for thread, found in thread_names():
            if found == name:
                return thread
        time.sleep(0.001)
    raise EndpointError(f"libzmq did not start a thread {name!r} within {START_TIMEOUT:g} s")


def thread_names() -> Iterator[tuple[int, str]]:
    """Ids and names of this process's threads."""
    for thread in os.listdir("/proc/self/task"):
        try:
            yield int(thread), Path(f"/proc/self/task/{thread}/comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
