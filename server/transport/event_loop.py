"""What one thread waits for: sockets, files, and work that other threads hand over to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import zmq

Action = Callable[[], None]


class Waiting:
    """A ZeroMQ socket belongs to one thread: others hand over what is to be done with it."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._actions: dict[Any, Action] = {}
        self.changed = True  # whether sources have come or gone; for who else waits for them
        self._tasks: SimpleQueue[Action] = SimpleQueue()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.add(self._bell, self._run_tasks)

    def add(self, source: zmq.Socket[bytes] | int, action: Action) -> None:
        """Call `action` whenever something can be read from a socket or a file descriptor."""
        self._actions[source] = action
        self.changed = True
        self._poller.register(source, zmq.POLLIN)

    def remove(self, source: zmq.Socket[bytes] | int) -> None:
        """Wait for it no longer."""
        del self._actions[source]
        self.changed = True
        self._poller.unregister(source)

    @property
    def sources(self) -> list[zmq.Socket[bytes] | int]:
        """Everything that is waited for."""
        return list(self._actions)

    def wait(self, milliseconds: int) -> None:
        """Wait that long at most, and see to whatever has come."""
        for source, _ in self._poller.poll(milliseconds):
            if source in self._actions:  # unless an action before this one has removed it
                self._actions[source]()

    def hand_over(self, task: Action) -> None:
        """Have a task run by the thread that waits. From any thread, and from signal handlers."""
        self._tasks.put(task)
        self.wake()

    def wake(self) -> None:
        """Make the thread that waits look around."""
        if self._bell >= 0:
            os.eventfd_write(self._bell, 1)

    def _run_tasks(self) -> None:
        os.eventfd_read(self._bell)
        self.finish()

    def finish(self) -> None:
        """Run what has been handed over."""
        with contextlib.suppress(Empty):
            while True:
                self._tasks.get_nowait()()

    def close(self) -> None:
        """To be called when nobody hands anything over any more. A late signal does no harm."""
        bell, self._bell = self._bell, -1
        os.close(bell)
