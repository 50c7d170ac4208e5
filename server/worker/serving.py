"""The worker's work: in each lane one job after the other, each answered whatever it holds.

A lane is a thread with a channel, a robot and memory of its own. Kernels release the interpreter's
lock, so that lanes compute beside each other.

A job is a head that says what to `do`, and a body; so is its answer, whose head has `event` and,
when it is done, whether it is `ok`.

    do       body              event       body
                               ready                          once, at first
    model    packed model                                     from now on the robot to compute with
    compute  the request       done        the reply; none where it is `delivered`
    load     a source          done        packed model, or an error reply

Other lanes are for batches that come again, without the daemon (direct_serving.py). They hear of
nothing but models, and tell how many they have computed:

                               direct                         so many are `done`
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
from torqued.kernels import Robot
from torqued.server.access.rate_limits import RequestRate
from torqued.server.logs import set_up_log
from torqued.server.requests.operation import WORKER
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.replies import as_request_error, refusal, success
from torqued.server.requests.shared_states import StatesMemory, memory_of
from torqued.server.worker.channel import Channel
from torqued.server.worker.direct_serving import DirectLanes, DirectServing
from torqued.server.worker.models import pack, unpack
from torqued.server.worker.source import Source

#: Seconds between two reports of a job's progress.
REPORT_PERIOD = 0.05
#: s after which a lane that runs in the interpreter lets another one in: what waits there has a
#: core to itself, which stands still meanwhile.
SWITCH = 5e-4

log = logging.getLogger("torqued")


def serve(
    channels: Sequence[socket.socket],
    direct_channels: Sequence[socket.socket],
    log_format: str,
    request_rate: float,
) -> None:
    """Work until this process is ended, in a lane for each channel; `request_rate` is how many
    requests per second a client may make."""
    set_up_log("INFO", log_format, "torqued.worker")
    sys.setswitchinterval(SWITCH)
    rate = RequestRate(request_rate)
    direct = [DirectServing(Channel(end), rate) for end in direct_channels]
    together = DirectLanes(direct)
    lanes = [Serving(Channel(end), together) for end in channels]

    def work(lane: Serving | DirectServing) -> None:
        try:
            lane.run()
        except BaseException:
            log.exception("%s failed", threading.current_thread().name)
            os._exit(1)  # the daemon answers for all jobs, and starts another process

    for number, lane in enumerate([*lanes[1:], *direct], start=1):
        threading.Thread(target=work, args=(lane,), name=f"lane_{number}", daemon=True).start()
    work(lanes[0])


class Serving:
    """The robot, and the way back to the daemon."""

    def __init__(self, channel: Channel, direct: DirectLanes) -> None:
        self.channel = channel
        self.robot: Robot | None = None
        self._direct = direct
        self._reported = 0.0

    def run(self) -> None:
        self._tell({"event": "ready"})
        jobs = {"model": self._model, "compute": self._compute, "load": self._load}
        while (message := self.channel.receive()) is not None:
            head, body = message
            jobs[head["do"]](head, body.bytes)

    def _model(self, head: Mapping[str, Any], body: bytes) -> None:
        self.robot = Robot(unpack(body))

    def _compute(self, head: Mapping[str, Any], body: bytes) -> None:
        try:
            message = codec.decode_reply(body)  # the daemon has looked for what is not allowed
            memory = memory_of(message)
            result = self._result(message)
            if head["direct"]:
                number = self._direct.number_for(memory, message, result)
                result = result if number is None else {**result, "direct": number}
            reply = success(head["id"], result)
        except Exception as error:
            self._refuse(head, error)
            return
        self._deliver(memory, reply)

    def _deliver(self, memory: StatesMemory | None, reply: bytes) -> None:
        """To the client by its pipe, or through the daemon."""
        if memory is not None and memory.takes(reply):
            self._tell({"event": "done", "ok": True, "delivered": True})
        else:
            self._tell({"event": "done", "ok": True}, reply)

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
            self._tell({"event": "done", "ok": True, "restart": restart}, pack(model))

    def _refuse(self, head: Mapping[str, Any], error: Exception) -> None:
        refused = as_request_error(error)
        reply = refusal(head["id"], refused)
        self._tell({"event": "done", "ok": False, "code": refused.code}, reply)

    def _report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now > self._reported + REPORT_PERIOD:
            self._reported = now
            self._tell({"event": "progress", "done": done, "total": total})

    def _tell(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        self.channel.send(head, body)
