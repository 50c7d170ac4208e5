"""Messages between the daemon and a thread of its worker: a head and a body, over a socket pair.

Each wakes the thread that it is for, and no other: ZeroMQ's would pass through a thread on either
side, and to be woken takes these longer than all that they do. What is large goes in a file of its
own in memory, so that neither side ever waits for the other to read. A message may have a file
descriptor beside it.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import zmq

from torqued.client import codec

#: Bytes of a message that go through the socket. A few of them fit into its buffer.
MAX_INLINE = 32 * 1024

#: Bytes of the head, and whether the body is in a file.
_head = struct.Struct("<I?")


class Message(NamedTuple):
    head: dict[str, Any]
    body: zmq.Frame
    descriptor: int | None  # of a file beside it, to be closed by the receiver


def pair() -> tuple[socket.socket, socket.socket]:
    """Both ends; messages stay apart from each other."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Channel:
    """One end. A blocking socket waits for messages, another one has `None` where there is none."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self.closed = False  # by the other end

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(
        self, head: Mapping[str, Any], body: bytes = b"", descriptor: int | None = None
    ) -> None:
        """Raises OSError where the other end is closed, or there is no memory for the body."""
        packed = codec.encode(head)
        files = [] if descriptor is None else [descriptor]
        if _head.size + len(packed) + len(body) <= MAX_INLINE:
            self._send(_head.pack(len(packed), False) + packed + body, files)
            return
        file = os.memfd_create("torqued-worker", os.MFD_CLOEXEC)
        try:
            left = memoryview(body)
            while left:
                left = left[os.write(file, left) :]
            self._send(_head.pack(len(packed), True) + packed, [file, *files])
        finally:
            os.close(file)

    def _send(self, message: bytes, files: list[int]) -> None:
        if files:
            socket.send_fds(self._socket, [message], files)
        else:
            self._socket.sendall(message)

    def receive(self) -> Message | None:
        """The next message; None where there is none, or will be none."""
        try:
            flags = socket.MSG_CMSG_CLOEXEC
            data, files, *_ = socket.recv_fds(self._socket, MAX_INLINE, 2, flags)
        except BlockingIOError:
            return None
        except ConnectionError:
            data, files = b"", []
        if not data:
            self.closed = True
            return None
        size, is_in_file = _head.unpack_from(data)
        start = _head.size + size
        head = codec.decode(data[_head.size : start])
        body = _contents(files.pop(0)) if is_in_file else zmq.Frame(data[start:])
        return Message(head, body, files[0] if files else None)

    def close(self) -> None:
        self._socket.close()


def _contents(file: int) -> zmq.Frame:
    """All of a file, which is closed."""
    try:
        size = os.fstat(file).st_size
        return zmq.Frame(mmap.mmap(file, size, prot=mmap.PROT_READ), copy=False)
    finally:
        os.close(file)
