"""Lanes for batches that come again: their clients ask for them by number, and the daemon is told.

    number, id ──pipe──▸ the batch of that number, computed once more ──pipe──▸ its reply
                         (something is wrong) ──────────────────────────────▸ number, id

These lanes take no jobs of the daemon's, so that nobody who comes directly waits for a long one.
What is wrong, or not known any more, is given back, and the client asks the daemon.
"""

from __future__ import annotations

import itertools
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from torqued.client import codec
from torqued.client.direct_batches import REQUEST
from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.server.access.rate_limits import RequestRate
from torqued.server.requests.at_once import SHARED, InMemory
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.replies import success
from torqued.server.requests.shared_states import MEMORIES, StatesMemory
from torqued.server.worker.channel import Channel
from torqued.server.worker.direct_requests import MAX_CLIENTS, Client, DirectRequests, Numbered
from torqued.server.worker.models import unpack

#: Batches that a lane remembers, and bytes of their states and results together.
MAX_KNOWN, MAX_BYTES = 16, 128 * 1024 * 1024
#: Bytes of one batch's states, and of its results.
LARGEST = 32 * 1024 * 1024
#: s that a client may take to write its numbers after its request. Others may be waiting; who
#: needs longer asks the daemon, when the numbers are there.
MAX_WRITE = 0.005
#: Seconds between two reports of how many batches came.
REPORT_PERIOD = 0.05

#: Where the id of a reply is, after the byte that says how long it is.
ID = 15
_id = struct.Struct(">I")


class KnownBatch:
    """One whose states and results are both in shared memory."""

    def __init__(self, batch: Numbered) -> None:
        self.states, self._results = batch.states, batch.results
        self.size = batch.states.size + batch.results.size  # bytes
        self._mark = batch.message["states"].get("mark")
        self._message = {**batch.message, "memory": batch.results.name}
        self._number = batch.number
        self._again: Callable[[], Any] | None = None  # None until it has been computed here
        self._reply = bytearray()

    def reply(self, robot: Robot, identity: int) -> bytes | None:
        """Compute it once more; None where something is wrong, which is for the daemon to say."""
        try:
            if self._mark is not None:
                self.states.await_numbers(self._mark, identity, MAX_WRITE)
            with np.errstate(all="ignore"):
                if self._again is None:
                    self._compute(robot)
                else:
                    self._again()
            _id.pack_into(self._reply, ID, identity)
        except Exception:  # whatever it is, it comes again through the daemon, and is told then
            return None
        return bytes(self._reply)

    def _compute(self, robot: Robot) -> None:
        # So that both are found where they were.
        MEMORIES.keep(self.states)
        SHARED.keep(self._results)
        operation = OPERATIONS[self._message["op"]]
        fields = operation.fields_of(self._message)
        result = operation.compute(robot, fields, lambda done, total: None)
        if not isinstance(result, InMemory) or result.file is not self._results:
            raise InputError("the results do not fit into their memory any more")
        self._reply[:] = success(codec.FIRST_ID, {**result, "direct": self._number})
        self._again = result.again


class DirectServing:
    """One such lane: its robot, what it remembers, and the way to the daemon."""

    def __init__(self, channel: Channel, rate: RequestRate) -> None:
        """`rate` counts the requests of all such lanes."""
        self.channel = channel
        self.requests = DirectRequests(channel, rate)
        self._robot: Robot | None = None
        self._known: OrderedDict[int, KnownBatch] = OrderedDict()  # by number
        self._untold, self._reported = 0, 0.0  # batches that the daemon does not know of

    def run(self) -> None:
        self.channel.send({"event": "ready"})
        while True:
            clients = self.requests.wait(REPORT_PERIOD if self._untold else None)
            if clients is None:
                message = self.channel.receive()
                if message is None:
                    return
                self._use(message[1].bytes)
                continue
            for batch in self.requests.numbered():
                self._remember(batch)
            for client in clients:
                self._answer(client)
            self._report()

    def _use(self, model: bytes) -> None:
        """Another robot: all that is known is of the last one."""
        self._robot = Robot(unpack(model))
        self._known.clear()

    def _remember(self, batch: Numbered) -> None:
        self._known[batch.number] = KnownBatch(batch)
        while len(self._known) > MAX_KNOWN or self._bytes() > MAX_BYTES:
            self._known.popitem(last=False)

    def _bytes(self) -> int:
        return sum(known.size for known in self._known.values())

    def _answer(self, client: Client) -> None:
        states = client.states
        request = states.request()
        if len(request) < REQUEST.size:  # the client has left, or has lost its way
            self._let_go(client)
            return
        number, identity = REQUEST.unpack(request)
        # Other lanes may be ready, and give numbers, before this one has heard of a robot.
        known, robot, reply = self._known.get(number), self._robot, None
        if known and known.states is states and robot and client.is_within_rate():
            self._known.move_to_end(number)
            reply = known.reply(robot, identity)
        is_taken = states.takes(request if reply is None else reply)
        if not client.makes_sense(reply is not None) or not is_taken:
            self._let_go(client)
        self._untold += reply is not None

    def _let_go(self, client: Client) -> None:
        """Of a client, and of all the memory that is kept for it."""
        self.requests.dismiss(client)
        for number, known in list(self._known.items()):
            if known.states is client.states:
                del self._known[number]

    def _report(self) -> None:
        now = time.monotonic()
        if self._untold and now > self._reported + REPORT_PERIOD:
            self._reported = now
            self.channel.send({"event": "direct", "done": self._untold})
            self._untold = 0


class DirectLanes:
    """All such lanes, as the others see them."""

    def __init__(self, lanes: Sequence[DirectServing]) -> None:
        self._lanes = lanes
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def number_for(
        self, states: StatesMemory | None, message: Mapping[str, Any], result: Any
    ) -> int | None:
        """The number by which a batch that has been computed may be asked for again; None where it
        may not: too much memory would be kept for it, its client could not be told that it is not
        known any more, or would not tell when it has left."""
        if states is None or states.requests < 0 or states.is_left:
            return None
        if not isinstance(result, InMemory) or max(states.size, result.file.size) > LARGEST:
            return None
        with self._lock:
            lane = states.reader
            if lane is None:
                lane = min(self._lanes, key=lambda lane: len(lane.requests))
                if len(lane.requests) >= MAX_CLIENTS:
                    return None
                states.reader = lane
            number = next(self._numbers)
        lane.requests.leave(Numbered(number, states, message, result.file))
        return number
