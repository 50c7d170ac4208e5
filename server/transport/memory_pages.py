"""Pages of sessions in shared memory: made here, and handed to their clients.

A page is an anonymous file (memfd) whose size is sealed before a client has it. A client could
shrink a named file, and the daemon would die of SIGBUS in the middle of a torque. A crash of either
side leaves no memfd behind.

A local socket, of the same mode and owner as the daemon's others, hands the page's descriptor to a
client that sends the secret from the reply of `open`. By the same socket clients hand over memory
for their batches (worker/memories.py).
"""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from torqued.client.memory.page_layout import PageLayout
from torqued.common import errors
from torqued.server.transport.endpoints import EndpointError, Endpoints, remove_socket
from torqued.server.transport.event_loop import EventLoop

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
#: Connections without a message; beyond that the oldest is dropped.
MAX_CONNECTIONS = 16
#: Bytes of a secret.
MAX_SECRET = 256


class Page:
    """Sealed memory for one session's frames, mapped for the daemon."""

    def __init__(self, layout: PageLayout) -> None:
        self.layout = layout
        try:
            self.descriptor = os.memfd_create("torqued", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            raise no_memory(layout, error) from None
        try:
            os.ftruncate(self.descriptor, layout.page_bytes)
            os.posix_fallocate(self.descriptor, 0, layout.page_bytes)  # reserved now
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, SEALS)
            flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
            self._map = mmap.mmap(self.descriptor, layout.page_bytes, flags)
        except OSError as error:
            os.close(self.descriptor)
            raise no_memory(layout, error) from None
        head = layout.head()
        self._map[: len(head)] = head
        self._array = np.frombuffer(self._map, np.uint8)
        self.address: int = self._array.ctypes.data

    def close(self) -> None:
        """Call this when the daemon no longer uses the address; a client keeps its own mapping."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            del self._array
            self._map.close()


def no_memory(layout: PageLayout, error: OSError) -> errors.RequestError:
    """The refusal of a session without memory or a descriptor."""
    return errors.error(
        "busy",
        f"cannot allocate {layout.page_bytes} bytes of shared memory for this session: "
        f"{error.strerror}",
    )


class MemoryPages:
    """The socket that hands out pages. Belongs to the thread of `events`."""

    def __init__(
        self, files: Endpoints, events: EventLoop, is_crowded: Callable[[], bool] = lambda: False
    ) -> None:
        self.endpoint = files.memory
        self._events = events
        self._is_crowded = is_crowded  # whether descriptors are few
        self._pages: dict[bytes, Page] = {}  # by secret
        self._connections: dict[int, socket.socket] = {}  # by descriptor, the oldest first
        #: Takes a connection and the batch memory that a client has handed over by it.
        self.take_memory: Callable[[socket.socket, int], None] = _refuse
        kind = socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        self._listening = socket.socket(socket.AF_UNIX, kind)
        try:
            self._listening.bind(self.endpoint.removeprefix("ipc://"))
            files.protect(self.endpoint)
            self._listening.listen(MAX_CONNECTIONS)
        except OSError as error:
            self._listening.close()
            raise EndpointError(f"cannot bind {self.endpoint}: {error.strerror}") from None
        events.add(self._listening.fileno(), self._accept)

    def make(self, layout: PageLayout, secret: bytes) -> Page:
        """A page for clients that know the secret, until `forget`."""
        page = self._pages[secret] = Page(layout)
        return page

    def forget(self, secret: bytes) -> None:
        """Stop handing out a page."""
        self._pages.pop(secret, None)

    def _accept(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except OSError:  # the client has left, or there is no descriptor
            return
        if self._is_crowded():
            connection.close()
            return
        if len(self._connections) >= MAX_CONNECTIONS:
            self._drop(next(iter(self._connections)))
        connection.setblocking(False)
        descriptor = connection.fileno()
        self._connections[descriptor] = connection
        self._events.add(descriptor, partial(self._answer, descriptor))

    def _answer(self, descriptor: int) -> None:
        """Hand over the page of a secret, if there is one; or take a client's memory."""
        connection = self._connections[descriptor]
        try:
            flags = socket.MSG_CMSG_CLOEXEC
            secret, files, *_ = socket.recv_fds(connection, MAX_SECRET, 1, flags)
            if files:
                self._events.remove(descriptor)
                self.take_memory(self._connections.pop(descriptor), files[0])
                return
            page = self._pages.get(secret)
            if page is not None:
                socket.send_fds(connection, [b"\0"], [page.descriptor])
        except BlockingIOError:
            return  # the event was of an earlier connection with this descriptor
        except OSError:
            pass  # the client has left
        self._drop(descriptor)

    def _drop(self, descriptor: int) -> None:
        self._events.remove(descriptor)
        self._connections.pop(descriptor).close()

    def close(self) -> None:
        """Close the socket and all connections."""
        for descriptor in list(self._connections):
            self._drop(descriptor)
        self._events.remove(self._listening.fileno())
        self._listening.close()
        remove_socket(Path(self.endpoint.removeprefix("ipc://")))


def _refuse(connection: socket.socket, descriptor: int) -> None:
    os.close(descriptor)
    connection.close()
