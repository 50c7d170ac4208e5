"""Memory of clients in the worker: it reads the states of batches there and writes their results.

The daemon has checked that the file cannot shrink (worker/memories.py), so a client that writes
to it meanwhile changes numbers and nothing else. States are copied before they are checked, so the
worker computes with the numbers that it has checked.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from torqued.client.codec import MAX_DIMENSIONS
from torqued.client.memory.batch_memory import MAX_BYTES, lines_of
from torqued.common import errors
from torqued.common.errors import InputError
from torqued.common.stacked import STACKED
from torqued.kernels.input_checks import Fields
from torqued.kernels.model.description import Array

Shapes = Mapping[str, tuple[int, ...]]

#: Of the field `memory`.
MEMBERS = ("name", "states", "results")


class Memories:
    """The memory of each client, mapped once, by name."""

    def __init__(self) -> None:
        self._mapped: dict[str, mmap.mmap] = {}
        self._lock = threading.Lock()  # batches run in parallel

    def use(self, name: str, descriptor: int) -> None:
        """Map a whole file; closes the descriptor."""
        try:
            size = os.fstat(descriptor).st_size
            if not 0 < size <= MAX_BYTES:
                raise wrong(f"{size} bytes", f"1 … {MAX_BYTES} bytes")
            with self._lock:
                known = self._mapped.get(name)
                if known is None or len(known) < size:
                    self._mapped[name] = mmap.mmap(descriptor, size)
        except OSError as error:  # sealed against writing, or of pages that there are none of
            raise wrong(f"cannot be mapped ({error.strerror})", "a memfd to write to") from None
        finally:
            os.close(descriptor)

    def forget(self, names: Iterable[str]) -> None:
        """Drop the memory of clients that have left; batches under way keep it until they end."""
        for name in names:
            self._mapped.pop(name, None)

    def of(self, name: Any) -> mmap.mmap:
        memory = self._mapped.get(name)
        if memory is None:
            raise wrong(f"{name!r} is unknown", "the name that the memory socket replied")
        return memory


MEMORIES = Memories()


class BatchArrays:
    """What one batch has in its client's memory."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        self._memory = MEMORIES.of(described.get("name"))
        places = described["states"]
        size = sum(_size_of(name, place, self._memory) for name, place in places.items())
        if size > len(self._memory):  # each is copied
            raise wrong(f"states of {size} bytes", f"at most the memory's {len(self._memory)}")
        self.states: dict[str, Array] = {
            name: np.ndarray(place["shape"], np.float64, self._memory, place["offset"]).copy()
            for name, place in places.items()
        }
        self._results = described.get("results", [0, 0])
        self._is_used = False

    def allocate(self, shapes: Shapes) -> dict[str, Array]:
        """Arrays for results of these shapes; refused where there is no room."""
        try:
            offset, room = self._results
            if not _is_within(offset, room, self._memory):
                raise ValueError(f"offset {offset!r}, {room!r} bytes")
            start = lines_of(offset)
            needed = start - offset + size_for(shapes)
            if needed > room:
                raise errors.error(
                    "too_large",
                    f"memory: results of {needed} bytes, there is room for {room}",
                    field="memory",
                    value=needed,
                    expected=f"at most {room} bytes",
                )
            found: dict[str, Array] = {}
            for name, shape in shapes.items():
                found[name] = np.ndarray(shape, np.float64, self._memory, start)
                start += lines_of(8 * math.prod(shape))
        except (TypeError, ValueError) as error:
            wanted = "an offset and a number of bytes within the memory"
            raise wrong(f"results: {error}", wanted) from None
        self._is_used = True
        return found

    def reply(self, results: Mapping[str, Any]) -> Mapping[str, Any]:
        """Results as they are, or where they are in the memory."""
        if not self._is_used:
            return results
        start = np.frombuffer(self._memory, np.uint8).ctypes.data
        return {"memory": _described(results, start)}


def _described(results: Mapping[str, Any], start: int) -> dict[str, Any]:
    """Where each of the arrays lies."""
    return {
        key: _described(value, start)
        if isinstance(value, Mapping)
        else {
            "offset": value.__array_interface__["data"][0] - start,
            "shape": list(value.shape),
            "strides": list(value.strides),
        }
        for key, value in results.items()
    }


def size_for(shapes: Shapes) -> int:
    """Bytes for arrays of these shapes."""
    return sum(lines_of(8 * math.prod(shape)) for shape in shapes.values())


def names_in(fields: Fields) -> tuple[str, ...]:
    """The fields that a batch has in memory."""
    memory = fields.get("memory")
    if memory is None:
        return ()
    for key in memory:
        if key not in MEMBERS:
            raise wrong(f"{key!r} is unknown", f"{', '.join(MEMBERS)}")
    places = memory.get("states", {})
    if not isinstance(places, Mapping) or not all(
        name in STACKED and isinstance(place, Mapping) for name, place in places.items()
    ):
        raise wrong("states: not where each lies", f"a map of {', '.join(STACKED)}")
    for name in places:
        if fields.get(name) is not None:
            raise wrong(f"states: {name} is also a field of the request", "it once")
    return tuple(places)


def _size_of(name: str, place: Mapping[str, Any], memory: mmap.mmap) -> int:
    """Bytes of the array at a place, which is within the memory."""
    offset, shape = place.get("offset", -1), place.get("shape")
    if place.keys() <= {"offset", "shape"} and isinstance(shape, list):
        is_shape = len(shape) <= MAX_DIMENSIONS and all(type(n) is int and n >= 0 for n in shape)
        size = 8 * math.prod(shape) if is_shape else -1
        if _is_within(offset, size, memory) and offset % 8 == 0:
            return size
    raise wrong(f"{name}: {dict(place)!r}", "an offset and a shape within the memory")


def _is_within(offset: Any, size: Any, memory: mmap.mmap) -> bool:
    """Whether so many bytes from there on are in the memory. numpy's own check may overflow."""
    if type(offset) is not int or type(size) is not int:
        return False
    return offset >= 0 and size >= 0 and offset + size <= len(memory)


def wrong(what: str, expected: str) -> InputError:
    """The refusal of memory, or of what a batch says about it."""
    return InputError(f"memory: {what}, expected {expected}", "memory", None, expected)
