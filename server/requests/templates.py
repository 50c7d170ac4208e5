"""Templates of requests that come again and again, learnt from Python's answers.

Compiled code answers by them, of requests over sockets (fast_path_loop.py) and in shared memory
(page_requests_loop.py). Where things are in a message is found by encoding it once more with random
numbers in the places of its arrays. So the codec is asked, and nothing here knows how it writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client import codec
from torqued.client.codec import PROTOCOL_VERSION
from torqued.kernels import Robot
from torqued.kernels.input_checks import texts
from torqued.server.requests.fast_path_loop import (
    MAX_NUMBER,
    PREFIX,
    REST,
    TEMPLATE,
    TEMPLATE_LAYOUT,
    TemplateSizes,
)

#: Requests that are remembered; the oldest is forgotten for a new one.
MAX_TEMPLATES = 32
#: Larger replies take so long to compute that nothing is gained.
MAX_REPLY = 256 * 1024
#: Larger requests are no controller's; so templates take a few megabytes at most.
MAX_REQUEST = 64 * 1024

#: Between a request's first byte and its id.
BEFORE_ID = codec.encode({"protocol": PROTOCOL_VERSION, "id": 0})[1:-1]


class Templates:
    """What one thread answers by, with a robot of its own."""

    def __init__(self, robot: Robot) -> None:
        self.forget(robot)

    def forget(self, robot: Robot) -> None:
        """Begin anew, with another robot."""
        self.robot = robot
        #: As compiled code takes them.
        self.records = np.zeros(MAX_TEMPLATES, TEMPLATE).view(np.recarray)
        self._kept: list[Any] = [None] * MAX_TEMPLATES  # what the templates point to
        self._next = 0

    def learn(self, data: bytes, message: Mapping[str, Any], reply: bytes) -> None:
        """Remember a request that was answered, if it is one that comes again and again."""
        if (
            message["op"] == "dynamics"
            and len(data) <= MAX_REQUEST
            and len(reply) <= MAX_REPLY
            and self._can_learn(data, message)
        ):
            self._kept[self._next] = self._learn(self.records[self._next], data, message)
            self._next = (self._next + 1) % MAX_TEMPLATES

    def _can_learn(self, data: bytes, message: Mapping[str, Any]) -> bool:
        """Whether the request has the form that the loop looks for."""
        return (
            data[1:PREFIX] == BEFORE_ID
            and type(message["id"]) is int
            and not self.robot.model.mimics.present
            and message.get("coordinates", "native") == "native"
            and all(is_vector(message[name]) for name in ("q", "v") if name in message)
            and len(data) >= PREFIX + MAX_NUMBER
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
