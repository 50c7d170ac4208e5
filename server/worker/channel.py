"""Messages between the daemon and a lane of its worker: a head and a body, over a socket pair.

Each wakes the thread that it is for, and no other: ZeroMQ's would pass through a thread on either
side, and to be woken takes these longer than all that they do. What is large goes in a file of its
own in memory, so that neither side ever waits for the other to read.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Mapping
from typing import Any

import zmq

from torqued.client import codec

#: Bytes of a message that go through the socket. A few of them fit into its buffer.
MAX_INLINE = 32 * 1024

_head = struct.Struct("<I")


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

    def send(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        """Raises OSError where nobody hears it."""
        packed = codec.encode(head)
        message = _head.pack(len(packed)) + packed
        if len(message) + len(body) <= MAX_INLINE:
            self._socket.sendall(message + body)
            return
        file = os.memfd_create("torqued-worker", os.MFD_CLOEXEC)
        try:
            left = memoryview(body)
            while left:
                left = left[os.write(file, left) :]
            socket.send_fds(self._socket, [message], [file])
        finally:
            os.close(file)

    def receive(self) -> tuple[dict[str, Any], zmq.Frame] | None:
        """The next message's head and body; None where there is none, or will be none."""
        try:
            data, files, *_ = socket.recv_fds(self._socket, MAX_INLINE, 1)
        except BlockingIOError:
            return None
        except ConnectionError:
            data, files = b"", []
        if not data:
            self.closed = True
            return None
        start = _head.size + _head.unpack_from(data)[0]
        head = codec.decode(data[_head.size : start])
        if not files:
            return head, zmq.Frame(data[start:])
        try:
            size = os.fstat(files[0]).st_size
            memory = mmap.mmap(files[0], size, prot=mmap.PROT_READ)
        finally:
            os.close(files[0])
        return head, zmq.Frame(memory, copy=False)

    def close(self) -> None:
        self._socket.close()
