"""The worker's threads: each runs one job after the other, and answers every job.

A thread has its own channel, robot and memory. Kernels release the interpreter's lock, so that
threads compute in parallel.

A job is a head with what to `do`, and a body. So is its answer, whose head has `event` and, when it
is done, `ok`.

    do       body              event       body
                               ready                     once, at the start
    model    packed model                                the robot to compute with from now on
    compute  the request       done        the reply      with the client's memory, if any
    load     a source          done        packed model, or an error reply
    forget   names                                       of memory whose clients have left
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
from torqued.client.requests.operation_table import WORKER
from torqued.kernels import Robot
from torqued.server.logs import set_up_log
from torqued.server.requests.batch_arrays import MEMORIES
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.replies import as_request_error, refusal, success
from torqued.server.worker.channel import Channel, Message
from torqued.server.worker.model_bytes import pack, unpack
from torqued.server.worker.source import Source

#: Seconds between two reports of a job's progress.
REPORT_PERIOD = 0.05
#: s after which a thread in the interpreter yields to another one, whose core is idle meanwhile.
SWITCH_INTERVAL = 5e-4

log = logging.getLogger("torqued")


def serve(channels: Sequence[socket.socket], log_format: str) -> None:
    """Run jobs until this process ends, in a thread for each channel."""
    set_up_log("INFO", log_format, "torqued.worker")
    sys.setswitchinterval(SWITCH_INTERVAL)

    def work(end: socket.socket) -> None:
        try:
            Serving(Channel(end)).run()
        except BaseException:
            log.exception("%s failed", threading.current_thread().name)
            os._exit(1)  # the daemon answers for all jobs, and starts another process

    for number, end in enumerate(channels[1:], start=1):
        name = f"worker_{number}"
        threading.Thread(target=work, args=(end,), name=name, daemon=True).start()
    work(channels[0])


class Serving:
    """One thread: its robot, and its channel to the daemon."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.robot: Robot | None = None
        self._reported = 0.0

    def run(self) -> None:
        self.channel.send({"event": "ready"})
        jobs = {
            "model": self._model,
            "compute": self._compute,
            "load": self._load,
            "forget": self._forget,
        }
        while (message := self.channel.receive()) is not None:
            jobs[message.head["do"]](message)

    def _model(self, message: Message) -> None:
        self.robot = Robot(unpack(message.body.bytes))

    def _compute(self, message: Message) -> None:
        head = message.head
        try:
            if message.descriptor is not None:
                MEMORIES.use(head["memory"], message.descriptor)
            # The daemon has checked it already.
            request = codec.decode_reply(message.body.bytes)
            reply = success(head["id"], self._result(request))
        except Exception as error:
            self._refuse(head, error)
        else:
            self.channel.send({"event": "done", "ok": True}, reply)

    def _forget(self, message: Message) -> None:
        MEMORIES.forget(codec.decode(message.body.bytes)["names"])

    def _result(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self.robot is not None  # the daemon sends the model before any job
        operation = OPERATIONS[message["op"]]
        fields = operation.fields_of(message)
        report = (self._report,) if operation.carried_out_by == WORKER else ()
        return operation.compute(self.robot, fields, *report)

    def _load(self, message: Message) -> None:
        try:
            model, restart = Source(**codec.decode(message.body.bytes)).load()
        except Exception as error:
            self._refuse(message.head, error)
        else:
            self.channel.send({"event": "done", "ok": True, "restart": restart}, pack(model))

    def _refuse(self, head: Mapping[str, Any], error: Exception) -> None:
        refused = as_request_error(error)
        reply = refusal(head["id"], refused)
        self.channel.send({"event": "done", "ok": False, "code": refused.code}, reply)

    def _report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now > self._reported + REPORT_PERIOD:
            self._reported = now
            self.channel.send({"event": "progress", "done": done, "total": total})
