"""Pages of sessions in shared memory: made here, and handed to who may have them.

A page is an anonymous file (memfd) whose size is sealed before anybody else has it. A file in a
folder could be shrunk by whoever may write to it, and the daemon would die of SIGBUS in the middle
of a torque; this one cannot, and nothing of it is left behind by a crash of either side.

It has no name to be opened by. A local socket of the same mode and owner as the daemon's others
hands it out, as a file descriptor, to who connects and sends the secret that `open` replied. By the
same socket clients hand over memory for their batches (worker/memories.py).
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
#: Connections that may be there at a time without having said what they want; the oldest goes.
MAX_CONNECTIONS = 16
#: Bytes of a secret at the most.
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
            os.posix_fallocate(
                self.descriptor, 0, layout.page_bytes
            )  # all of it is there from now on
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
        """To be called when nobody here uses the address any more; a client keeps its own map."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            del self._array
            self._map.close()


def no_memory(layout: PageLayout, error: OSError) -> errors.RequestError:
    """The refusal of a session for which there is no memory or descriptor."""
    return errors.error(
        "busy", f"no {layout.page_bytes} bytes of shared memory for this session: {error.strerror}"
    )


class MemoryPages:
    """The socket that hands out pages. Belongs to the thread of `events`."""

    def __init__(
        self, files: Endpoints, events: EventLoop, is_crowded: Callable[[], bool] = lambda: False
    ) -> None:
        self.endpoint = files.memory
        self._events = events
        self._is_crowded = is_crowded  # whether descriptors have become few
        self._pages: dict[bytes, Page] = {}  # by secret
        self._connections: dict[int, socket.socket] = {}  # by descriptor, the oldest first
        #: Takes a connection and the memory that a client has handed over by it, for its batches.
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
        """A page that is handed to clients that know the secret, until `forget`."""
        page = self._pages[secret] = Page(layout)
        return page

    def forget(self, secret: bytes) -> None:
        """Hand it out no longer."""
        self._pages.pop(secret, None)

    def _accept(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except OSError:  # it has gone again, or there is no descriptor for it
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
        """Hand over the page that was asked for, nothing where there is none; or take memory."""
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
            return  # what was to be read came in by another connection of that number
        except OSError:
            pass  # it has gone again
        self._drop(descriptor)

    def _drop(self, descriptor: int) -> None:
        self._events.remove(descriptor)
        self._connections.pop(descriptor).close()

    def close(self) -> None:
        """Hand out nothing more, and take nothing."""
        for descriptor in list(self._connections):
            self._drop(descriptor)
        self._events.remove(self._listening.fileno())
        self._listening.close()
        remove_socket(Path(self.endpoint.removeprefix("ipc://")))


def _refuse(connection: socket.socket, descriptor: int) -> None:
    os.close(descriptor)
    connection.close()
