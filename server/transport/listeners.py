"""Listening sockets, paused before connections use up the process's file descriptors.

Each connection costs a descriptor. When none is left, libzmq aborts the process at the next local
connection (errno_assert in its ipc_listener.cpp), in the middle of a torque. libzmq has no limit
for connections, so a thread watches how many descriptors are in use and pauses listening:

    TCP      above a quarter of the limit: strangers can fill that, and what they connect until
             the thread has looked, which the rest has ample room for
    local    above half of it: even a program that leaks its clients stops there

Paused is not closed: ports and connections stay. The kernel drops what wants to connect over TCP,
by a filter on the listening socket; a local socket's file is renamed for the time being. Clients
try again by themselves. It needs neither libzmq nor the thread that owns the socket.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import logging
import os
import resource
import select
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import zmq
from zmq.utils.monitor import recv_monitor_message

from torqued.client import errors
from torqued.server.transport.connections import Address, address_of
from torqued.server.transport.endpoints import PAUSED, EndpointError

log = logging.getLogger("torqued")

#: More descriptors than this are of no use to anybody, whatever the limit is.
MOST = 1 << 20
#: Fewer descriptors are too few for 16 sessions, the worker and some clients.
FEWEST = 256
#: With TCP, where strangers connect faster than a thread can look.
MIN_WITH_TCP = 1024
#: At most so many descriptors in use before TCP, and then local sockets, pause: however high the
#: limit is, more connections would only use up memory.
MAX_TCP, MAX_LOCAL = 2048, 4096
#: Connections that may wait to be accepted: they are accepted even when listening is paused.
BACKLOG = 32
#: Seconds between two looks while connections keep coming, and while something is paused.
LOOK, LOOK_AGAIN = 0.001, 0.05
#: Of the mark at which something is paused: below it, it listens again, after so many seconds at
#: the earliest. Each time that it does, a flood gets as far as until the next look.
RELIEF, MIN_PAUSE = 0.875, 1.0

# <linux/filter.h>: a program of one instruction, "return 0", which keeps no byte of any packet.
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
_DROP = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
DROP_ALL = struct.pack("HP", 1, ctypes.addressof(_DROP))


def raise_limit(with_tcp: bool) -> int:
    """Raise the limit of open files as far as it goes; the new one. Refused where it is too low."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    needed = MIN_WITH_TCP if with_tcp else FEWEST
    if most < needed:
        raise EndpointError(
            f"open files are limited to {most}, at least {needed} are needed"
            + (" with TCP" if with_tcp else "")
            + ": LimitNOFILE= in the systemd unit, --ulimit nofile= for a container, ulimit -Hn"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def descriptors_in_use(any_open: int) -> int:
    """The lowest free descriptor: all below it are in use, and at the limit none is left.

    `any_open` is a descriptor that is open; found within a microsecond by copying it.
    """
    try:
        free = fcntl.fcntl(any_open, fcntl.F_DUPFD_CLOEXEC, 0)
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.close(free)
    return free


class Listener(ABC):
    """One listening socket."""

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=os.dup(descriptor))  # libzmq may close its own
        self.paused = False

    def pause(self) -> None:
        """Take no further connections."""
        if not self.paused:
            self.paused = True
            self._pause()

    def resume(self) -> None:
        """Take connections again."""
        if self.paused:
            self.paused = False
            self._resume()

    @abstractmethod
    def _pause(self) -> None: ...

    @abstractmethod
    def _resume(self) -> None: ...

    def close(self) -> None:
        """Forget the socket: without this its port would stay taken."""
        self.socket.close()


class TcpListener(Listener):
    """A port."""

    def _pause(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, DROP_ALL)

    def _resume(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


class LocalListener(Listener):
    """A socket file."""

    def __init__(self, descriptor: int, path: Path) -> None:
        super().__init__(descriptor)
        self.path = path
        self.away = path.with_name(path.name + PAUSED)

    def _pause(self) -> None:
        with suppress(FileNotFoundError):  # a session that is just ending
            self.path.rename(self.away)

    def _resume(self) -> None:
        with suppress(FileNotFoundError):
            self.away.rename(self.path)

    def close(self) -> None:
        super().close()
        self.away.unlink(missing_ok=True)


class Listeners:
    """All listening sockets of a daemon, and the thread that watches over descriptors."""

    def __init__(self, with_tcp: bool = False) -> None:
        limit = raise_limit(with_tcp)
        #: Descriptors in use from which on a kind of listener is paused.
        self.marks: dict[type[Listener], int] = {
            TcpListener: min(MAX_TCP, limit // 4),
            LocalListener: min(MAX_LOCAL, limit // 2),
        }
        self._listeners: dict[zmq.Socket[bytes], Listener] = {}
        #: Kinds that take no connections, and since when, s.
        self.paused: dict[type[Listener], float] = {}
        self._lock = threading.Lock()
        self._changed = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._stopping = False
        self._thread = threading.Thread(target=self._watch, name="listeners", daemon=True)

    def bind(
        self,
        zmq_socket: zmq.Socket[bytes],
        endpoint: str,
        prepare: Callable[[str], None] | None = None,
    ) -> None:
        """Bind a socket and watch over its connections; raises `ZMQError` as `bind` does.

        `prepare` is called with the endpoint before the first pause: a file has its name by then.
        """
        zmq_socket.backlog = BACKLOG
        # libzmq tells the descriptor by an event.
        with zmq_socket.get_monitor_socket(zmq.EVENT_LISTENING) as monitor:
            try:
                zmq_socket.bind(endpoint)
                descriptor = int(recv_monitor_message(monitor)["value"])
            finally:
                zmq_socket.disable_monitor()
        if prepare:
            prepare(endpoint)
        listener: Listener
        if endpoint.startswith("ipc://"):
            listener = LocalListener(descriptor, Path(endpoint.removeprefix("ipc://")))
        else:
            listener = TcpListener(descriptor)
        with self._lock:
            self._listeners[zmq_socket] = listener
            if type(listener) in self.paused:
                listener.pause()
            if not self._thread.is_alive():
                self._thread.start()
        self._wake()

    def forget(self, zmq_socket: zmq.Socket[bytes]) -> None:
        """To be called when a socket is closed."""
        with self._lock:
            listener = self._listeners.pop(zmq_socket, None)
        self._wake()
        if listener:
            listener.close()

    def addresses(self) -> dict[zmq.Socket[bytes], Address]:
        """Where each socket listens."""
        with self._lock:
            found = {key: address_of(listener.socket) for key, listener in self._listeners.items()}
        return {key: address for key, address in found.items() if address is not None}

    def is_crowded(self) -> bool:
        """Whether descriptors have become few."""
        return LocalListener in self.paused

    def require_room(self) -> None:
        """Refuse as `busy` what would need descriptors where they have become few."""
        if self.is_crowded():
            raise errors.error(
                "busy",
                f"{descriptors_in_use(self._changed)} connections and files are open, too many "
                "for another session; close some",
            )

    def close(self) -> None:
        """Watch no longer; every listener is forgotten."""
        self._stopping = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join()
        for zmq_socket in list(self._listeners):
            self.forget(zmq_socket)
        os.close(self._changed)

    def _wake(self) -> None:
        os.eventfd_write(self._changed, 1)

    def _watch(self) -> None:
        """Sleep until somebody connects; look often while connections keep coming."""
        poller = self._poller()
        while not self._stopping:
            events = poller.poll(LOOK_AGAIN * 1000 if self.paused else None)
            if any(descriptor == self._changed for descriptor, _ in events):
                os.eventfd_read(self._changed)
                poller = self._poller()
            self._look()
            time.sleep(LOOK)

    def _poller(self) -> select.poll:
        poller = select.poll()
        poller.register(self._changed, select.POLLIN)
        with self._lock:
            for listener in self._listeners.values():
                poller.register(listener.socket, select.POLLIN)
        return poller

    def _look(self) -> None:
        in_use = descriptors_in_use(self._changed)
        for kind, mark in self.marks.items():
            if kind not in self.paused and in_use >= mark:
                self._switch(kind, True)
                log.warning(
                    "%d descriptors are in use: no more %s connections until there are fewer",
                    in_use,
                    NAMES[kind],
                )
            elif kind in self.paused and self._may_resume(kind, in_use):
                self._switch(kind, False)
                log.warning("%d descriptors are in use: %s connections again", in_use, NAMES[kind])

    def _may_resume(self, kind: type[Listener], in_use: int) -> bool:
        rested = time.monotonic() - self.paused[kind] > MIN_PAUSE
        return rested and in_use < RELIEF * self.marks[kind]

    def _switch(self, kind: type[Listener], paused: bool) -> None:
        with self._lock:
            if paused:
                self.paused[kind] = time.monotonic()
            else:
                del self.paused[kind]
            for listener in self._listeners.values():
                if type(listener) is kind:
                    try:
                        (listener.pause if paused else listener.resume)()
                    except OSError as error:
                        log.error("listening cannot be paused or resumed: %s", error)


NAMES: dict[type[Listener], str] = {TcpListener: "TCP", LocalListener: "local"}
