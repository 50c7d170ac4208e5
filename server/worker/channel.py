"""Messages between the daemon and a thread of its worker: a head and a body, over a socket pair.

A message wakes only the thread that it is for; ZeroMQ would wake an I/O thread on either side.
Large bodies go in a memfd, so that neither side waits for the other to read. A message may carry a
file descriptor.
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

#: Bytes of a message through the socket, whose buffer holds a few of them.
MAX_INLINE = 32 * 1024

#: Bytes of the head, and whether the body is in a file.
_head = struct.Struct("<I?")


class Message(NamedTuple):
    head: dict[str, Any]
    body: zmq.Frame
    descriptor: int | None  # of a file, which the receiver closes


def pair() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection that keeps message boundaries."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Channel:
    """One end. With a blocking socket `receive` waits; otherwise it may return None."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self.closed = False  # by the other end

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(
        self, head: Mapping[str, Any], body: bytes = b"", descriptor: int | None = None
    ) -> None:
        """Raises OSError if the other end is closed, or there is no memory for the body."""
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
        """The next message; None if there is none, or the other end is closed."""
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
