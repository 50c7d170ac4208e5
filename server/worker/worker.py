"""The daemon's side of its worker: jobs in a queue, one process that takes a few of them at a time.

    absent ──job──▸ starting ──ready──▸ idle ◂──done── busy
       ▴                │                 ╰─────job─────▸╯
       ╰─────died───────┴──────────(died: starts anew)

The process has a lane for each job that may be under way: a thread with a socket of its own. Lanes
compute on the same cores, among which the system shares its time equally: a short batch does not
wait for the end of a long one, nor two long ones for each other. Clients take turns (jobs.py).

Everything here runs in the daemon's main thread.
"""

from __future__ import annotations

import logging
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zmq

from torqued.client import codec
from torqued.client.codec import LARGEST_MESSAGE
from torqued.common import errors
from torqued.kernels.model.model import Model
from torqued.server.logs import written_as
from torqued.server.transport.event_loop import EventLoop
from torqued.server.worker.jobs import Job, Jobs
from torqued.server.worker.models import pack

log = logging.getLogger("torqued")

#: Jobs that may be under way at once. More would only take each other's memory and caches.
LANES = 4
#: Seconds that a process without its lifeline gets to end before it is killed. It has nothing to
#: save, and the end of the daemon must not wait for it.
LONGEST_END = 0.1

ABSENT, STARTING, IDLE, BUSY = "absent", "starting", "idle", "busy"


@dataclass
class Lane:
    """One thread of the process."""

    name: bytes  # by which its socket is known
    job: Job | None = None
    progress: tuple[int, int] = (0, 0)

    def statistics(self) -> dict[str, Any] | None:
        job, (done, total) = self.job, self.progress
        if job is None:
            return None
        return {"operation": job.operation, "done": done, "total": total}


class Worker:
    """At most one process, started when there is something to do."""

    def __init__(
        self,
        context: zmq.Context[Any],
        endpoint: str,
        events: EventLoop,
        model: Model,
        avoid_cpu: int | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.avoid_cpu = avoid_cpu
        self.state = ABSENT
        self._closed = False
        self.deaths = self.done = self.failed = 0
        self._name = ""
        self._names: set[bytes] = set()  # of its lanes
        self._model = model
        self._queue = Jobs()
        self._lanes: dict[bytes, Lane] = {}  # those that are ready
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket | None = None
        self._events = events
        self._socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.maxmsgsize = LARGEST_MESSAGE
        self._socket.bind(endpoint)
        Path(endpoint.removeprefix("ipc://")).chmod(0o600)  # no group's business
        events.add(self._socket, self._hear)

    def submit(self, job: Job) -> None:
        """Put a job into the queue; refused where that is full."""
        if self._closed:
            raise stopping()
        self._queue.put(job)
        if self.state == ABSENT:
            self._start()
        self._next()

    def use(self, model: Model) -> None:
        """Compute with another robot from the next job on."""
        self._model = model
        packed = pack(model)
        for lane in self._lanes.values():
            self._tell(lane, {"do": "model"}, packed)

    def statistics(self) -> dict[str, Any]:
        """What it is doing; safe to call from another thread."""
        process = self._process
        found = [lane.statistics() for lane in list(self._lanes.values())]
        jobs = [job for job in found if job is not None]
        return {
            "state": self.state,
            "pid": process and process.pid,
            "lanes": len(self._lanes),
            "deaths": self.deaths,
            "queued": len(self._queue),
            "done": self.done,
            "failed": self.failed,
            "job": jobs[0] if jobs else None,
            "jobs": jobs,
        }

    def close(self) -> None:
        """End the process; jobs under way are refused."""
        self._closed = True
        self._drop_process()
        self._fail_all(stopping())
        self._events.remove(self._socket)
        self._socket.close(linger=0)

    def _start(self) -> None:
        # Nothing that an earlier process or a stranger says is taken for this one's words.
        self._name = secrets.token_hex(8)
        self._names = {f"{self._name}-{k}".encode() for k in range(LANES)}
        try:
            self._process, self._lifeline = self._spawn()
        except OSError as error:
            message = f"the worker cannot be started: {error.strerror}"
            log.error(message)
            self._fail_all(errors.error("internal", message))
            return
        self._events.add(self._lifeline.fileno(), self._on_death)
        self.state = STARTING

    def _spawn(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        """The process, and this end of its lifeline."""
        mine, theirs = socket.socketpair()
        cpu = -1 if self.avoid_cpu is None else self.avoid_cpu
        numbers = str(theirs.fileno()), str(cpu), str(LANES)
        arguments = (self.endpoint, self._name, *numbers, written_as())
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "torqued.server.worker.process", *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        except OSError:
            mine.close()
            raise
        finally:
            theirs.close()
        return process, mine

    def _next(self) -> None:
        """Hand over the next jobs, as far as there are some and lanes are free."""
        if self._process is None or self._process.poll() is not None:
            return  # they wait for its successor
        for lane in self._lanes.values():
            if lane.job is None and self._queue:
                job = self._queue.take(self._jobs())
                lane.job, lane.progress = job, (0, 0)
                self._tell(lane, {"do": job.do, "id": job.identity}, job.body)
        self._settle()

    def _settle(self) -> None:
        if self._lanes:
            self.state = BUSY if self._jobs() else IDLE

    def _tell(self, lane: Lane, head: Mapping[str, Any], body: bytes) -> None:
        self._socket.send_multipart([lane.name, codec.encode(head), body], copy=False)

    def _hear(self) -> None:
        self._take_message()
        self._next()

    def _take_message(self) -> None:
        frame, *message = self._socket.recv_multipart(copy=False)
        name = frame.bytes
        if name not in self._names:
            return
        head, body = message
        fields = codec.decode(head.bytes)
        if fields["event"] == "ready":
            lane = self._lanes[name] = Lane(name)
            self._tell(lane, {"do": "model"}, pack(self._model))
        elif fields["event"] == "progress":
            self._lanes[name].progress = (fields["done"], fields["total"])
        else:
            lane = self._lanes[name]
            job, lane.job = lane.job, None
            self._settle()
            if fields["ok"]:
                self.done += 1
            else:
                self.failed += 1
            if job is not None:
                job.finish(fields, body)

    def _on_death(self) -> None:
        """The process has died: its jobs cannot be answered, the others go to a new process."""
        while self._socket.poll(0):  # what it said before
            self._take_message()
        was_ready = bool(self._lanes)
        jobs = self._jobs()
        self._lanes.clear()
        doing = ", ".join(job.operation for job in jobs) or "nothing"
        code = self._drop_process()
        self.deaths += 1
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        log.error("the worker ended by %s, doing %s", how, doing)
        if not was_ready:  # nor would the next one be
            self._fail_all(errors.error("internal", f"the worker ended by {how} while starting"))
            return
        self.failed += len(jobs)
        for job in jobs:
            job.fail(
                errors.error(
                    "internal",
                    f"the worker ended by {how} during this {job.operation}; "
                    "a new one takes its place",
                )
            )
        self._start()

    def _drop_process(self) -> int:
        """Let go of the process and wait for its end; its exit code."""
        self.state = ABSENT
        if self._lifeline is not None:
            self._events.remove(self._lifeline.fileno())
            self._lifeline.close()
            self._lifeline = None
        if self._process is None:
            return 0
        try:
            code = self._process.wait(LONGEST_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._process = None
        return code

    def _jobs(self) -> list[Job]:
        """Those under way."""
        return [lane.job for lane in self._lanes.values() if lane.job is not None]

    def _fail_all(self, error: errors.RequestError) -> None:
        jobs = [*self._jobs(), *self._queue.take_all()]
        self._lanes.clear()
        self.failed += len(jobs)
        for job in jobs:
            job.fail(error)


def stopping() -> errors.RequestError:
    """The error of a job that the end of the daemon came before."""
    return errors.error("stopping", "the daemon stops; this was not finished")
