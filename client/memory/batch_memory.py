"""Memory that a client shares with a daemon on its machine: states of batches and their results.

It is one anonymous file (memfd), handed over once on the daemon's memory socket. It can grow but
not shrink, so that neither side takes memory away from the other. A batch says where its states lie
and where its results may go. Results are views: their part of the memory is in use until the last
one is deleted. The daemon drops the memory when the connection closes that it came by.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import struct
import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from torqued.client import codec
from torqued.client.endpoints import check_local, memory_endpoint
from torqued.common.errors import FieldError, MessageError, RequestError
from torqued.common.stacked import STACKED

Fields = dict[str, Any]

#: Sent with the descriptor.
HANDOVER = b"batch"
#: Bytes of the daemon's reply.
MAX_REPLY = 4096
#: Bytes of the memory.
MAX_BYTES = 1 << 30
#: Bytes beyond the known need: room for results that a message could hold. The system allocates
#: them as they are written.
HEADROOM = codec.MAX_MESSAGE
#: Bytes of a cache line; arrays are aligned to it.
LINE = 64


class Region(NamedTuple):
    """A part of the memory, from byte to byte."""

    start: int
    end: int


class BatchMemory:
    """The memory of one client, for one batch at a time."""

    def __init__(self, endpoint: str, timeout: float) -> None:
        """Hand it to the daemon at this request endpoint. Raises OSError or TorquedError if that
        fails."""
        import fcntl  # not on every system: clients elsewhere send arrays in messages

        self._file = os.memfd_create("torqued-batch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self.close = weakref.finalize(self, _close, self._file, connection)
        self._size = 0
        self._map: Any = None  # an mmap of all of it, from the first batch on
        self._taken: list[Region] = []
        self._forks = _forks
        try:
            fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            self.name = _hand_over(connection, memory_endpoint(endpoint), self._file, timeout)
        except BaseException:
            self.close()
            raise

    @property
    def is_usable(self) -> bool:
        """False after a fork: the other process may have arrays in memory that is free here."""
        return self.close.alive and self._forks == _forks

    def perform(self, fields: Fields, ask: Callable[[Fields], Fields]) -> Fields:
        """The fields of the reply to a batch, which `ask` sends."""
        results = 0
        try:
            return self._perform(fields, ask, results)
        except MessageError as error:
            if error.field != "memory":
                raise
            results = int(error.value)
        except FieldError as error:
            if error.field != "memory":
                raise
            self.close()  # unknown to the daemon, as after a restart
        return self._perform(fields, ask, results) if results else ask(fields)

    def _perform(self, fields: Fields, ask: Callable[[Fields], Fields], results: int) -> Fields:
        """The same, with room for at least `results` bytes."""
        arrays = {k: x for k, x in fields.items() if k in STACKED and isinstance(x, np.ndarray)}
        states = sum(lines_of(x.nbytes) for x in arrays.values())
        try:
            try:
                region = self._reserve(states + results)
            except OSError:  # no memory left
                return ask(fields)
            places, start = {}, region.start
            for key, x in arrays.items():
                places[key] = {"offset": start, "shape": list(x.shape)}
                np.copyto(np.ndarray(x.shape, np.float64, self._map, start), x)
                start += lines_of(x.nbytes)
            memory = {"name": self.name, "states": places, "results": [start, region.end - start]}
            rest = {key: value for key, value in fields.items() if key not in arrays}
            reply = ask({**rest, "memory": memory})
        except RequestError:
            self._taken.remove(region)
            raise
        except BaseException:  # no reply: the worker may still write to it
            self.close()
            raise
        return self._resolve(reply, region)

    def _resolve(self, reply: Fields, region: Region) -> Fields:
        """A reply with arrays in place of their descriptions."""
        described = reply.pop("memory", None)
        self._taken.remove(region)
        if described is None:
            return reply
        whole = np.frombuffer(self._map, np.uint8)
        whole.flags.writeable = False
        found = _arrays(described, whole)
        region = Region(region.start, max(_ends(described)))
        self._taken.append(region)
        # `whole` is the base of all arrays and their views: the region is free when it is deleted.
        weakref.finalize(whole, self._taken.remove, region).atexit = False
        return reply | found

    def _reserve(self, size: int) -> Region:
        """Reserve the first gap of at least `size` bytes; the last one may grow."""
        start = 0
        for taken in sorted(self._taken):
            if taken.start - start >= size:
                region = Region(start, taken.start)
                break
            start = lines_of(taken.end)
        else:
            self._grow(start + size)
            region = Region(start, self._size)
        self._taken.append(region)
        return region

    def _grow(self, size: int) -> None:
        """Grow to at least `size` bytes; raises OSError if that is too much."""
        if size <= self._size and self._map is not None:
            return
        if size > MAX_BYTES:
            raise OSError(f"{size} bytes, at most {MAX_BYTES} are allowed")
        size = min(size + HEADROOM, MAX_BYTES)
        os.ftruncate(self._file, size)
        self._map, self._size = mmap.mmap(self._file, size), size


def _hand_over(connection: socket.socket, endpoint: str, file: int, timeout: float) -> str:
    """The name that the daemon gives the memory."""
    check_local(endpoint)
    # Timeouts of the system: with Python's, connecting fails at once if the backlog is full.
    seconds = struct.pack("qq", int(timeout), int(timeout % 1.0 * 1e6) + 1)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, seconds)
    connection.connect(endpoint.removeprefix("ipc://"))
    socket.send_fds(connection, [HANDOVER], [file])
    reply = codec.result_of(codec.decode_reply(connection.recv(MAX_REPLY)))
    return str(reply["memory"])


def _close(file: int, connection: socket.socket) -> None:
    os.close(file)
    with contextlib.suppress(OSError):  # not connected
        connection.shutdown(socket.SHUT_RDWR)  # even if a forked process has it open
    connection.close()


def lines_of(size: int) -> int:
    """`size` rounded up to whole cache lines."""
    return -(-size // LINE) * LINE


def _arrays(described: Mapping[str, Any], whole: Any) -> Fields:
    """Read-only arrays, as those of a message; numpy refuses places outside."""
    return {
        key: np.ndarray(place["shape"], np.float64, whole, place["offset"], place["strides"])
        if is_place(place)
        else _arrays(place, whole)
        for key, place in described.items()
    }


def is_place(described: Mapping[str, Any]) -> bool:
    """Whether it describes an array, not a map by frame."""
    return isinstance(described.get("offset"), int)


def _ends(described: Mapping[str, Any]) -> list[int]:
    """The end of each array, byte."""
    found = []
    for place in described.values():
        if not is_place(place):
            found += _ends(place)
            continue
        sizes = zip(place["shape"], place["strides"], strict=True)
        found.append(place["offset"] + 8 + sum((n - 1) * stride for n, stride in sizes))
    return found


#: Number of forks of this process and its parents.
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_count_fork)
