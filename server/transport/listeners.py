"""Limits on open files: TCP pauses, and sessions are refused, before the process runs out of them.

Each connection takes a descriptor. Without a free one libzmq aborts the process at the next local
connection (errno_assert in its ipc_listener.cpp), in the middle of a torque. Local clients are
trusted, but over TCP a stranger can connect without a handshake, and libzmq has no limit for
connections. So a thread watches the TCP ports and pauses them while too many descriptors are in
use. Paused is not closed: ports and connections stay, the kernel drops new connections by a filter
on the listening socket, and clients retry by themselves.
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

import zmq
from zmq.utils.monitor import recv_monitor_message

from torqued.client import errors
from torqued.server.transport.endpoints import EndpointError

log = logging.getLogger("torqued")

#: Open files that the process needs, and that it asks for.
MIN_OPEN_FILES, MAX_OPEN_FILES = 1024, 1 << 20
#: Descriptors in use from which on TCP pauses. A daemon with 16 sessions uses about 100, a client
#: two or three. A stranger's connection can reserve the memory of one message.
MAX_WITH_TCP = 256
#: Descriptors in use from which on sessions are refused, or half of the limit where that is lower.
MAX_WITH_SESSIONS = 4096
#: TCP connections that wait to be accepted: they are accepted even when listening is paused.
BACKLOG = 32
#: Seconds between two checks while connections arrive, and of a pause.
POLL_INTERVAL, PAUSE = 0.001, 1.0

# <linux/filter.h>: a program of one instruction, "return 0", which keeps no byte of any packet.
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
_DROP = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
DROP_ALL = struct.pack("HP", 1, ctypes.addressof(_DROP))


def raise_limit() -> int:
    """Raise the limit of open files as far as possible; the new limit. Raises if it is too low."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if limit < MIN_OPEN_FILES:
        raise EndpointError(
            f"open files are limited to {limit}, at least {MIN_OPEN_FILES} are needed: "
            "LimitNOFILE= in the systemd unit, --ulimit nofile= for a container, ulimit -Hn"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def descriptors_in_use(any_open: int) -> int:
    """The lowest free descriptor: all below it are in use, and at the limit none is left.

    `any_open` is a descriptor that is open; copying it finds the number within a microsecond.
    """
    try:
        free = fcntl.fcntl(any_open, fcntl.F_DUPFD_CLOEXEC, 0)
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.close(free)
    return free


class Listeners:
    """The TCP ports of a daemon, the thread that watches them, and the limit for sessions."""

    def __init__(self) -> None:
        limit = raise_limit()
        self.max_with_tcp = MAX_WITH_TCP
        self.max_with_sessions = min(MAX_WITH_SESSIONS, limit // 2)
        self.paused = False
        self._ports: dict[zmq.Socket[bytes], socket.socket] = {}
        self._lock = threading.Lock()
        self._changed = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._stopping = False
        self._thread = threading.Thread(target=self._watch, name="listeners", daemon=True)

    def bind(self, zmq_socket: zmq.Socket[bytes], endpoint: str) -> None:
        """Bind a socket to a TCP port and watch that; raises `ZMQError` as `bind` does."""
        zmq_socket.backlog = BACKLOG
        # libzmq reports the listening descriptor by an event.
        with zmq_socket.get_monitor_socket(zmq.EVENT_LISTENING) as monitor:
            try:
                zmq_socket.bind(endpoint)
                descriptor = int(recv_monitor_message(monitor)["value"])
            finally:
                zmq_socket.disable_monitor()
        port = socket.socket(fileno=os.dup(descriptor))  # libzmq may close its own
        with self._lock:
            self._ports[zmq_socket] = port
            if self.paused:
                drop_new_connections(port, True)
            if not self._thread.is_alive():
                self._thread.start()
        self._wake()

    def forget(self, zmq_socket: zmq.Socket[bytes]) -> None:
        """Call this when a socket is closed: otherwise its port would stay in use."""
        with self._lock:
            port = self._ports.pop(zmq_socket, None)
        if port:
            self._wake()
            port.close()

    def is_crowded(self) -> bool:
        """Whether too many descriptors are in use for another session."""
        return descriptors_in_use(self._changed) >= self.max_with_sessions

    def require_room(self) -> None:
        """Refuse a session as `busy` if too many descriptors are in use."""
        if self.is_crowded():
            raise errors.error(
                "busy",
                f"{descriptors_in_use(self._changed)} descriptors are in use, a new session needs "
                f"fewer than {self.max_with_sessions}: close some clients",
            )

    def close(self) -> None:
        """Stop the thread and forget every port."""
        self._stopping = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join()
        for zmq_socket in list(self._ports):
            self.forget(zmq_socket)
        os.close(self._changed)

    def _wake(self) -> None:
        os.eventfd_write(self._changed, 1)

    def _watch(self) -> None:
        """Sleep until a client connects; check often while connections keep coming."""
        while not self._stopping:
            self._wait()
            self._check()
            time.sleep(POLL_INTERVAL)

    def _wait(self) -> None:
        """Wait for a connection or a changed port; while paused, for the end of the pause."""
        poller = select.poll()
        poller.register(self._changed, select.POLLIN)
        if not self.paused:
            with self._lock:
                for port in self._ports.values():
                    poller.register(port, select.POLLIN)
        events = poller.poll(PAUSE * 1000 if self.paused else None)
        if any(descriptor == self._changed for descriptor, _ in events):
            os.eventfd_read(self._changed)

    def _check(self) -> None:
        in_use = descriptors_in_use(self._changed)
        crowded = in_use >= self.max_with_tcp
        if crowded == self.paused:
            return
        text = "no new TCP connections" if crowded else "TCP connections again"
        log.warning("%d of %d descriptors are in use: %s", in_use, self.max_with_tcp, text)
        with self._lock:
            self.paused = crowded
            for port in self._ports.values():
                drop_new_connections(port, crowded)


def drop_new_connections(port: socket.socket, drop: bool) -> None:
    """Start or stop dropping new connections to a listening socket, in the kernel."""
    try:
        if drop:
            port.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, DROP_ALL)
        else:
            port.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
    except OSError as error:
        log.error("cannot %s TCP connections: %s", "pause" if drop else "resume", error)
