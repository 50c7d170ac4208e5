"""Clients that ask the worker for batches without the daemon: client/direct_batches.py.

Each has a pipe of its own, which one lane reads from, beside its channel to the daemon and its
inbox, where other lanes leave the batches that they have given a number.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from torqued.server.access.rate_limits import RequestRate
from torqued.server.requests.shared_results import SharedFile
from torqued.server.requests.shared_states import StatesMemory
from torqued.server.worker.channel import Channel

#: Clients of one lane. Others are served through the daemon.
MAX_CLIENTS = 4
#: Requests of a client in a row that cannot be computed. One that goes on has not read what came
#: back, or it is its own replies that come in here.
MAX_GIVEN_BACK = 8


class Numbered(NamedTuple):
    """A batch that has been computed once, and the number by which it may be asked for again."""

    number: int
    states: StatesMemory
    message: Mapping[str, Any]  # the request
    results: SharedFile


class Client:
    """Whose requests a lane reads."""

    def __init__(self, states: StatesMemory, rate: RequestRate) -> None:
        self.states = states
        self._rate, self._name = rate, str(states.process).encode()
        self._given_back = 0

    def is_within_rate(self) -> bool:
        """Count a request, of its process: files of states come and go."""
        return self._rate.try_consume(self._name)

    def makes_sense(self, is_computed: bool) -> bool:
        """Count how a request ended."""
        self._given_back = 0 if is_computed else self._given_back + 1
        return self._given_back < MAX_GIVEN_BACK


class DirectRequests:
    """Where one lane waits: its channel, its inbox and its clients' pipes."""

    def __init__(self, channel: Channel, rate: RequestRate) -> None:
        """`rate` counts the requests of all lanes."""
        self._channel, self._rate = channel.fileno(), rate
        self._inbox: deque[Numbered] = deque()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._clients: dict[int, Client] = {}  # by their pipes
        self._poll = select.poll()
        self._poll.register(self._channel, select.POLLIN)
        self._poll.register(self._bell, select.POLLIN)

    def __len__(self) -> int:
        """Clients that it has or will have; for any thread to ask."""
        return len(self._clients) + len(self._inbox)

    def leave(self, batch: Numbered) -> None:
        """Put a batch into the inbox, from any thread."""
        self._inbox.append(batch)
        os.eventfd_write(self._bell, 1)

    def wait(self, seconds: float | None) -> list[Client] | None:
        """Whose requests have come, once there is something or time is up; None where the channel
        has something: that goes first, as it may be about what the others ask for."""
        ready = [file for file, _ in self._poll.poll(None if seconds is None else 1000 * seconds)]
        if self._bell in ready:
            os.eventfd_read(self._bell)  # the inbox is looked into afterwards in any case
        if self._channel in ready:
            return None
        return [self._clients[file] for file in ready if file != self._bell]

    def numbered(self) -> list[Numbered]:
        """What has been left in the inbox; their clients are read from, from now on."""
        found = []
        while self._inbox:
            batch = self._inbox.popleft()
            pipe = batch.states.requests
            if pipe < 0:  # it has been let go of meanwhile
                continue
            if pipe not in self._clients:
                self._clients[pipe] = Client(batch.states, self._rate)
                self._poll.register(pipe, select.POLLIN)
            found.append(batch)
        return found

    def dismiss(self, client: Client) -> None:
        """Read no more from a client, which sees it."""
        pipe = client.states.requests
        self._poll.unregister(pipe)
        del self._clients[pipe]
        client.states.close_requests()
