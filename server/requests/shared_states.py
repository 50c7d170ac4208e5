"""States that a client on this machine has left in shared memory: client/shared_states.py.

Its file is opened as what it is, a descriptor of the client's process, and mapped to be read. Since
it cannot shrink, whatever the client does to it meanwhile changes numbers and nothing else: kernels
take a chunk of states to memory of their own before they look at it, and compute with what they
have looked at. Operations that go state by state, and batches with something wrong, get a copy
(batch.py).

Mappings are kept from one batch to the next, with the pipes that a reply may be put in and that
requests may come from.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import select
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from torqued.client.direct_batches import REQUEST
from torqued.client.futex import STAYS_IN_ORDER, barrier
from torqued.client.operations import STACKED
from torqued.client.shared_states import NAME
from torqued.common.errors import InputError
from torqued.kernels.input_checks import Fields
from torqued.kernels.model.description import Array
from torqued.server.requests.shared_results import LARGEST

#: s that a client may take to write its numbers after it has sent the request, and between looks;
#: it has them there soon, or looks may be further apart.
MAX_WRITE, LOOK, SOON = 1.0, 2e-5, 1e-3
#: Pipes of a client that the worker may write to and read from, as `states` tells of them.
PIPES = ("reply", "request")
#: Files that are kept open, and bytes of each.
MAX_KEPT, MAX_BYTES = 32, 64 * 1024 * 1024


class StatesMemory:
    """A client's file as it is seen here. Closed with the last reference to it."""

    def __init__(
        self,
        name: str,
        process: int,
        descriptor: int,
        reply: int | None = None,
        request: int | None = None,
    ) -> None:
        """Raises InputError where it is not such a file."""
        self.name = name
        self.process = process
        self._file = self.pipe = self.requests = -1
        self.reader: Any = None  # the lane that reads its client's requests
        self._file = self._opened(descriptor, os.O_RDONLY, f"/memfd:{name} (deleted)")
        seals = fcntl.fcntl(self._file, fcntl.F_GET_SEALS)
        if not seals & fcntl.F_SEAL_SHRINK:
            raise _wrong(f"file {name} can shrink", "a file sealed against that")
        if os.fstat(self._file).st_uid != os.geteuid():
            raise _wrong(f"file {name} is not the daemon's user's", "a file of the same user")
        if reply is not None:
            # Of the process that knows the file's name, so nobody else's.
            self.pipe = self._opened(reply, os.O_WRONLY, "pipe:")
        if request is not None:
            self.requests = self._opened(request, os.O_RDONLY, "pipe:")
            if self.pipe >= 0 and os.path.samestat(os.fstat(self.pipe), os.fstat(self.requests)):
                raise _wrong("reply and request are one pipe", "two")
        self._memory: mmap.mmap | None = None

    def __del__(self) -> None:
        for file in (self._file, self.pipe, self.requests):
            if file >= 0:
                os.close(file)

    def request(self) -> bytes:
        """The next one as it came; empty where there is none, or will be none."""
        try:
            return os.read(self.requests, REQUEST.size)
        except OSError:
            return b""

    def close_requests(self) -> None:
        os.close(self.requests)
        self.requests = -1

    def _opened(self, descriptor: int, how: int, name: str) -> int:
        path = f"/proc/{self.process}/fd/{descriptor}"
        try:
            # Looked at before it is opened, which may do something to what it is not.
            if not os.readlink(path).startswith(name):
                raise _wrong(f"descriptor {descriptor} is another file", "that of the states")
            file = os.open(path, how | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise _wrong(f"{path}: {error.strerror}", "a file that can be opened") from None
        if not os.readlink(f"/proc/self/fd/{file}").startswith(name):
            os.close(file)
            raise _wrong(f"descriptor {descriptor} is another file", "that of the states")
        return file

    @property
    def is_left(self) -> bool:
        """Whether its client has gone."""
        if self.pipe < 0:
            return True  # nobody would tell
        poll = select.poll()
        poll.register(self.pipe, 0)
        return bool(poll.poll(0))  # of what is always told: that nobody reads

    @property
    def size(self) -> int:
        """Bytes; it may grow."""
        return os.fstat(self._file).st_size

    def mapped(self) -> mmap.mmap:
        """All of the file."""
        size = self.size
        if not 0 < size <= LARGEST:
            raise _wrong(f"file {self.name}: {size} bytes", f"1 … {LARGEST} bytes")
        memory = self._memory
        if memory is None or len(memory) < size:
            flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
            memory = mmap.mmap(self._file, size, flags=flags, prot=mmap.PROT_READ)
            self._memory = memory if size <= MAX_BYTES else None
        return memory

    def arrays(self, places: Mapping[str, Mapping[str, Any]]) -> dict[str, Array]:
        memory = self.mapped()
        return {name: _array(name, place, memory) for name, place in places.items()}

    def await_numbers(self, mark: Any, identity: Any, longest: float = MAX_WRITE) -> None:
        """Until the client has written all that belongs to the request of that id, as it has while
        the request was on its way, and says so by the number at `mark`. Refused when it has left,
        or after `longest` seconds."""
        if type(mark) is not int or type(identity) is not int:
            raise _wrong(f"mark {mark!r} of request {identity!r}", "whole numbers")
        written = _array("mark", {"offset": mark, "shape": [1]}, self.mapped()).view(np.uint64)
        started = time.monotonic()
        while written[0] != identity:
            passed = time.monotonic() - started
            if passed > longest or (passed > SOON and self.pipe >= 0 and self.is_left):
                raise _wrong(
                    f"numbers of request {identity} are not there after {passed:.3g} s",
                    f"that id at {mark} when they are",
                )
            time.sleep(LOOK if passed < SOON else SOON)
        if not STAYS_IN_ORDER:
            barrier()

    def takes(self, reply: bytes) -> bool:
        """Put a reply into the pipe, and whether it is there: all of it or nothing, being short."""
        if self.pipe < 0 or len(reply) > select.PIPE_BUF:
            return False
        try:
            os.write(self.pipe, reply)
        except OSError:  # it is full, or nobody reads
            return False
        return True


class StatesMemories:
    """Those that batches may come from again; the oldest is let go of where there are many."""

    def __init__(self) -> None:
        self._kept: list[StatesMemory] = []
        self._lock = threading.Lock()  # batches are computed beside each other

    def of(self, states: Mapping[str, Any]) -> StatesMemory:
        """The file that the field `states` of a batch tells of."""
        name = states.get("name")
        for file in self._kept:
            if file.name == name:
                return file
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise _wrong(f"name {name!r} is none of a client's", "the name of a client's file")
        process, descriptor = _number(states, "process"), _number(states, "descriptor")
        pipes = {key: _number(states, key) for key in PIPES if states.get(key) is not None}
        opened = StatesMemory(name, process, descriptor, **pipes)
        with self._lock:
            self._kept = [file for file in self._kept if not file.is_left]
        if not opened.is_left:
            self.keep(opened)
        return opened

    def keep(self, memory: StatesMemory) -> None:
        """One that will be asked for, as the last that was."""
        with self._lock:
            others = [file for file in self._kept if file is not memory]
            self._kept = [*others, memory][-MAX_KEPT:]


MEMORIES = StatesMemories()


def _number(states: Mapping[str, Any], key: str) -> int:
    number = states.get(key)
    if type(number) is not int:
        raise _wrong(f"{key}: {number!r}", "a whole number")
    return number


def names_in(fields: Fields) -> tuple[str, ...]:
    """The fields that a batch has left in memory."""
    states = fields.get("states")
    if states is None:
        return ()
    arrays = states.get("arrays")
    if not isinstance(arrays, Mapping) or not all(
        name in STACKED and isinstance(place, Mapping) for name, place in arrays.items()
    ):
        raise _wrong("arrays: expected where each lies", f"a map of {', '.join(STACKED)}")
    return tuple(arrays)


def memory_of(message: Fields) -> StatesMemory | None:
    """Where the states of a batch are, when its numbers are there."""
    states = message.get("states")
    if not isinstance(states, Mapping):
        return None
    memory = MEMORIES.of(states)
    if (mark := states.get("mark")) is not None:
        memory.await_numbers(mark, message.get("id"))
    return memory


def with_states(fields: Fields) -> Fields:
    """The fields of a batch, with the arrays that it has left in memory, where they are."""
    if not names_in(fields):
        return fields
    states = fields["states"]
    return {**fields, **MEMORIES.of(states).arrays(states["arrays"])}


def _array(name: str, place: Mapping[str, Any], memory: mmap.mmap) -> Array:
    """The array at its place; numpy refuses what lies outside."""
    offset, shape = place.get("offset"), place.get("shape")
    try:
        if type(offset) is not int or offset < 0 or offset % 8 or not isinstance(shape, list):
            raise ValueError(f"offset {offset!r}, shape {shape!r}")
        array: Array = np.ndarray(shape, np.float64, memory, offset)
    except (TypeError, ValueError) as error:
        raise _wrong(f"{name}: {error}", "an offset and a shape within the file") from None
    return array


def _wrong(what: str, expected: str) -> InputError:
    return InputError(f"states: {what}, expected {expected}", "states", None, expected)
