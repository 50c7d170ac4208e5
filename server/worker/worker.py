"""The daemon's side of its worker: a queue of jobs, one process that runs a few at a time.

    absent ──job──▸ starting ──ready──▸ idle ◂──done── busy
       ▴                │                 ╰─────job─────▸╯
       ╰─────died───────┴──────────(died: starts again)

The process has a thread, with its own channel, for each job that may be under way. The system
shares the cores equally among them: a short batch does not wait for the end of a long one. Clients
take turns (jobs.py).

Everything here runs in the daemon's main thread.
"""

from __future__ import annotations

import contextlib
import logging
from functools import partial
from typing import Any

from torqued.client import codec
from torqued.common import errors
from torqued.kernels.model.model import Model
from torqued.server.transport.event_loop import EventLoop
from torqued.server.worker.jobs import Job, Jobs
from torqued.server.worker.launch import WorkerProcess, WorkerThread

log = logging.getLogger("torqued")

#: Jobs that may be under way at once. More would compete for memory and caches.
THREADS = 4

ABSENT, STARTING, IDLE, BUSY = "absent", "starting", "idle", "busy"


class Worker:
    """At most one process, started when there is something to do."""

    def __init__(self, events: EventLoop, model: Model, avoid_cpu: int | None = None) -> None:
        self.avoid_cpu = avoid_cpu
        self.state = ABSENT
        self.deaths = self.done = self.failed = 0
        self._closed = False
        self._model = model
        self._queue = Jobs()
        self._process: WorkerProcess | None = None
        self._events = events
        self._watched: set[int] = set()  # descriptors that the event loop waits for

    def submit(self, job: Job) -> None:
        """Put a job into the queue; refused if it is full."""
        if self._closed:
            raise stopping()
        self._queue.put(job)
        if self._process is None:
            self._start()
        self._next()

    def use(self, model: Model) -> None:
        """Compute with another robot from the next job on."""
        self._model = model

    def forget(self, memory: str) -> None:
        """Drop the memory of that name: its client has left. Busy threads do so after their job;
        those that are still starting have none."""
        for thread in self._process.threads if self._process else ():
            if thread.model is not None:
                thread.forget.append(memory)
            if thread.is_free:
                self._send_forgotten(thread)

    def statistics(self) -> dict[str, Any]:
        """Its state and jobs; safe to call from another thread."""
        process = self._process
        threads = [thread for thread in process.threads if thread.model] if process else []
        found = [thread.statistics() for thread in threads]
        jobs = [job for job in found if job is not None]
        return {
            "state": self.state,
            "pid": process and process.process.pid,
            "threads": len(threads),
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
        self._fail_all(stopping())
        self._drop_process()

    def _start(self) -> None:
        try:
            self._process = process = WorkerProcess(THREADS, self.avoid_cpu)
        except OSError as error:
            message = f"cannot start the worker: {error.strerror}"
            log.error(message)
            self._fail_all(errors.error("internal", message))
            return
        self._watch(process.lifeline.fileno(), self._on_death)
        for thread in process.threads:
            self._watch(thread.channel.fileno(), partial(self._on_messages, thread))
        self.state = STARTING

    def _watch(self, descriptor: int, action: Any) -> None:
        self._events.add(descriptor, action)
        self._watched.add(descriptor)

    def _unwatch(self, descriptor: int) -> None:
        if descriptor in self._watched:
            self._events.remove(descriptor)
            self._watched.remove(descriptor)

    def _next(self) -> None:
        """Hand the next jobs to free threads."""
        process = self._process
        if process is None or process.process.poll() is not None:
            return  # jobs wait for the next process
        while self._queue and (free := [thread for thread in process.threads if thread.is_free]):
            self._begin(free[0], self._queue.take(process.jobs))
        self._update_state()

    def _update_state(self) -> None:
        if self._process is not None and self._process.is_ready:
            self.state = BUSY if self._process.jobs else IDLE

    def _begin(self, thread: WorkerThread, job: Job) -> None:
        head: dict[str, Any] = {"do": job.do, "id": job.identity}
        descriptor = None
        if (memory := job.memory) is not None:
            if memory.is_closed:
                self._fail(job, errors.error("bad_field", "memory: closed", field="memory"))
                return
            head["memory"], descriptor = memory.name, memory.descriptor
        thread.job, thread.progress = job, (0, 0)
        try:
            if thread.model is not self._model:
                thread.use(self._model)
            thread.channel.send(head, job.body, descriptor)
        except ConnectionError:
            log.debug("the worker is exiting; the job fails with it")
        except BlockingIOError:  # it has not read earlier messages yet
            thread.job = None
            self._fail(job, errors.error("busy", "the worker is behind; try later"))
        except OSError as error:  # no memory for the body
            thread.job = None
            message = f"cannot send the job to the worker: {error.strerror}"
            self._fail(job, errors.error("internal", message))

    def _send_forgotten(self, thread: WorkerThread) -> None:
        names, thread.forget = thread.forget, []
        try:
            thread.channel.send({"do": "forget"}, codec.encode({"names": names}))
        except BlockingIOError:  # with the next ones, or after the next job
            thread.forget = names
        except OSError as error:
            log.debug("cannot send to the worker: %s", error.strerror)

    def _on_messages(self, thread: WorkerThread) -> None:
        self._take_messages(thread)
        if thread.channel.closed:  # the process is exiting; the lifeline reports it
            self._unwatch(thread.channel.fileno())
            return
        self._next()

    def _take_messages(self, thread: WorkerThread) -> None:
        while (message := thread.channel.receive()) is not None:
            head = message.head
            if head["event"] == "ready":
                with contextlib.suppress(OSError):  # the lifeline reports it
                    thread.use(self._model)
            elif head["event"] == "progress":
                thread.progress = (head["done"], head["total"])
            else:
                job, thread.job = thread.job, None
                self._update_state()
                if thread.forget:
                    self._send_forgotten(thread)
                if head["ok"]:
                    self.done += 1
                else:
                    self.failed += 1
                if job is not None:
                    job.finish(head, message.body)

    def _on_death(self) -> None:
        """The process has died: its jobs cannot be answered, the others go to a new process."""
        process = self._process
        if process is None or not process.has_ended():
            return  # a late event of another file with the same descriptor
        for thread in process.threads:
            self._take_messages(thread)  # sent before its end
        jobs, was_ready = process.jobs, process.is_ready
        doing = ", ".join(job.operation for job in jobs) or "nothing"
        code = self._drop_process()
        self.deaths += 1
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        log.error("the worker died (%s) while running %s", how, doing)
        if not was_ready:  # the next one would fail too
            self._fail_all(errors.error("internal", f"the worker died while starting ({how})"))
            return
        for job in jobs:
            message = f"the worker died ({how}) during this {job.operation}"
            self._fail(job, errors.error("internal", f"{message}; a new one starts"))
        self._start()

    def _drop_process(self) -> int:
        """End the process; its exit code."""
        self.state = ABSENT
        process, self._process = self._process, None
        if process is None:
            return 0
        self._unwatch(process.lifeline.fileno())
        for thread in process.threads:
            self._unwatch(thread.channel.fileno())
        return process.end()

    def _fail(self, job: Job, error: errors.RequestError) -> None:
        self.failed += 1
        job.fail(error)

    def _fail_all(self, error: errors.RequestError) -> None:
        under_way = self._process.jobs if self._process else []
        for job in [*under_way, *self._queue.take_all()]:
            self._fail(job, error)


def stopping() -> errors.RequestError:
    """The error of a job that the daemon did not finish."""
    return errors.error("stopping", "the daemon is stopping; this was not finished")
