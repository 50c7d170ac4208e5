"""States that a client on this machine has left in shared memory: client/shared_states.py.

They are copied from the file before anything looks at them: whatever the client does to its file
meanwhile, a batch computes with numbers that stay, and memory that stays.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.operations import STACKED
from torqued.client.shared_memory import FOLDER
from torqued.client.shared_states import NAME
from torqued.common.errors import InputError
from torqued.kernels.input_checks import Fields
from torqued.kernels.model.description import Array
from torqued.server.requests.shared_results import LARGEST

#: Copies whose memory is kept for the next ones, and bytes of each: new memory takes longer to get
#: than the numbers.
MOST_KEPT, MOST_BYTES = 4, 64 * 1024 * 1024

Bytes = NDArray[np.uint8]

_spare: list[Bytes] = []


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


@contextmanager
def with_states(fields: Fields) -> Iterator[Fields]:
    """The fields of a batch, with the arrays that it has left in memory."""
    names = names_in(fields)
    if not names:
        yield fields
        return
    memory = _copied(fields["states"].get("file"))
    try:
        arrays = {name: _array(name, fields["states"]["arrays"][name], memory) for name in names}
        yield {**fields, **arrays}
    finally:
        if len(_spare) < MOST_KEPT and len(memory) <= MOST_BYTES:
            _spare.append(memory)


def _copied(name: Any) -> Bytes:
    """What is in the file of that name, at the beginning of an array of bytes."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _wrong(f"file {name!r} is none of a client's", "the name of a client's file")
    try:
        file = os.open(f"{FOLDER}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _wrong(f"file {name}: {error.strerror}", "a file that can be opened") from None
    try:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
            raise _wrong(f"file {name} is not the daemon's user's", "a file of the same user")
        if info.st_size > LARGEST:
            raise _wrong(f"file {name}: {info.st_size} bytes", f"at most {LARGEST} bytes")
        try:
            memory = _spare.pop()
        except IndexError:
            memory = np.empty(0, np.uint8)
        if len(memory) < info.st_size:
            memory = np.empty(info.st_size, np.uint8)
        if os.preadv(file, [memory[: info.st_size].data], 0) != info.st_size:
            raise _wrong(f"file {name} became shorter", "a file that stays as it is")
        return memory
    finally:
        os.close(file)


def _array(name: str, place: Mapping[str, Any], memory: Bytes) -> Array:
    """The array at its place; numpy refuses what lies outside."""
    offset, shape = place.get("offset"), place.get("shape")
    try:
        if type(offset) is not int or offset < 0 or offset % 8 or not isinstance(shape, list):
            raise ValueError(f"offset {offset!r}, shape {shape!r}")
        array: Array = np.ndarray(shape, np.float64, memory, offset)
    except (TypeError, ValueError) as error:
        raise _wrong(f"{name}: {error}", "an offset and a shape within the file") from None
    array.flags.writeable = False
    return array


def _wrong(what: str, expected: str) -> InputError:
    return InputError(f"states: {what}, expected {expected}", "states", None, expected)
