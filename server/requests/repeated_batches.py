"""Batches that come again with the same bytes but for their id, as in a loop: their states have
changed where they are in the client's memory.

What was found out about the first of them holds for the others. Python that has slept takes two to
three times as long as in a loop; between the batches of a client all of the daemon sleeps.
"""

from __future__ import annotations

import itertools
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from torqued.client import codec
from torqued.client.repeated import ID
from torqued.server.requests.at_once import SHARED, InMemory
from torqued.server.requests.replies import success
from torqued.server.requests.shared_states import StatesMemory

Known = TypeVar("Known")

#: Bytes of a request that may be known.
LARGEST = 4096
#: Bytes of states, and of results, that are kept with what is known of a batch.
LARGEST_KEPT = 32 * 1024 * 1024

_id = struct.Struct(">I")
#: What is before the id in messages of our clients and replies to them: a short map that begins
#: with the version and an id of 4 bytes. Only there is it the id that lies at ID.
_SHORT_MAPS = range(0x80, 0x90)
_BEFORE_ID = codec.request(codec.FIRST_ID, "batch", {})[1:ID]


class RepeatedBatches(Generic[Known]):
    """What is known of the last few, by all of their bytes but the id's."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[object, Known] = OrderedDict()

    def get(self, request: bytes) -> Known | None:
        return self._known.get(_without_id(request)) if len(request) <= LARGEST else None

    def __iter__(self) -> Iterator[Known]:
        return iter(self._known.values())

    def put(self, request: bytes, known: Known) -> None:
        if can_be_known(request):
            self._put(_without_id(request), known)

    def put_without_bytes(self, known: Known) -> None:
        """One that no request's bytes lead to, and who goes through all finds."""
        self._put(object(), known)

    def _put(self, key: object, known: Known) -> None:
        self._known[key] = known
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def forget(self, request: bytes) -> None:
        self._known.pop(_without_id(request), None)

    def keep(self, wanted: Callable[[Known], bool]) -> None:
        """Forget all others."""
        for request in [key for key, known in self._known.items() if not wanted(known)]:
            del self._known[request]

    def clear(self) -> None:
        self._known.clear()


def has_long_id(message: bytes) -> bool:
    """Whether its id is where it is looked for."""
    return message[1:ID] == _BEFORE_ID and message[0] in _SHORT_MAPS


def can_be_known(request: bytes) -> bool:
    """Whether it could be told from others when it comes again."""
    return len(request) <= LARGEST and has_long_id(request)


def id_of(message: bytes) -> int:
    """Of one that has a long id."""
    return int(_id.unpack_from(message, ID)[0])


def _without_id(message: bytes) -> bytes:
    return message[:ID] + message[ID + _id.size :]


class KnownBatch:
    """One whose states and results are both in shared memory."""

    def __init__(self, states: StatesMemory, mark: int | None, result: InMemory) -> None:
        self.number = next(_numbers)  # by which the client may ask for it directly
        self.states, self._mark = states, mark
        self._result = result
        self._reply = bytearray()

    def keep(self, reply: Mapping[str, Any]) -> None:
        """What there is to be told, of which nothing but the id will be new."""
        self._reply[:] = success(codec.FIRST_ID, reply)

    def reply(self, identity: int) -> bytes | None:
        """Compute it once more; None where that is to be done from the beginning, be it that the
        results' memory is no longer there, or to say what is wrong."""
        result = self._result
        if SHARED.for_results(result.file.size, result.file.name) is not result.file:
            return None
        try:
            if self._mark is not None:
                self.states.await_numbers(self._mark, identity)
            with np.errstate(all="ignore"):
                result.again()
            _id.pack_into(self._reply, ID, identity)
        except Exception:  # whatever it is, it comes again, and is told then
            return None
        return bytes(self._reply)


_numbers = itertools.count(1)


def known_batch(
    states: StatesMemory | None, message: Mapping[str, Any], result: Any
) -> KnownBatch | None:
    """What can be known of a batch that has been computed; None where its client would not tell
    that it has gone, or where too much memory would be kept for it."""
    if states is None or states.is_left or not isinstance(result, InMemory):
        return None
    if max(states.size, result.file.size) > LARGEST_KEPT:
        return None
    return KnownBatch(states, message["states"].get("mark"), result)


def may_come_again(message: Mapping[str, Any], result: Any) -> bool:
    """Whether the same request would have its results where those of this one are. One that asks
    for memory that nobody has would not: its client has other results still."""
    return isinstance(result, InMemory) and message.get("memory") == result.file.name
