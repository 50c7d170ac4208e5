"""The fast path: templates of requests that come again and again, learnt from Python's answers.

fast_path_loop.py answers by them. Where things are in a message is found by encoding it once more
with random numbers in the places of its arrays. So the codec is asked, and nothing here knows how
it writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

from torqued.client import codec
from torqued.client.codec import LARGEST_MESSAGE, PROTOCOL_VERSION
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import QUATERNION_TOLERANCE, texts
from torqued.server.access.rate_limits import RequestRate
from torqued.server.requests.fast_path_loop import (
    INBOX,
    INBOX_LAYOUT,
    LONGEST_NUMBER,
    MESSAGE,
    PREFIX,
    REST,
    TEMPLATE,
    TEMPLATE_LAYOUT,
    InboxSizes,
    TemplateSizes,
)
from torqued.server.transport.event_loop import Source
from torqued.server.transport.framing import Message, complete, receive

Socket = zmq.Socket[bytes]

#: Requests that are remembered; the oldest is forgotten for a new one.
MOST_TEMPLATES = 32
#: Larger replies take so long to compute that nothing is gained.
LARGEST_REPLY = 256 * 1024
#: Larger requests are no controller's; so templates take a few megabytes at most.
LARGEST_REQUEST = 64 * 1024

NO_TEMPLATES = np.zeros(0, TEMPLATE).view(np.recarray)

#: Between a request's first byte and its id.
BEFORE_ID = codec.encode({"protocol": PROTOCOL_VERSION, "id": 0})[1:-1]


class FastPath:
    """A poll of an event loop that has known requests answered by compiled code meanwhile."""

    def __init__(self, robot: Robot, rate: RequestRate, *sockets: Socket) -> None:
        self._sockets = sockets  # that requests come in by
        self._sources: list[Source] = []
        self._taken: Message | None = None  # received, and left to Python
        self._data = np.empty(LARGEST_MESSAGE, np.uint8)  # takes memory only where it is used
        self._clock = np.zeros(2, np.int64)
        self._rate = rate
        self._inbox = np.zeros(1, INBOX).view(np.recarray)
        inbox = self._inbox[0]
        inbox.tolerance = QUATERNION_TOLERANCE
        inbox.rate_clients, inbox.rate_full_at = rate.clients.ctypes.data, rate.full_at.ctypes.data
        inbox.rate_seed, inbox.rate_each = rate.seed, rate.each
        inbox.clock = self._clock.ctypes.data
        self.watch(sockets)
        self.forget(robot)

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
        self.robot = robot
        self._templates = np.zeros(MOST_TEMPLATES, TEMPLATE).view(np.recarray)
        self._kept: list[Any] = [None] * MOST_TEMPLATES  # what the templates point to
        self._next = 0
        self._used = self._templates

    def pause(self, paused: bool) -> None:
        """Leave all requests to Python: while replies are kept there, none may overtake them."""
        self._used = NO_TEMPLATES if paused else self._templates

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

    def learn(self, data: bytes, message: Mapping[str, Any], reply: bytes) -> None:
        """Remember a request that was answered, if it is one that comes again and again."""
        if (
            message["op"] == "dynamics"
            and len(data) <= LARGEST_REQUEST
            and len(reply) <= LARGEST_REPLY
            and self._can_learn(data, message)
        ):
            self._kept[self._next] = self._learn(self._templates[self._next], data, message)
            self._next = (self._next + 1) % MOST_TEMPLATES

    def _can_learn(self, data: bytes, message: Mapping[str, Any]) -> bool:
        """Whether the request has the form that the loop looks for."""
        return (
            data[1:PREFIX] == BEFORE_ID
            and type(message["id"]) is int
            and not self.robot.model.mimics.present
            and message.get("coordinates", "native") == "native"
            and all(is_vector(message[name]) for name in ("q", "v") if name in message)
            and len(data) >= PREFIX + LONGEST_NUMBER
            and codec.encode(message) == data
        )

    def _learn(self, template: Any, data: bytes, message: Mapping[str, Any]) -> tuple[Any, ...]:
        """Fill a template; what has to be kept as long as it is used."""
        robot = self.robot
        start = PREFIX + len(codec.encode({"": message["id"]})) - 2  # after the id
        want, frames = texts(message, "want", ("M", "C", "g")), texts(message, "frames", ())
        plan = robot.plan(want, frames, message.get("representation", "hybrid"))
        places = {name: np.empty(len(message[name])) for name in ("q", "v") if name in message}
        marked = encode_marked({**message, **places}, places.values())
        results, out = plan.allocate_in_one()
        header = {"protocol": PROTOCOL_VERSION, "id": message["id"], "ok": True}
        result = robot.results_of(plan, out)
        reply = encode_marked({**header, **result}, out)
        copies = np.array(
            [
                (array.ctypes.data, reply.index(array.tobytes()) - start, array.nbytes)
                for array in arrays_in(result)
            ],
            np.int64,
        ).reshape(-1, 3)
        results[:] = 0.0
        quaternions = [k for _, k in robot.quaternions]
        sizes = TemplateSizes(
            request=PREFIX + len(data) - start,
            state=robot.nq + robot.nv,
            quaternions=len(quaternions),
            frames=len(plan.frames),
            reply=REST + len(reply) - start,
            copies=len(copies),
        )
        memory = TEMPLATE_LAYOUT.allocate(sizes, given={"frames": plan.frames, "copies": copies})
        memory.arrays.request[:] = np.frombuffer(data[:PREFIX] + data[start:], np.uint8)
        memory.arrays.reply[REST:] = np.frombuffer(reply, np.uint8)[start:]
        memory.arrays.quaternions[:] = quaternions

        template.request_size = 0  # while it is being filled, it fits nothing
        template.arrays = memory.address
        template.q = marked.index(places["q"].tobytes()) - start
        template.v = marked.index(places["v"].tobytes()) - start if "v" in places else -1
        template.nq, template.nv = robot.nq, robot.nv
        template.want, template.representation = plan.flags, plan.representation
        template.out = results.ctypes.data
        template.reply_first, template.reply_size = reply[0], len(reply) - start
        template.request_size = len(data) - start
        return memory, results


def is_vector(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1


def encode_marked(message: Mapping[str, Any], arrays: Any) -> bytes:
    """The message with random bytes in these arrays of its own, which so can be found in it."""
    for array in arrays:
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(os.urandom(array.nbytes), np.uint8)
    return codec.encode(message)


def arrays_in(value: Any) -> Iterator[NDArray[np.float64]]:
    """All arrays of a result, those of frames included."""
    if isinstance(value, dict):
        for item in value.values():
            yield from arrays_in(item)
    elif value.size:
        yield value
