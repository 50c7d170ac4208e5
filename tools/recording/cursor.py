"""Where a reader is in one ring: the file mapped, and what has come since copied whole."""

from __future__ import annotations

import mmap
import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np

from torqued.common.errors import TorquedError
from torqued.server.observation.layout import HEADER, HEADER_BYTES, MAGIC, VERSION

#: Bytes that one `copy` takes at most; the next goes on from there.
MAX_BYTES = 16 * 2**20
#: Part of the ring that a reader which lost ticks leaves to the writer before it goes on.
HEADROOM = 16

_BARRIER = threading.Lock()


class ReaderError(TorquedError):
    """A ring that is missing or cannot be read."""


class Cursor:
    """A place in a ring. Positions are bytes since the daemon was started."""

    def __init__(self, path: Path, owner: int) -> None:
        """At the ring's first byte; `owner` is the user that it has to belong to."""
        self._map = _mapped(path, owner)
        self._header: Any = np.frombuffer(self._map, HEADER, 1)
        head = self._header[0]
        if head["magic"] != MAGIC or head["version"] != VERSION:
            found = f"version {head['version']}" if head["magic"] == MAGIC else "not a ring"
            raise ReaderError(f"{path} is {found}, expected a ring of version {VERSION}")
        self._data: Any = memoryview(self._map)[HEADER_BYTES:]
        self.capacity = int(head["capacity"])
        self.position = 0
        self.number: int | None = 0  # of the record that comes next; None: any

    def close(self) -> None:
        """Unmap the ring."""
        self._header = self._data = None
        self._map.close()

    @property
    def is_open(self) -> bool:
        """Whether the daemon says that it goes on."""
        return not self._header["closed"][0]

    @property
    def written(self) -> int:
        """Up to where there is something to read."""
        return int(self._header["written"][0])

    @property
    def is_behind(self) -> bool:
        return self.position < self.written

    def skip(self) -> None:
        """Leave out what is there already."""
        self.position, self.number = self.written, None

    def copy(self) -> bytes:
        """Records in one piece from where the reader is, the last one perhaps cut short."""
        while True:
            written = self.written
            if written == self.position:
                return b""
            barrier()
            reserved = int(self._header["reserved"][0])
            if reserved - self.position > self.capacity:
                self.position = self._oldest(written, reserved)
            start = self.position
            at = start % self.capacity
            end = at + min(written - start, MAX_BYTES)
            data = bytes(self._data[at:end])
            if end > self.capacity:  # round the end, where no record lies across
                data += bytes(self._data[: end - self.capacity])
            barrier()
            # Otherwise the writer has come round meanwhile, and these bytes may be torn.
            if int(self._header["reserved"][0]) - start <= self.capacity:
                return data

    def _oldest(self, written: int, reserved: int) -> int:
        """The oldest record that the writer will not reach soon."""
        oldest = reserved - self.capacity + self.capacity // HEADROOM
        marks = self._header["marks"][0]
        ahead = marks[(marks >= oldest) & (marks < written)]
        return int(ahead.min()) if len(ahead) else written


def _mapped(path: Path, owner: int) -> mmap.mmap:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            info = os.fstat(file)
            if info.st_uid != owner or not stat.S_ISREG(info.st_mode):
                raise ReaderError(f"ring {path} belongs to user {info.st_uid}, not to {owner}")
            return mmap.mmap(file, 0, prot=mmap.PROT_READ)
        finally:
            os.close(file)
    except (OSError, ValueError) as error:
        raise ReaderError(f"cannot read ring {path}: {error}") from None


def barrier() -> None:
    """What was read before is read before what is read after, on every processor.

    x86 does so by itself. Elsewhere a lock's release waits for reads before it, and its next
    acquisition for that release.
    """
    with _BARRIER:
        pass
    with _BARRIER:
        pass
