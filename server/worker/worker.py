"""The daemon's side of its worker: jobs in a queue, one process that takes a few of them at a time.

    absent ──job──▸ starting ──ready──▸ idle ◂──done── busy
       ▴                │                 ╰─────job─────▸╯
       ╰─────died───────┴──────────(died: starts anew)

The process has a lane for each job that may be under way: a thread with a channel of its own. Lanes
compute on the same cores, among which the system shares its time equally: a short batch does not
wait for the end of a long one, nor two long ones for each other. Clients take turns (jobs.py).
Other lanes are for batches that come again without passing through here (direct_serving.py); they
say how many.

Everything here runs in the daemon's main thread.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from torqued.common import errors
from torqued.kernels.model.model import Model
from torqued.server.access.rate_limits import Limits
from torqued.server.logs import written_as
from torqued.server.transport.event_loop import EventLoop
from torqued.server.worker.channel import Channel, pair
from torqued.server.worker.jobs import Job, Jobs
from torqued.server.worker.models import pack

log = logging.getLogger("torqued")

#: Jobs that may be under way at once. More would only take each other's memory and caches.
LANES = 4
#: Lanes for batches that come directly.
DIRECT_LANES = 4
#: Seconds that a process without its lifeline gets to end before it is killed. It has nothing to
#: save, and the end of the daemon must not wait for it.
MAX_END = 0.1

ABSENT, STARTING, IDLE, BUSY = "absent", "starting", "idle", "busy"


@dataclass
class Lane:
    """One thread of the process."""

    channel: Channel
    model: Model | None = None  # that it computes with; None until it is ready
    job: Job | None = None
    progress: tuple[int, int] = (0, 0)
    is_direct: bool = False  # it takes no jobs
    is_heard: bool = True  # its channel is among what the event loop waits for

    @property
    def is_free(self) -> bool:
        return self.model is not None and self.job is None and not self.is_direct

    def statistics(self) -> dict[str, Any] | None:
        job, (done, total) = self.job, self.progress
        if job is None:
            return None
        return {"operation": job.operation, "done": done, "total": total}


class Worker:
    """At most one process, started when there is something to do."""

    def __init__(
        self,
        events: EventLoop,
        model: Model,
        avoid_cpu: int | None = None,
        request_rate: float = Limits.request_rate,
    ) -> None:
        self.avoid_cpu, self._rate = avoid_cpu, request_rate
        self.state = ABSENT
        self._closed = False
        self.deaths = self.done = self.failed = 0
        self.direct = 0  # of those done, batches that came directly
        self._model = model
        self._queue = Jobs()
        self._lanes: list[Lane] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket | None = None
        self._events = events

    def submit(self, job: Job) -> None:
        """Put a job into the queue; refused where that is full."""
        if self._closed:
            raise stopping()
        self._queue.put(job)
        if self.state == ABSENT:
            self._start()
        self._next()

    def use(self, model: Model) -> None:
        """Compute with another robot from the next job on, and at once for who comes directly."""
        self._model = model
        for lane in self._lanes:
            if lane.is_direct and lane.model is not None:
                try:
                    self._use_model(lane)
                except OSError:  # nobody may get results of the old one: a new process takes over
                    self._kill()

    def statistics(self) -> dict[str, Any]:
        """What it is doing; safe to call from another thread."""
        process = self._process
        lanes = [lane for lane in list(self._lanes) if lane.model and not lane.is_direct]
        found = [lane.statistics() for lane in lanes]
        jobs = [job for job in found if job is not None]
        return {
            "state": self.state,
            "pid": process and process.pid,
            "lanes": len(lanes),
            "deaths": self.deaths,
            "queued": len(self._queue),
            "done": self.done,
            "direct": self.direct,
            "failed": self.failed,
            "job": jobs[0] if jobs else None,
            "jobs": jobs,
        }

    def close(self) -> None:
        """End the process; jobs under way are refused."""
        self._closed = True
        self._fail_all(stopping())
        self._drop_process()

    def _start(self) -> None:
        try:
            self._process, self._lifeline, channels = self._spawn()
        except OSError as error:
            message = f"the worker cannot be started: {error.strerror}"
            log.error(message)
            self._fail_all(errors.error("internal", message))
            return
        self._events.add(self._lifeline.fileno(), self._on_death)
        self._lanes = [
            Lane(Channel(end), is_direct=number >= LANES) for number, end in enumerate(channels)
        ]
        for lane in self._lanes:
            self._events.add(lane.channel.fileno(), partial(self._hear, lane))
        self.state = STARTING

    def _spawn(self) -> tuple[subprocess.Popen[bytes], socket.socket, list[socket.socket]]:
        """The process, and this end of its lifeline and of its lanes' channels."""
        lifeline = socket.socketpair()
        channels = [pair() for _ in range(LANES + DIRECT_LANES)]
        mine, theirs = zip(lifeline, *channels, strict=True)
        for end in mine[1:]:
            end.setblocking(False)
        cpu = -1 if self.avoid_cpu is None else self.avoid_cpu
        numbers = [end.fileno() for end in theirs]
        arguments = [written_as(), *map(str, (cpu, self._rate, DIRECT_LANES, *numbers))]
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "torqued.server.worker.process", *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=numbers,
            )
        except OSError:
            for end in mine:
                end.close()
            raise
        finally:
            for end in theirs:
                end.close()
        return process, mine[0], list(mine[1:])

    def _next(self) -> None:
        """Hand over the next jobs, as far as there are some and lanes are free."""
        if self._process is None or self._process.poll() is not None:
            return  # they wait for its successor
        while self._queue and (free := [lane for lane in self._lanes if lane.is_free]):
            job = self._queue.take(self._jobs())
            lane = free[0]
            lane.job, lane.progress = job, (0, 0)
            try:
                if lane.model is not self._model:
                    self._use_model(lane)
                head = {"do": job.do, "id": job.identity, "direct": job.may_be_direct}
                lane.channel.send(head, job.body)
            except ConnectionError:
                log.debug("the worker ends; the job fails with it")
            except OSError as error:  # no memory to put it in
                lane.job = None
                self.failed += 1
                message = f"the worker cannot be told: {error.strerror}"
                job.fail(errors.error("internal", message))
        self._settle()

    def _settle(self) -> None:
        if any(lane.model is not None for lane in self._lanes):
            self.state = BUSY if self._jobs() else IDLE

    def _use_model(self, lane: Lane) -> None:
        lane.channel.send({"do": "model"}, pack(self._model))
        lane.model = self._model

    def _hear(self, lane: Lane) -> None:
        self._take_messages(lane)
        if lane.channel.closed:  # the process ends, and the lifeline will tell
            self._ignore(lane)
            return
        self._next()

    def _ignore(self, lane: Lane) -> None:
        """Listen to a lane no longer."""
        if lane.is_heard:
            self._events.remove(lane.channel.fileno())
            lane.is_heard = False

    def _take_messages(self, lane: Lane) -> None:
        while (message := lane.channel.receive()) is not None:
            fields, body = message
            if fields["event"] == "ready":
                self._use_model(lane)
            elif fields["event"] == "progress":
                lane.progress = (fields["done"], fields["total"])
            elif fields["event"] == "direct":
                self.done += fields["done"]
                self.direct += fields["done"]
            else:
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
        if not self._has_ended():
            return  # the number of the lifeline had been another file's, of which this was told
        for lane in self._lanes:
            self._take_messages(lane)  # what it said before
        was_ready = any(lane.model is not None for lane in self._lanes)
        jobs = self._jobs()
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

    def _has_ended(self) -> bool:
        assert self._lifeline is not None  # it is what told
        try:
            return not self._lifeline.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    def _drop_process(self) -> int:
        """Let go of the process and wait for its end; its exit code."""
        self.state = ABSENT
        if self._lifeline is not None:
            self._events.remove(self._lifeline.fileno())
            self._lifeline.close()
            self._lifeline = None
        for lane in self._lanes:
            self._ignore(lane)
            lane.channel.close()
        self._lanes = []
        if self._process is None:
            return 0
        try:
            code = self._process.wait(MAX_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._process = None
        return code

    def _kill(self) -> None:
        """Its end is told by the lifeline."""
        if self._process is not None:
            self._process.kill()

    def _jobs(self) -> list[Job]:
        """Those under way."""
        return [lane.job for lane in self._lanes if lane.job is not None]

    def _fail_all(self, error: errors.RequestError) -> None:
        jobs = [*self._jobs(), *self._queue.take_all()]
        self.failed += len(jobs)
        for job in jobs:
            job.fail(error)


def stopping() -> errors.RequestError:
    """The error of a job that the end of the daemon came before."""
    return errors.error("stopping", "the daemon stops; this was not finished")
