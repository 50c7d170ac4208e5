"""The fast path: a poll that has requests answered by templates.py while it waits.

fast_path_loop.py is what waits, and answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import zmq

from torqued.client.codec import MAX_MESSAGE
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import QUATERNION_TOLERANCE
from torqued.server.access.rate_limits import RequestRate
from torqued.server.requests.fast_path_loop import (
    INBOX,
    INBOX_LAYOUT,
    MESSAGE,
    TEMPLATE,
    InboxSizes,
)
from torqued.server.requests.templates import MAX_REPLY, MAX_TEMPLATES, Templates
from torqued.server.transport.event_loop import Source
from torqued.server.transport.framing import Message, complete, receive

__all__ = ["MAX_REPLY", "MAX_TEMPLATES", "FastPath"]

Socket = zmq.Socket[bytes]


NO_TEMPLATES = np.zeros(0, TEMPLATE).view(np.recarray)


class FastPath(Templates):
    """A poll of an event loop that has known requests answered by compiled code meanwhile."""

    def __init__(self, robot: Robot, rate: RequestRate, *sockets: Socket) -> None:
        self._sockets = sockets  # that requests come in by
        self._sources: list[Source] = []
        self._taken: Message | None = None  # received, and left to Python
        self._data = np.empty(MAX_MESSAGE, np.uint8)  # takes memory only where it is used
        self._clock = np.zeros(2, np.int64)
        self._rate = rate
        self._inbox = np.zeros(1, INBOX).view(np.recarray)
        inbox = self._inbox[0]
        inbox.tolerance = QUATERNION_TOLERANCE
        inbox.rate_clients, inbox.rate_full_at = rate.clients.ctypes.data, rate.full_at.ctypes.data
        inbox.rate_seed, inbox.rate_each = rate.seed, rate.each
        inbox.clock = self._clock.ctypes.data
        self.watch(sockets)
        super().__init__(robot)

    def watch(self, sources: Iterable[Source]) -> None:
        """Wait for these; requests are taken from those of them that they come in by."""
        watched = list(sources)
        mine = [source for source in watched if source in self._sockets]
        self._sources = [*mine, *(source for source in watched if source not in self._sockets)]
        sizes = InboxSizes(items=len(self._sources), data=len(self._data))
        self._memory = INBOX_LAYOUT.allocate(sizes, given={"data": self._data})
        items = self._memory.arrays.items
        for item, source in zip(items, self._sources, strict=True):
            if isinstance(source, int):
                item["fd"] = source
            else:
                item["socket"] = source.underlying
        items["events"] = zmq.POLLIN
        self._ready = items["revents"]
        inbox = self._inbox[0]
        inbox.arrays, inbox.socket_count, inbox.first = self._memory.address, len(mine), 0

    def forget(self, robot: Robot) -> None:
        """Begin anew, with another robot."""
        super().forget(robot)
        self._used = self.records

    def pause(self, paused: bool) -> None:
        """Leave all requests to Python: while replies are kept there, none may overtake them."""
        self._used = NO_TEMPLATES if paused else self.records

    @property
    def answered(self) -> int:
        """Requests that compiled code has answered."""
        return int(self._inbox.answered[0])

    def wait(self, milliseconds: int) -> list[Any]:
        """Sources that Python has to see to; none after that time, or now and then."""
        inbox = self._inbox[0]
        inbox.timeout = milliseconds
        handle = self.robot.work.handle
        found = COMPILED.answer_known_requests(handle, self._inbox, self._used)
        ready = [self._sources[k] for k in self._ready.nonzero()[0] if k >= inbox.socket_count]
        if found != MESSAGE:
            return ready
        socket = self._sources[inbox.index]
        arrays = self._memory.arrays
        route, data = arrays.route[: inbox.route_size], arrays.data[: inbox.data_size]
        assert not isinstance(socket, int)  # those come after the sockets
        self._taken = complete(socket, route.tobytes(), data.tobytes(), bool(arrays.more[0]))
        return [socket, *ready]

    def receive(self, socket: Socket) -> Message | None:
        """The message of a socket that had one."""
        if socket not in self._sockets:
            return receive(socket)
        taken, self._taken = self._taken, None
        return taken
