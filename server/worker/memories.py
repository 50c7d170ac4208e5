"""Memory of clients in the daemon: taken once, and handed to the worker with each batch.

    client ──memfd──▸ memory socket ──▸ here ──memfd and job──▸ worker, which maps it once

The file cannot shrink, so that mapping it is safe whatever the client does. The memory is dropped
when the connection closes that it came by.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from torqued.client.memory.batch_memory import MAX_BYTES
from torqued.common import errors
from torqued.server.requests.batch_arrays import wrong
from torqued.server.requests.replies import as_request_error, refusal, success
from torqued.server.transport.event_loop import EventLoop

#: Clients that share memory at a time. Others send arrays in messages.
MAX_MEMORIES = 64
#: <linux/fcntl.h>; Python 3.11 does not have it.
F_SEAL_FUTURE_WRITE = 0x10
#: Process, user and group of the other end of a local socket.
PEER = struct.Struct("3i")


@dataclass
class ClientMemory:
    """The memory of one client, until it leaves."""

    name: str
    descriptor: int
    connection: socket.socket
    is_closed: bool = False

    def close(self) -> None:
        self.is_closed = True
        os.close(self.descriptor)
        self.connection.close()


class ClientMemories:
    """The memory of all clients. Belongs to the thread of `events`."""

    def __init__(self, events: EventLoop, on_drop: Callable[[str], None]) -> None:
        """`on_drop` is called with the name of each memory that is dropped."""
        self._events, self._on_drop = events, on_drop
        self._memories: dict[str, ClientMemory] = {}  # by name

    def take(self, connection: socket.socket, descriptor: int) -> None:
        """Answer a client that hands over its memory: with a name for it, or a refusal."""
        memory = ClientMemory(f"torqued-{secrets.token_hex(16)}", descriptor, connection)
        try:
            if len(self._memories) >= MAX_MEMORIES:
                message = f"{MAX_MEMORIES} clients share memory already; send arrays in messages"
                raise errors.error("busy", message)
            require_usable(descriptor, peer_user(connection))
            connection.send(success(None, {"memory": memory.name}))
        except Exception as error:
            with contextlib.suppress(OSError):  # the client has left
                connection.send(refusal(None, as_request_error(error)))
            memory.close()
            return
        self._memories[memory.name] = memory
        self._events.add(connection.fileno(), partial(self._drop, memory))

    def of(self, fields: Mapping[str, Any]) -> ClientMemory | None:
        """The memory that a batch names; None if it names none."""
        described = fields.get("memory")
        if described is None:
            return None
        name = described.get("name")
        memory = self._memories.get(name) if isinstance(name, str) else None
        if memory is None:
            raise wrong(f"name {name!r} is unknown", "the name that the memory socket replied")
        return memory

    def _drop(self, memory: ClientMemory) -> None:
        """Called when the connection closes, or sends anything more."""
        self._events.remove(memory.connection.fileno())
        del self._memories[memory.name]
        memory.close()
        self._on_drop(memory.name)

    def close(self) -> None:
        for memory in list(self._memories.values()):
            self._drop(memory)


def peer_user(connection: socket.socket) -> int:
    """The user at the other end."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    return int(PEER.unpack(data)[1])


def require_usable(descriptor: int, user: int) -> None:
    """Refuse a file that could shrink, cannot be written to, is too large or another user's."""
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0  # not a memfd
    if not seals & fcntl.F_SEAL_SHRINK:
        raise wrong("a file that can shrink", "a memfd sealed against shrinking")
    if seals & (fcntl.F_SEAL_WRITE | F_SEAL_FUTURE_WRITE):
        raise wrong("a file sealed against writing", "one that can be written to")
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDWR:
        raise wrong("a file that is not open for reading and writing", "both")
    info = os.fstat(descriptor)
    if info.st_size > MAX_BYTES:
        raise wrong(f"{info.st_size} bytes", f"at most {MAX_BYTES}")
    if info.st_uid != user:
        raise wrong(f"a file of user {info.st_uid}", f"one of user {user}, who handed it over")
