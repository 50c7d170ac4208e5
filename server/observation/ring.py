"""The ring's file: made by the daemon, written by its loop, read by whoever may use the sockets.

It lies in memory, not on a disk: the loop must not wait for one. Where the sockets' folder is no
such place, it lies in /dev/shm, and the directory beside the sockets says where.
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

#: MiB that a ring has unless somebody says otherwise: 2 s of 16 sessions of a humanoid, minutes of
#: an arm's.
DEFAULT_SIZE = 64
MEBIBYTE = 2**20
SHARED_MEMORY = Path("/dev/shm")
IN_MEMORY = ("tmpfs", "ramfs")


class RingError(TorquedError):
    """A ring that cannot be made."""


class Ring:
    """The file, mapped for the loop. Only `address` is of interest to it."""

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
            # Memory that is not there must be missed here, not by the loop.
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
        """Tell readers that nothing more will come. The loop has ended.

        The memory stays mapped until the process ends: nobody can write to a place that is gone.
        """
        self.header.closed = 1
        self._discard()

    def _discard(self) -> None:
        os.close(self._file)
        self.path.unlink(missing_ok=True)


def place(endpoints: Endpoints, epoch: int, part: str = "") -> Path:
    """Where a new ring goes."""
    if is_in_memory(endpoints.folder) or not SHARED_MEMORY.is_dir():
        return endpoints.folder / f"{endpoints.name}{part}.ring"
    return SHARED_MEMORY / f"torqued-{os.getuid()}-{epoch:016x}{part}.ring"


def is_in_memory(folder: Path) -> bool:
    """Whether the files of a folder are in memory alone, by the table of mounts."""
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
    """Take away what daemons of this user left in /dev/shm that were killed: nobody locks it."""
    for path in SHARED_MEMORY.glob(f"torqued-{os.getuid()}-*.ring"):
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # another user's, or gone by now
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            pass  # its daemon lives
        finally:
            os.close(file)


def _new_file(path: Path, group: str | None) -> int:
    """A new file, locked for as long as this process lives. Readers may not write: not the group
    either, which may connect to sockets."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        path.unlink(missing_ok=True)  # of a daemon that was killed: the lock of its name is ours
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise RingError(f"{path}: {error.strerror}") from None
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    protect(file, group)
    return file


def protect(file: int, group: str | None) -> None:
    """Let those read a file who may use the sockets; nobody but this user may write to it."""
    if group:
        os.fchown(file, -1, group_number(group))
    os.fchmod(file, 0o640 if group else 0o600)
