"""Connections that libzmq has accepted, as the operating system knows them.

libzmq tells neither which there are nor how to end one. The process's descriptors do: one whose own
address is that of a listening socket was accepted there. Each is looked at through a copy of its
descriptor, so that what is cut is what was looked at, whatever libzmq closes meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import termios
from collections.abc import Container
from contextlib import suppress

#: SO_LINGER: what is closed ends at once.
RESET = struct.pack("ii", 1, 0)

#: Where a socket listens: a file, or a port.
Address = str | int


def address_of(listening: socket.socket) -> Address | None:
    """The address that a socket has on this side; None where it is no local or TCP socket."""
    try:
        name = listening.getsockname()
    except OSError:
        return None
    if listening.family == socket.AF_UNIX:
        return os.fsdecode(name) or None
    if listening.family in (socket.AF_INET, socket.AF_INET6):
        return int(name[1])
    return None


class Connection:
    """One connection; to be closed, which leaves it to libzmq as it is."""

    def __init__(self, copy: socket.socket, address: Address) -> None:
        self.socket = copy
        self.address = address
        #: How often bytes were waiting to be read when somebody looked.
        self.busy = 0

    def look(self) -> None:
        """Count whether its peer is just sending."""
        waiting = struct.unpack("i", fcntl.ioctl(self.socket, termios.FIONREAD, bytes(4)))[0]
        self.busy += waiting > 0

    def cut(self) -> None:
        """End it: libzmq reads an end of file, and drops what is unfinished.

        Over TCP a peer that waits to send more would hear of it after a minute: a window that is
        shut is not opened for who reads no more. So its end is a reset.
        """
        with suppress(OSError):  # its peer was faster
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Look no longer."""
        self.socket.close()


def connections(listening: Container[Address]) -> list[Connection]:
    """All that were accepted at these addresses."""
    found: dict[int, Connection] = {}  # by the descriptor of the copy
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        # The descriptor by which the list was read is in it, and free for a copy by now.
        copy = None if descriptor in found else _socket_copy(descriptor)
        if copy is None:
            continue
        address = address_of(copy)
        if address is not None and address in listening and not _listens(copy):
            found[copy.fileno()] = Connection(copy, address)
        else:
            copy.close()
    return list(found.values())


def _socket_copy(descriptor: int) -> socket.socket | None:
    try:
        copy = os.dup(descriptor)
    except OSError:
        return None  # it has been closed meanwhile
    if stat.S_ISSOCK(os.fstat(copy).st_mode):
        return socket.socket(fileno=copy)
    os.close(copy)
    return None


def _listens(copy: socket.socket) -> bool:
    return bool(copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
