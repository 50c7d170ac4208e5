"""Results in shared memory: what a client on the same machine need not get through two sockets.

The worker makes a file in memory that nobody but its own user may open, writes results there and
tells the file's name; the client opens the file, takes its name away and reads. Whatever becomes of
the client, the name is gone after `LIFETIME`.

New memory costs more than a batch: the system has to clear every page. So both keep it. When a
client has no more use for results, it gives their file's name with its next request, and they go
where the last ones were. Nobody else knows the name.
"""

from __future__ import annotations

import contextlib
import errno
import math
import mmap
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from torqued.client.shared_memory import FOLDER, NAME, PREFIX
from torqued.kernels.model.description import Array

#: s that a client has to open a file.
LIFETIME = 30.0
#: Bytes of one batch's results.
LARGEST = 1024 * 1024 * 1024
#: Bytes of files together that no client has opened yet: what is beyond that goes through sockets.
MAX_WAITING = LARGEST
#: Files that are kept, and their bytes together: for clients that may ask again.
MAX_KEPT, MAX_BYTES = 32, 512 * 1024 * 1024
#: A line of the cache, at which each array begins.
LINE = 64


class Forgetting:
    """Takes names away when their time is over: a thread for all of them."""

    def __init__(self) -> None:
        self._due: deque[tuple[float, Path]] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def later(self, path: Path) -> None:
        self._due.append((time.monotonic() + LIFETIME, path))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="forgetting", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._thread = None
                    return
                due, path = self._due[0]
            time.sleep(max(0.0, due - time.monotonic()))
            forget(path)
            self._due.popleft()

    def all_now(self) -> None:
        """At the end of the process."""
        for _, path in list(self._due):
            forget(path)


FORGETTING = Forgetting()


class SharedFile:
    """One file, mapped as long as this object lives."""

    def __init__(self, size: int) -> None:
        """Raises OSError where there is no such memory, or not enough."""
        self.name = f"{PREFIX}{secrets.token_hex(16)}"
        self.size = size
        self._path = Path(FOLDER, self.name)
        if clear_away() + size > MAX_WAITING:
            raise OSError(errno.ENOSPC, "clients have not fetched their results")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self._path, flags, 0o600)
        try:
            os.posix_fallocate(file, 0, size)  # a full memory is told here, not by a signal later
            self._memory = mmap.mmap(file, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        except BaseException:
            self.forget()
            raise
        finally:
            os.close(file)
        self._start = np.frombuffer(self._memory, np.uint8).ctypes.data
        FORGETTING.later(self._path)

    def forget(self) -> None:
        """Take the file's name away, unless its client has."""
        forget(self._path)

    def arrays(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
        """For results of these shapes, from the beginning on."""
        found, start = {}, 0
        for name, shape in shapes.items():
            found[name] = np.ndarray(shape, np.float64, self._memory, start)
            start += lines_of(shape)
        return found

    def described(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Where each of the arrays lies, in place of the arrays."""
        return {
            key: self.described(value)
            if isinstance(value, Mapping)
            else {
                "offset": value.__array_interface__["data"][0] - self._start,
                "shape": list(value.shape),
                "strides": list(value.strides),
            }
            for key, value in results.items()
        }


class SharedFiles:
    """Those that clients may use again, the last used at the end."""

    def __init__(self) -> None:
        self._kept: list[SharedFile] = []
        self._lock = threading.Lock()  # batches are computed beside each other

    def for_results(self, size: int, name: str | None) -> SharedFile | None:
        """The file of that name where it is kept and large enough, else a new one; or none."""
        with self._lock:
            given = next((file for file in self._kept if file.name == name), None)
            if given is not None:
                self._kept.remove(given)
        file = given if given is not None and size <= given.size else None
        if file is None:
            del given  # before there is another: it may be what memory is lacking for
            try:
                file = SharedFile(size)
            except OSError:
                return None
        self.keep(file)
        return file

    def keep(self, file: SharedFile) -> None:
        """A file that somebody has; as the last used."""
        with self._lock:
            self._kept = [*(other for other in self._kept if other is not file), file]
            while len(self._kept) > MAX_KEPT or sum(x.size for x in self._kept) > MAX_BYTES:
                self._kept.pop(0)

    def drop(self, file: SharedFile) -> None:
        """A file that nobody was told of."""
        with self._lock:
            if file in self._kept:
                self._kept.remove(file)
        file.forget()


def lines_of(shape: tuple[int, ...]) -> int:
    """Bytes of an array in whole lines."""
    return -(-math.prod(shape) * 8 // LINE) * LINE


def size_for(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Bytes for arrays of these shapes."""
    return sum(lines_of(shape) for shape in shapes.values())


def clear_away() -> int:
    """Names that a worker left behind when it was killed, and that no client has opened; how many
    bytes wait for clients."""
    waiting = 0
    for path in Path(FOLDER).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another process clears away too
            info = path.lstat()
            if info.st_uid != os.geteuid() or not NAME.fullmatch(path.name):
                continue
            if time.time() - info.st_mtime < LIFETIME:
                waiting += info.st_size
            else:
                path.unlink()
    return waiting


def forget(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
