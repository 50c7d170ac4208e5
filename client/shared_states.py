"""The states of a batch in shared memory, for a daemon on this machine: the way through two sockets
takes longer than what is computed of them.

Arrays go to an anonymous file of this process (a memfd), and the request tells which of its
descriptors that is and where they lie. It can grow but not shrink, so that the worker may map it
and compute with the numbers where they are. It has no name that anyone else could open, and is gone
with the processes that have it. With it come two pipes: by one the worker's reply need not go
through the daemon, by the other not even the request (direct_batches.py).

The request may go first: then the numbers are written while it wakes up the daemon and its worker,
and a mark in the file says when they are all there.
"""

from __future__ import annotations

import contextlib
import os
import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torqued.client import codec
from torqued.client.direct_batches import DirectRequests
from torqued.client.futex import STAYS_IN_ORDER, barrier
from torqued.client.operations import STACKED
from torqued.client.shared_memory import NotSharedError
from torqued.common.errors import FieldError, RequestError

#: What the files are called; the name is known to who has one and to whom he tells it.
PREFIX = "torqued-states-"
NAME = re.compile(rf"{PREFIX}[0-9a-f]{{32}}")
#: Bytes that are worth a file, and the requests by a pipe that come with it.
SMALLEST = 1024
#: Files that are kept for the next batches.
MAX_SPARE = 2
#: Where the mark is in a file, an unsigned number of 8 bytes, and where numbers begin.
MARK, NUMBERS = 0, 64

Arrays = Mapping[str, NDArray[np.float64]]


class StatesFile:
    """One file, this process's own. Gone with this object."""

    def __init__(self) -> None:
        """Raises OSError where there is no such memory."""
        import fcntl  # where there are such files: a client elsewhere does without

        self.name = f"{PREFIX}{os.urandom(16).hex()}"
        self._numbers = np.empty(0)
        #: What is open, for whoever closes it: first, as whatever follows may be interrupted.
        self._open: list[int] = []
        self.close = weakref.finalize(self, _close, self._open)
        try:
            self._file = os.memfd_create(self.name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            self._open.append(self._file)
            fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            #: Where a reply comes in; and where it is put in, open here so that it never ends.
            self.replies, self._reply = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            self._open += self.replies, self._reply
            self.requests = DirectRequests(self.replies, self._open)
        except BaseException:
            self.close()
            raise

    def _reserve(self, size: int) -> None:
        if size > self._numbers.nbytes:
            import mmap

            # Memory that runs out is told here, not by a signal later.
            os.posix_fallocate(self._file, 0, size)
            flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
            self._numbers = np.frombuffer(mmap.mmap(self._file, size, flags=flags), np.float64)

    def place(self, arrays: Arrays) -> dict[str, Any]:
        """Make room for arrays, and tell where they will be. Raises OSError where memory does not
        suffice."""
        places: dict[str, dict[str, Any]] = {}
        end = NUMBERS
        for key, array in arrays.items():
            places[key] = {"offset": end, "shape": list(array.shape)}
            end += array.nbytes
        self._reserve(end)
        return {
            "process": os.getpid(),
            "descriptor": self._file,
            "name": self.name,
            "arrays": places,
        }

    def write(self, arrays: Arrays) -> None:
        """Put arrays to their places."""
        start = NUMBERS // 8
        for array in arrays.values():
            np.copyto(self._numbers[start : start + array.size], array.ravel())
            start += array.size

    def write_late(self, arrays: Arrays, identity: int) -> None:
        """The same after the request of that id has been sent."""
        self.write(arrays)
        if not STAYS_IN_ORDER:
            barrier()
        self._numbers[:1].view(np.uint64)[0] = identity

    def direct(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """What to tell where numbers come late, the reply may come by a pipe, and requests may go
        by another once the worker reads from it."""
        found = {**told, "reply": self._reply, "mark": MARK}
        request = self.requests.descriptor
        return found if request is None else {**found, "request": request}


def _close(files: list[int]) -> None:
    while files:
        os.close(files.pop())


class Told(NamedTuple):
    """What a batch says; what is to be done once it has been sent with an id; and the file whose
    pipes its request and its reply may take in place of the socket."""

    fields: dict[str, Any]
    after: Callable[[int], None] | None = None
    file: StatesFile | None = None

    def ask_worker(self, identity: int, timeout: float) -> bytes | None:
        """The worker's reply, where it has been asked for such a batch before; else None."""
        if self.file is None or self.after is None:
            return None
        requests = self.file.requests
        if requests.descriptor is not None:  # the worker does not read from it yet
            return None
        return requests.ask(codec.encode(self.fields), identity, self.after, timeout)

    def learn(self, reply: Mapping[str, Any]) -> None:
        """How a batch with the same memory for its results may be asked for from now on."""
        number, memory = reply.get("direct"), reply.get("memory")
        if self.file is None or not isinstance(memory, Mapping):
            return
        if type(number) is not int or not 0 <= number < 1 << 64:
            return
        # As it will be said then: who reads from the pipe need not be told of it.
        states = {key: x for key, x in self.fields["states"].items() if key != "request"}
        said = {**self.fields, "memory": memory.get("file"), "states": states}
        self.file.requests.learn(codec.encode(said), number)


class SharedStates:
    """The files of one client."""

    def __init__(self) -> None:
        #: Whether the daemon can read them, as far as is known.
        self.wanted = hasattr(os, "memfd_create")
        self._spare: list[StatesFile] = []
        _all.add(self)

    @contextlib.contextmanager
    def told(self, fields: dict[str, Any], direct: bool) -> Iterator[Told]:
        """The fields of a batch, its large arrays in a file that is nobody else's until the reply,
        which may come by a pipe (`direct`: then `after` is to be called).

        Raises `NotSharedError` where the daemon cannot read it.
        """
        arrays = {key: x for key, x in fields.items() if key in STACKED and is_plain(x)}
        size = sum(x.nbytes for x in arrays.values())
        if not self.wanted or not fields.get("memory") or size < SMALLEST:
            yield Told(fields)
            return
        try:
            file = self._spare.pop() if self._spare else StatesFile()
            states = file.place(arrays)
        except OSError:  # no such memory, or not enough of it: they go through the sockets
            yield Told(fields)
            return
        rest = {key: value for key, value in fields.items() if key not in arrays}
        try:
            if direct:
                after = partial(file.write_late, arrays)
                yield Told({**rest, "states": file.direct(states)}, after, file)
            else:
                file.write(arrays)
                yield Told({**rest, "states": states})
        except FieldError as error:
            if error.field == "states":
                self.wanted = False
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
        if len(self._spare) < MAX_SPARE and not file.requests.ended:
            self._spare.append(file)
        else:
            file.close()

    def close(self) -> None:
        for file in self._spare:
            file.close()
        self._spare.clear()


#: So that a forked process lets go of them: the worker would take it for their client.
_all: weakref.WeakSet[SharedStates] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for states in _all:
        states.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def is_plain(value: Any) -> bool:
    """Whether its memory can be taken as it is."""
    return type(value) is np.ndarray and value.dtype == "<f8" and value.flags.c_contiguous
