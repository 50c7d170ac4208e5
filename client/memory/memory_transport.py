"""A session's frames through shared memory; page_layout.py says where they are.

The daemon makes the page and hands it, over a local socket, to a client that knows the session's
secret. Its size is sealed. The daemon checks frames as it does over sockets: a client that writes
garbage harms only its own session.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torqued.client.endpoints import check_local
from torqued.client.errors import TimeoutError
from torqued.client.memory.compiled import page_type
from torqued.client.memory.page_layout import MAGIC, PageLayout
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client._native import Page

#: s for the daemon to hand over a page.
HANDOVER_TIMEOUT = 5


def memory_transport(endpoint: str, owner: bytes, opened: Mapping[str, Any]) -> Page:
    """The transport of a session that was opened with `transport="memory"`."""
    page_type()  # raises first if it was not built
    descriptor = receive_fd(endpoint, owner)
    try:
        return page_of(descriptor, opened)
    finally:
        os.close(descriptor)


def page_of(descriptor: int, opened: Mapping[str, Any]) -> Page:
    """The client's side of a page, mapped; its descriptor stays open."""
    layout = PageLayout(**opened["memory"])
    size = os.fstat(descriptor).st_size
    if size < layout.page_bytes:
        raise TorquedError(f"page of {size} bytes, expected {layout.page_bytes}")
    memory = mmap.mmap(descriptor, layout.page_bytes)
    if memory[: len(MAGIC)] != MAGIC:
        raise TorquedError(f"page of version {memory[: len(MAGIC)]!r}, expected {MAGIC!r}")
    spin = opened.get("spin", 0.0)
    return page_type()(memory, layout, opened["state_bytes"], opened["output_bytes"], spin)


def receive_fd(endpoint: str, owner: bytes) -> int:
    """The descriptor of the page that a daemon has made for the secret `owner`."""
    check_local(endpoint)
    path = endpoint.removeprefix("ipc://")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as connection:
        # Timeouts of the system: with Python's, connecting fails at once if the backlog is full.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("qq", HANDOVER_TIMEOUT, 0))
        try:
            connection.connect(path)
            connection.send(owner)
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            raise TimeoutError(f"no page from {path} within {HANDOVER_TIMEOUT} s") from None
        except OSError as error:
            raise TorquedError(f"no page from {path}: {error.strerror}") from None
    if not descriptors:
        raise TorquedError(f"the daemon at {path} does not know this session, or has ended it")
    return descriptors[0]
