"""Clients that ask a lane for batches it knows, without the daemon: client/direct_batches.py.

Each has a pipe of its own that the lane reads from, beside its channel to the daemon.
"""

from __future__ import annotations

import select

from torqued.server.access.rate_limits import RequestRate
from torqued.server.requests.shared_states import StatesMemory
from torqued.server.worker.channel import Channel

#: Clients of one lane. Others are served through the daemon.
MOST_CLIENTS = 4


class DirectRequests:
    """Where one lane waits: its channel, and its clients' pipes."""

    def __init__(self, channel: Channel, rate: float) -> None:
        """`rate` is how many requests per second each client may make."""
        self._channel = channel.fileno()
        self._rate = rate
        self._clients: dict[int, tuple[StatesMemory, RequestRate]] = {}  # by their pipes
        self._poll = select.poll()
        self._poll.register(self._channel, select.POLLIN)

    def names(self) -> list[str]:
        """Of the memory that its clients have their states in."""
        return [memory.name for memory, _ in self._clients.values()]

    def wait(self, seconds: float | None) -> list[StatesMemory] | None:
        """Whose requests have come, once there is something or time is up; None where the channel
        has something: that goes first, as it may be about what the others ask for."""
        ready = [pipe for pipe, _ in self._poll.poll(None if seconds is None else 1000 * seconds)]
        if self._channel in ready:
            return None
        return [self._clients[pipe][0] for pipe in ready]

    def admit(self, memory: StatesMemory) -> bool:
        """Whether a client may ask this lane from now on: by its pipe, which no other lane has."""
        if memory.requests in self._clients:
            return self._clients[memory.requests][0] is memory
        if len(self._clients) >= MOST_CLIENTS or not memory.claim_requests():
            return False
        self._clients[memory.requests] = memory, RequestRate(self._rate)
        self._poll.register(memory.requests, select.POLLIN)
        return True

    def is_within_rate(self, memory: StatesMemory) -> bool:
        """Count a request."""
        return self._clients[memory.requests][1].allows(b"")

    def dismiss(self, memory: StatesMemory) -> None:
        """Read no more from a client, which sees it."""
        self._poll.unregister(memory.requests)
        del self._clients[memory.requests]
        memory.close_requests()
