"""A session's frames through shared memory; page_layout.py says where they are.

The daemon makes the page and hands it to whoever knows the session's secret, over a local socket.
Its size is sealed. The daemon checks what a client writes as it checks what comes over sockets:
what a client does to its page harms its own session only.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from torqued.client import futex
from torqued.client.compiled import native
from torqued.client.endpoints import check_local
from torqued.client.errors import TimeoutError
from torqued.client.memory_page import MemoryPage
from torqued.client.page_layout import (
    CLIENT_SLEEPS,
    DAEMON_SLEEPS,
    LOCK_BYTES,
    MAGIC,
    OUTPUTS,
    STATES,
    PageLayout,
)
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client._native import Page

#: s for the daemon to hand over a page.
MAX_HANDOVER = 5
#: Where compiled code finds the page's words, and the bytes of a lock.
WORDS = (STATES, DAEMON_SLEEPS, OUTPUTS, CLIENT_SLEEPS, LOCK_BYTES)


class MemoryChannel:
    """The client's side of a page. Not to be shared between threads."""

    def __init__(self, descriptor: int, opened: Mapping[str, Any], sized: bool = False) -> None:
        """`descriptor` is that of the page, which this maps and leaves open."""
        layout = PageLayout(**opened["memory"])
        if os.fstat(descriptor).st_size < layout.page_bytes:
            raise TorquedError(f"the page of this session has not {layout.page_bytes} bytes")
        memory = mmap.mmap(descriptor, layout.page_bytes)
        if memory[: len(MAGIC)] != MAGIC:
            memory.close()
            raise TorquedError("the page of this session is of another version")
        of_frames = opened["state_bytes"], opened["output_bytes"], opened.get("spin", 0.0), sized
        compiled = native()
        #: Who has the page: its memory is given back with the last of them.
        self.page: Page | MemoryPage = (
            compiled.Page(memory, WORDS, layout, *of_frames)
            if compiled is not None
            else MemoryPage(memory, layout, *of_frames)
        )
        # The page's own functions: another one around each would only take time.
        self.send, self.newest, self.glance = self.page.send, self.page.newest, self.page.glance
        self.receive, self.wait, self.close = self.page.receive, self.page.wait, self.page.close


def memory_channel(endpoint: str, owner: bytes, opened: Mapping[str, Any]) -> MemoryChannel:
    """The channel of a session that was opened with `transport="memory"`."""
    with asked_for(endpoint, owner) as asked:
        return MemoryChannel(asked.descriptor, opened)


class Handover(NamedTuple):
    """A page's file descriptor, and the connection that it came by."""

    descriptor: int
    connection: socket.socket

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)
        self.connection.close()


def asked_for(endpoint: str, owner: bytes) -> Handover:
    """The page that a daemon has made for whoever knows the secret `owner`."""
    futex.require_futex()
    check_local(endpoint)
    path = endpoint.removeprefix("ipc://")
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    try:
        # Times of the system's own: with Python's, connecting fails at once where others wait.
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            asked.setsockopt(socket.SOL_SOCKET, option, struct.pack("qq", MAX_HANDOVER, 0))
        asked.connect(path)
        asked.send(owner)
        _, descriptors, _, _ = socket.recv_fds(asked, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            raise TorquedError(f"the daemon at {path} knows no such session, or has ended it")
    except BaseException as error:
        asked.close()
        if isinstance(error, BlockingIOError):
            raise TimeoutError(f"no page from {path} within {MAX_HANDOVER} s") from None
        if isinstance(error, OSError):
            raise TorquedError(f"no page from {path}: {error.strerror}") from None
        raise
    return Handover(descriptors[0], asked)


def handed_over(endpoint: str, owner: bytes) -> int:
    """The descriptor alone."""
    descriptor, connection = asked_for(endpoint, owner)
    connection.close()
    return descriptor
