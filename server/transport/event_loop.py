"""An event loop for one thread: sockets, files, and tasks from other threads."""

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
    """Runs in the thread that owns its ZeroMQ sockets; other threads hand over tasks."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._actions: dict[Any, Action] = {}
        self._tasks: SimpleQueue[Action] = SimpleQueue()
        self._acting: int | None = None  # the thread that runs actions, while it does
        self._wakeup = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.add(self._wakeup, self._run_tasks)

    def add(self, source: Source, action: Action) -> None:
        """Call `action` whenever a socket or a file descriptor is readable."""
        self._actions[source] = action
        self._poller.register(source, zmq.POLLIN)

    def remove(self, source: Source) -> None:
        """Stop waiting for a source."""
        del self._actions[source]
        self._poller.unregister(source)

    def wait(self, milliseconds: int) -> None:
        """Wait at most that long, and run the actions of readable sources."""
        ready = self._poller.poll(milliseconds)
        self._acting = threading.get_ident()
        try:
            for source, _ in ready:
                if source in self._actions:  # unless an action before this one has removed it
                    self._actions[source]()
        finally:
            self._acting = None

    def hand_over(self, task: Action) -> None:
        """Run a task in the loop's thread. From any thread, and from signal handlers."""
        self._tasks.put(task)
        self.wake()

    def do(self, task: Action) -> None:
        """Run a task in the loop's thread; at once if one of its own actions asks for it. Not for
        signal handlers."""
        if self._acting == threading.get_ident():
            task()
        else:
            self.hand_over(task)

    def wake(self) -> None:
        """End the present `wait`."""
        if self._wakeup >= 0:
            os.eventfd_write(self._wakeup, 1)

    def _run_tasks(self) -> None:
        os.eventfd_read(self._wakeup)
        self.finish()

    def finish(self) -> None:
        """Run tasks that have been handed over."""
        with contextlib.suppress(Empty):
            while True:
                self._tasks.get_nowait()()

    def close(self) -> None:
        """Call this when no thread hands over tasks any more. A late signal does no harm."""
        wakeup, self._wakeup = self._wakeup, -1
        os.close(wakeup)
