"""What one thread waits for: sockets, files, and work that other threads hand over to it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import zmq

Action = Callable[[], None]
Source = zmq.Socket[bytes] | int  # an int is a file descriptor


class EventLoop:
    """A ZeroMQ socket belongs to one thread: others hand over what is to be done with it."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._actions: dict[Any, Action] = {}
        self._tasks: SimpleQueue[Action] = SimpleQueue()
        self._acting: int | None = None  # the thread that sees to what has come, while it does
        self._wakeup = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.add(self._wakeup, self._run_tasks)

    def add(self, source: Source, action: Action) -> None:
        """Call `action` whenever something can be read from a socket or a file descriptor."""
        self._actions[source] = action
        self._poller.register(source, zmq.POLLIN)

    def remove(self, source: Source) -> None:
        """Wait for it no longer."""
        del self._actions[source]
        self._poller.unregister(source)

    def wait(self, milliseconds: int) -> None:
        """Wait that long at most, and see to whatever has come."""
        ready = self._poller.poll(milliseconds)
        self._acting = threading.get_ident()
        try:
            for source, _ in ready:
                if source in self._actions:  # unless an action before this one has removed it
                    self._actions[source]()
        finally:
            self._acting = None

    def hand_over(self, task: Action) -> None:
        """Have a task run by the thread that waits. From any thread, and from signal handlers."""
        self._tasks.put(task)
        self.wake()

    def do(self, task: Action) -> None:
        """Have a task run by the thread that waits: at once where one of its own actions asks for
        it, which saves waking a thread that is awake. Not for signal handlers."""
        if self._acting == threading.get_ident():
            task()
        else:
            self.hand_over(task)

    def wake(self) -> None:
        """Make the thread that waits look around."""
        if self._wakeup >= 0:
            os.eventfd_write(self._wakeup, 1)

    def _run_tasks(self) -> None:
        os.eventfd_read(self._wakeup)
        self.finish()

    def finish(self) -> None:
        """Run what has been handed over."""
        with contextlib.suppress(Empty):
            while True:
                self._tasks.get_nowait()()

    def close(self) -> None:
        """To be called when nobody hands anything over any more. A late signal does no harm."""
        wakeup, self._wakeup = self._wakeup, -1
        os.close(wakeup)
