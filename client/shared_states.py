"""The states of a batch in shared memory, for a daemon on this machine: the way through two sockets
takes longer than what is computed of them.

Arrays go to a file of this user's own, and the request tells where they lie. The file keeps its
name and its memory from one batch to the next. It is locked as long as this process has it open:
so a worker knows those that nobody will use again, and takes their names away.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.operations import STACKED
from torqued.client.shared_memory import FOLDER, NotSharedError
from torqued.common.errors import FieldError, RequestError

#: What the files' names look like.
PREFIX = "torqued-states-"
NAME = re.compile(rf"{PREFIX}[0-9a-f]{{32}}")
#: Bytes that are worth a file: less goes through the sockets as fast.
SMALLEST = 32 * 1024
#: Files that are kept for the next batches.
MOST_SPARE = 2

Arrays = Mapping[str, NDArray[np.float64]]


class StatesFile:
    """One file, this process's own. Gone with this object, or with the process."""

    def __init__(self) -> None:
        """Raises OSError where there is no such memory."""
        import fcntl  # where there are such files: a client elsewhere does without

        self.name = f"{PREFIX}{os.urandom(16).hex()}"
        path = Path(FOLDER, self.name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self.close = weakref.finalize(self, _forget, path, self._file, os.getpid())
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def write(self, arrays: Arrays) -> dict[str, Any]:
        """Put arrays there, and tell where. Raises OSError where memory does not suffice."""
        places, end = {}, 0
        for key, array in arrays.items():
            places[key] = {"offset": end, "shape": list(array.shape)}
            end += array.nbytes
        # Written, not mapped: memory that runs out is told by an error, not by a signal.
        if os.pwritev(self._file, [array.data for array in arrays.values()], 0) != end:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return {"file": self.name, "arrays": places}


def _forget(path: Path, file: int, owner: int) -> None:
    os.close(file)
    if os.getpid() == owner:  # a forked child has the object too
        path.unlink(missing_ok=True)


class SharedStates:
    """The files of one client."""

    def __init__(self) -> None:
        self._spare: list[StatesFile] = []

    @contextlib.contextmanager
    def told(self, fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The fields of a batch, its large arrays in a file that is nobody else's until the reply.

        Raises `NotSharedError` where the daemon cannot read it.
        """
        arrays = {key: fields[key] for key in STACKED if is_plain(fields.get(key))}
        if not fields.get("memory") or sum(x.nbytes for x in arrays.values()) < SMALLEST:
            yield fields
            return
        try:
            file = self._spare.pop() if self._spare else StatesFile()
            states = file.write(arrays)
        except OSError:  # no such memory, or not enough of it: they go through the sockets
            yield fields
            return
        rest = {key: value for key, value in fields.items() if key not in arrays}
        try:
            yield {**rest, "states": states}
        except FieldError as error:
            if error.field == "states":
                raise NotSharedError(str(error)) from error
            self._keep(file)
            raise
        except RequestError:
            self._keep(file)
            raise
        except BaseException:  # no reply: the worker may still read it
            file.close()
            raise
        self._keep(file)

    def _keep(self, file: StatesFile) -> None:
        if len(self._spare) < MOST_SPARE:
            self._spare.append(file)

    def close(self) -> None:
        for file in self._spare:
            file.close()
        self._spare.clear()


def is_plain(value: Any) -> bool:
    """Whether its memory can be taken as it is."""
    return type(value) is np.ndarray and value.dtype == "<f8" and value.flags.c_contiguous
