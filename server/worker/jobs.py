"""Jobs that wait for the worker: each client's in order, and clients in turns.

The client with the fewest jobs under way is next, so that one batch does not wait for twenty of
another client. One client cannot fill the queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import zmq

from torqued.common import errors
from torqued.server.requests.replies import Identity
from torqued.server.worker.memories import ClientMemory

#: Waiting jobs, of all clients and of one. Each holds a whole request.
MAX_JOBS, MAX_OF_ONE = 16, 12


@dataclass(frozen=True)
class Job:
    """A task for the worker, and what happens with its answer."""

    operation: str  # for people
    do: str  # a task of serving.py
    client: Hashable  # its owner
    identity: Identity  # of the request
    body: bytes
    finish: Callable[[Mapping[str, Any], zmq.Frame], None]  # head and body of the answer
    fail: Callable[[errors.RequestError], None]  # there will be no answer
    memory: ClientMemory | None = None  # for its states and results


class Jobs:
    """The queue."""

    def __init__(self) -> None:
        self._waiting: list[Job] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, job: Job) -> None:
        """Refused if the queue is full, or this client's part of it."""
        if len(self._waiting) >= MAX_JOBS:
            raise errors.error("busy", f"{MAX_JOBS} jobs are waiting for the worker; try later")
        if sum(other.client == job.client for other in self._waiting) >= MAX_OF_ONE:
            raise errors.error(
                "busy", f"{MAX_OF_ONE} jobs of this client are waiting for the worker; try later"
            )
        self._waiting.append(job)

    def take(self, under_way: Iterable[Job]) -> Job:
        """The next job: the oldest of the clients with the fewest under way."""
        busy = Counter(job.client for job in under_way)
        job = min(self._waiting, key=lambda job: busy[job.client])
        self._waiting.remove(job)
        return job

    def take_all(self) -> list[Job]:
        """All jobs; the queue is empty afterwards."""
        jobs, self._waiting = self._waiting, []
        return jobs
