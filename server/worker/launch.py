"""The worker's process from the daemon's side, with a channel for each of its threads.

Either side notices the other's end by the lifeline, a socket pair that carries no data.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from torqued.kernels.model.model import Model
from torqued.server.logs import written_as
from torqued.server.worker.channel import Channel, pair
from torqued.server.worker.jobs import Job
from torqued.server.worker.model_bytes import pack

#: Seconds for a process without its lifeline to exit before it is killed. It has nothing to save.
EXIT_TIMEOUT = 0.1


@dataclass
class WorkerThread:
    """One thread of the process, which runs one job at a time."""

    channel: Channel
    model: Model | None = None  # its robot; None until it is ready
    job: Job | None = None
    progress: tuple[int, int] = (0, 0)
    forget: list[str] = field(default_factory=list)  # names of memory that it still has to drop

    @property
    def is_free(self) -> bool:
        return self.model is not None and self.job is None

    def use(self, model: Model) -> None:
        """Compute with this robot from now on."""
        self.channel.send({"do": "model"}, pack(model))
        self.model = model

    def statistics(self) -> dict[str, Any] | None:
        job, (done, total) = self.job, self.progress
        if job is None:
            return None
        return {"operation": job.operation, "done": done, "total": total}


class WorkerProcess:
    """A process that has been started."""

    def __init__(self, threads: int, avoid_cpu: int | None) -> None:
        """Raises OSError if it cannot be started."""
        lifeline = socket.socketpair()
        mine, theirs = zip(lifeline, *(pair() for _ in range(threads)), strict=True)
        numbers = [end.fileno() for end in theirs]
        cpu = -1 if avoid_cpu is None else avoid_cpu
        try:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "torqued.server.worker.process"),
                    *(written_as(), str(cpu), *map(str, numbers)),
                ],
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
        self.lifeline = mine[0]
        for end in mine[1:]:
            end.setblocking(False)
        self.threads = [WorkerThread(Channel(end)) for end in mine[1:]]

    @property
    def is_ready(self) -> bool:
        """Whether one of its threads is ready."""
        return any(thread.model is not None for thread in self.threads)

    @property
    def jobs(self) -> list[Job]:
        """Those under way."""
        return [thread.job for thread in self.threads if thread.job is not None]

    def has_ended(self) -> bool:
        """Whether the process has closed the lifeline."""
        try:
            return not self.lifeline.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    def end(self) -> int:
        """Close the lifeline and wait for the process; its exit code."""
        self.lifeline.close()
        for thread in self.threads:
            thread.channel.close()
        try:
            return self.process.wait(EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
