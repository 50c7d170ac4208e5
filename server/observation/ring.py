"""The ring's file: made by the daemon, written by its loop, read by users of the sockets.

It lies in memory, because the loop must not wait for a disk. If the socket directory is not in
memory, it lies in /dev/shm, and the directory file beside the sockets says where.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import secrets
from pathlib import Path

import numpy as np

from torqued.common.errors import TorquedError
from torqued.server.observation.layout import (
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MARKS,
    VERSION,
)
from torqued.server.transport.endpoints import Endpoints, group_number

#: Default MiB of a ring: 2 s of 16 sessions of a humanoid, minutes of an arm's.
DEFAULT_SIZE = 64
MEBIBYTE = 2**20
SHARED_MEMORY = Path("/dev/shm")
IN_MEMORY = ("tmpfs", "ramfs")


class RingError(TorquedError):
    """A ring that cannot be made."""


class Ring:
    """The file, mapped for the loop, which uses only `address`."""

    def __init__(
        self,
        endpoints: Endpoints,
        size: int,
        period_ns: int,
        epoch: int | None = None,
        part: str = "",
    ) -> None:
        """`size` in MiB. A further ring of a daemon has the epoch of its first, and a name."""
        capacity = size * MEBIBYTE // MARKS * MARKS
        self.epoch = secrets.randbits(63) if epoch is None else epoch
        self.path = place(endpoints, self.epoch, part)
        remove_orphans()
        self._file = _new_file(self.path, endpoints.group)
        try:
            # Missing memory must show here, not in the loop.
            os.posix_fallocate(self._file, 0, HEADER_BYTES + capacity)
            self._map = mmap.mmap(self._file, HEADER_BYTES + capacity)
        except OSError as error:
            self._discard()
            raise RingError(f"{self.path}, {size} MiB: {error.strerror}") from None
        memory = np.frombuffer(self._map, np.uint8)
        memory[:] = 0  # every page is there before the loop first meets it
        self.header = memory[:HEADER_BYTES].view(HEADER).view(np.recarray)[0]
        self.address: int = memory.ctypes.data
        self.header.version, self.header.header = VERSION, HEADER_BYTES
        self.header.capacity, self.header.epoch = capacity, self.epoch
        self.header.period, self.header.process = period_ns, os.getpid()
        self.header.magic = MAGIC

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return int(self.header.capacity)

    def close(self) -> None:
        """Mark the ring as closed. The loop has ended.

        The memory stays mapped until the process ends, so no thread writes to unmapped memory.
        """
        self.header.closed = 1
        self._discard()

    def _discard(self) -> None:
        os.close(self._file)
        self.path.unlink(missing_ok=True)


def place(endpoints: Endpoints, epoch: int, part: str = "") -> Path:
    """Path of a new ring."""
    if is_in_memory(endpoints.folder) or not SHARED_MEMORY.is_dir():
        return endpoints.folder / f"{endpoints.name}{part}.ring"
    return SHARED_MEMORY / f"torqued-{os.getuid()}-{epoch:016x}{part}.ring"


def is_in_memory(folder: Path) -> bool:
    """Whether the files of a directory are in memory only, by the mount table."""
    best, kind = 0, ""
    target = os.path.realpath(folder)
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, fstype, *_ = line.split()
        point = point.replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), fstype
    return kind in IN_MEMORY


def remove_orphans() -> None:
    """Remove rings of killed daemons of this user from /dev/shm: they are not locked."""
    for path in SHARED_MEMORY.glob(f"torqued-{os.getuid()}-*.ring"):
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # another user's, or removed meanwhile
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            pass  # its daemon is running
        finally:
            os.close(file)


def _new_file(path: Path, group: str | None) -> int:
    """A new file, locked for as long as this process lives. Readers, the group included, may not
    write."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        path.unlink(missing_ok=True)  # left by a killed daemon: this process holds the name's lock
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise RingError(f"{path}: {error.strerror}") from None
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    protect(file, group)
    return file


def protect(file: int, group: str | None) -> None:
    """Make a file readable to users of the sockets, and writable to this user only."""
    if group:
        os.fchown(file, -1, group_number(group))
    os.fchmod(file, 0o640 if group else 0o600)
