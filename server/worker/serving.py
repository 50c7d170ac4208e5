"""The worker's work: in each lane one job after the other, each answered whatever it holds.

A lane is a thread with a channel, a robot and memory of its own. Kernels release the interpreter's
lock, so that lanes compute beside each other. Batches that a lane knows may come from their clients
directly (direct_requests.py).

A job is a head that says what to `do`, and a body; so is its answer, whose head has `event` and,
when it is done, whether it is `ok`.

    do       body              event       body
                               ready                          once, at first
    model    packed model                                     from now on the robot to compute with
    compute  the request       done        the reply; none where it is `delivered`
    load     a source          done        packed model, or an error reply
                               direct                         `done` batches came directly
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from torqued.client import codec
from torqued.client.direct_batches import REQUEST
from torqued.kernels import Robot
from torqued.server.logs import set_up_log
from torqued.server.requests.operation import WORKER
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.repeated_batches import (
    KnownBatch,
    RepeatedBatches,
    known_batch,
    may_come_again,
)
from torqued.server.requests.replies import as_request_error, refusal, success
from torqued.server.requests.shared_states import StatesMemory, memory_of
from torqued.server.worker.channel import Channel
from torqued.server.worker.direct_requests import DirectRequests
from torqued.server.worker.models import pack, unpack
from torqued.server.worker.source import Source

#: Seconds between two reports of a job's progress, or of how many batches came directly.
REPORT_PERIOD = 0.05
#: s after which a lane that runs in the interpreter lets another one in: what waits there has a
#: core to itself, which stands still meanwhile.
SWITCH = 5e-4

#: Batches that each lane remembers, with the memory of their states and results. A client that
#: still has the last results when it asks for the next ones takes two.
MOST_KNOWN = 4

log = logging.getLogger("torqued")


def serve(channels: Sequence[socket.socket], log_format: str, request_rate: float) -> None:
    """Work until this process is ended, in a lane for each channel; `request_rate` is how many
    requests per second a client may make."""
    set_up_log("INFO", log_format, "torqued.worker")
    sys.setswitchinterval(SWITCH)

    def work(lane: int) -> None:
        try:
            Serving(Channel(channels[lane]), request_rate).run()
        except BaseException:
            log.exception("lane %d failed", lane)
            os._exit(1)  # the daemon answers for all jobs, and starts another process

    for lane in range(1, len(channels)):
        threading.Thread(target=work, args=(lane,), name=f"lane_{lane}", daemon=True).start()
    work(0)


class Serving:
    """The robot, the way back to the daemon, and those who need not go through it."""

    def __init__(self, channel: Channel, request_rate: float) -> None:
        self.channel = channel
        self.robot: Robot | None = None
        self._reported = 0.0
        self._repeated: RepeatedBatches[KnownBatch] = RepeatedBatches(MOST_KNOWN)
        self._direct = DirectRequests(channel, request_rate)
        self._untold = 0  # batches that came directly, and that the daemon does not know of

    def run(self) -> None:
        self._tell({"event": "ready"})
        jobs = {"model": self._model, "compute": self._compute, "load": self._load}
        while True:
            clients = self._direct.wait(REPORT_PERIOD if self._untold else None)
            if clients is None:
                message = self.channel.receive()
                if message is None:
                    return
                head, body = message
                jobs[head["do"]](head, body.bytes)
                continue
            for memory in clients:
                self._compute_directly(memory)
            self._report_directly()

    def _model(self, head: Mapping[str, Any], body: bytes) -> None:
        self.robot = Robot(unpack(body))
        self._repeated.clear()

    def _compute(self, head: Mapping[str, Any], body: bytes) -> None:
        known = self._repeated.get(body)
        if known is not None:
            reply = known.reply(head["id"])
            if reply is not None:
                self._deliver(known.states, reply)
                return
            self._repeated.forget(body)
        try:
            message = codec.decode_reply(body)  # the daemon has looked for what is not allowed
            memory = memory_of(message)
            result = self._result(message)
            known = known_batch(memory, message, result)
            is_direct = known is not None and head["direct"] and self._direct.admit(known.states)
            told = {**result, "direct": known.number} if known and is_direct else result
            reply = success(head["id"], told)
        except Exception as error:
            self._refuse(head, error)
            return
        self._deliver(memory, reply)
        if known is None:
            return
        known.keep(told)
        if may_come_again(message, result):
            self._repeated.put(body, known)
        elif is_direct:
            self._repeated.put_without_bytes(known)

    def _compute_directly(self, memory: StatesMemory) -> None:
        """One request of a client's own; given back where it is not known, or fails."""
        request = memory.request()
        if len(request) < REQUEST.size:  # the client has left
            self._let_go(memory)
            return
        number, identity = REQUEST.unpack(request)
        reply = None
        if self._direct.is_within_rate(memory):
            for known in self._repeated:
                if known.number == number and known.states is memory:
                    reply = known.reply(identity)
        if not memory.takes(request if reply is None else reply):
            self._let_go(memory)
        self._untold += reply is not None

    def _let_go(self, memory: StatesMemory) -> None:
        """Of a client, and of all the memory that is kept for it."""
        self._direct.dismiss(memory)
        self._repeated.keep(lambda known: known.states is not memory)

    def _report_directly(self) -> None:
        now = time.monotonic()
        if self._untold and now > self._reported + REPORT_PERIOD:
            self._reported = now
            self._tell({"event": "direct", "done": self._untold})
            self._untold = 0

    def _deliver(self, memory: StatesMemory | None, reply: bytes) -> None:
        """To the client by its pipe, or through the daemon."""
        if memory is not None and memory.takes(reply):
            self._finish(ok=True, delivered=True)
        else:
            self._finish(reply, ok=True)

    def _result(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self.robot is not None  # the daemon sends the model before any job
        operation = OPERATIONS[message["op"]]
        fields = operation.fields_of(message)
        report = (self._report,) if operation.carried_out_by == WORKER else ()
        return operation.compute(self.robot, fields, *report)

    def _load(self, head: Mapping[str, Any], body: bytes) -> None:
        try:
            model, restart = Source(**codec.decode(body)).load()
        except Exception as error:
            self._refuse(head, error)
        else:
            self._finish(pack(model), ok=True, restart=restart)

    def _refuse(self, head: Mapping[str, Any], error: Exception) -> None:
        refused = as_request_error(error)
        self._finish(refusal(head["id"], refused), ok=False, code=refused.code)

    def _finish(self, body: bytes = b"", **said: Any) -> None:
        """A job is done; whose batches may come here directly is told as well."""
        self._tell({"event": "done", "direct": self._direct.names(), **said}, body)

    def _report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now > self._reported + REPORT_PERIOD:
            self._reported = now
            self._tell({"event": "progress", "done": done, "total": total})

    def _tell(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        self.channel.send(head, body)
