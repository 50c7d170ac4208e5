"""Messages that come again and again with other numbers: written and read without msgpack.

A controller asks for the same quantities at each of its steps. Of such a request only the id and
the numbers of its arrays are new, and so it is with its reply: what goes between them is kept, and
compared. Of replies whose arrays are in shared memory only the id is new. Anything else goes
through codec.py, which is also who says what the bytes are.
"""

from __future__ import annotations

import marshal
import struct
from typing import Any

import numpy as np

from torqued.client import codec
from torqued.client.base_client import of_my_version

#: Ids from codec.FIRST_ID to here take as many bytes each.
END_OF_IDS = 1 << 32
#: Where an id's number is, after the byte that says how long it is; and where it ends.
ID, _REST = 15, 19
_id = struct.Struct(">I")

#: Kinds of messages that are kept. More than a controller has; then it begins anew.
MAX_KNOWN = 64
#: Larger messages take so long by themselves that nothing is gained.
LARGEST = 64 * 1024

_FLOAT = np.dtype(np.float64)


class Repeated:
    """What one client has asked before, and what came back."""

    def __init__(self) -> None:
        self._requests: dict[tuple[Any, ...], KnownRequest] = {}
        self._replies: dict[tuple[str, int], KnownReply | PlainReply | None] = {}
        self._asked: KnownRequest | None = None
        #: Of the newest exchange, where both were known: then the next may do without Python.
        self.used: tuple[KnownRequest, KnownReply] | None = None

    def request(self, identity: int, operation: str, fields: dict[str, Any]) -> bytes | memoryview:
        """A request as bytes, which are good until the next one."""
        self._asked = self.used = None
        key = _kind(operation, fields)
        try:
            known = self._requests.get(key)
        except TypeError:  # maps among the fields
            return codec.request(identity, operation, fields)
        if known is not None and identity >= codec.FIRST_ID and known.fill(identity, fields):
            self._asked = known
            return known.body
        data = codec.request(identity, operation, fields)
        if known is None and _is_simple(fields) and _has_short_id(identity, len(fields)):
            if len(self._requests) >= MAX_KNOWN:
                self._requests.clear()
            self._requests[key] = KnownRequest(data, fields)
        return data

    def result(
        self, operation: str, identity: int, data: bytes, endpoint: str
    ) -> dict[str, Any] | None:
        """The fields of a reply, or its error; None where it is to another request.

        `endpoint` is the daemon's, to be named in errors.
        """
        key = operation, len(data)
        known = self._replies.get(key)
        if known is not None:
            fields = known.read(identity, data)
            if fields is not None:
                if self._asked is not None and isinstance(known, KnownReply):
                    self.used = self._asked, known
                return fields
        reply = codec.decode_reply(data)
        if reply.get("id") not in (identity, None):  # of a request that was given up
            return None
        fields = codec.result_of(of_my_version(reply, endpoint))
        if known is not None:  # it has changed by more than its numbers, and may do so again
            self._replies[key] = None
        elif key not in self._replies and len(data) <= LARGEST:
            if len(self._replies) >= MAX_KNOWN:
                self._replies.clear()
            self._replies[key] = KnownReply.of(data, reply) or PlainReply.of(data, reply)
        return fields

    def rehearse(self, operation: str, data: bytes | None) -> None:
        """Read an old reply while the daemon computes the next: what reads it is in the caches then
        (as `_rehearse` of sessions)."""
        known = self._replies.get((operation, len(data))) if data else None
        if data and known is not None:
            known.read(_id.unpack_from(data, ID)[0], data)


class KnownRequest:
    """A request to be filled in."""

    __slots__ = ("_frame", "_places", "body", "starts")

    def __init__(self, data: bytes, fields: dict[str, Any]) -> None:
        self._frame = bytearray(data)
        self.body = memoryview(self._frame)
        numbers = _numbers(fields, len(data))
        self.starts = {name: start for name, start, _ in numbers}
        self._places = [(name, self.body[start:end].cast("d")) for name, start, end in numbers]

    def fill(self, identity: int, fields: dict[str, Any]) -> bool:
        """Put in the numbers; False where they are not of these shapes."""
        try:
            for name, place in self._places:
                place[:] = fields[name]
            _id.pack_into(self._frame, ID, identity)
        except (TypeError, ValueError, struct.error):
            return False
        return True


class KnownReply:
    """A reply to be read: what is the same each time, and the arrays between."""

    __slots__ = ("arrays", "size", "texts")

    def __init__(
        self,
        size: int,
        texts: list[tuple[int, int, bytes]],
        arrays: list[tuple[str, int, int, tuple[int, ...]]],
    ) -> None:
        self.size = size
        self.texts = texts  # first byte, end, what is there
        self.arrays = arrays  # name, first byte, end, shape

    @classmethod
    def of(cls, data: bytes, reply: dict[str, Any]) -> KnownReply | None:
        """What there is to be known; None where it is no such reply."""
        fields = codec.result_of(reply)
        is_known = (
            tuple(reply)[: len(codec.REPLY_HEADER)] == codec.REPLY_HEADER
            and _has_short_id(reply["id"], len(fields))
            and all(_is_array(value) for value in fields.values())
            and codec.encode(reply) == data
        )
        if not is_known:
            return None
        texts, arrays, at = [(0, ID, data[:ID])], [], _REST
        for name, start, end in _numbers(fields, len(data)):
            texts.append((at, start, data[at:start]))
            arrays.append((name, start, end, fields[name].shape))
            at = end
        return cls(len(data), texts, arrays)

    def read(self, identity: int, data: bytes) -> dict[str, Any] | None:
        """The fields; None where the reply is another."""
        if _id.unpack_from(data, ID)[0] != identity:
            return None
        for start, end, text in self.texts:
            if data[start:end] != text:
                return None
        fields: dict[str, Any] = {}
        for name, start, end, shape in self.arrays:
            # A copy, as in a message numbers begin anywhere, and an array's should be aligned.
            fields[name] = np.ndarray(shape, _FLOAT, data[start:end])
        return fields


class PlainReply:
    """A reply without arrays of which nothing but the id is new."""

    __slots__ = ("_data", "_fields")

    def __init__(self, data: bytes, fields: bytes) -> None:
        self._data, self._fields = data, fields

    @classmethod
    def of(cls, data: bytes, reply: dict[str, Any]) -> PlainReply | None:
        """What there is to be known; None where it is no such reply."""
        fields = codec.result_of(reply)
        is_known = (
            tuple(reply)[: len(codec.REPLY_HEADER)] == codec.REPLY_HEADER
            and _has_short_id(reply["id"], len(fields))
            and _is_plain(fields)
        )
        return cls(data, marshal.dumps(fields)) if is_known else None

    def read(self, identity: int, data: bytes) -> dict[str, Any] | None:
        """The fields, new ones each time; None where the reply is another."""
        known = self._data
        if _id.unpack_from(data, ID)[0] != identity:
            return None
        if data[:ID] != known[:ID] or data[_REST:] != known[_REST:]:
            return None
        return marshal.loads(self._fields)  # type: ignore[no-any-return]


def _kind(operation: str, fields: dict[str, Any]) -> tuple[Any, ...]:
    """All of a request but its numbers."""
    kind: list[Any] = [operation]
    for name, value in fields.items():
        of = type(value)
        kind += (name, None if of is np.ndarray else tuple(value) if of is list else value)
    return tuple(kind)


def _is_plain(value: Any) -> bool:
    """Whether it is made of nothing but Python's own numbers, texts, lists and maps."""
    of = type(value)
    if of is dict:
        return all(type(key) is str for key in value) and all(map(_is_plain, value.values()))
    if of is list:
        return all(map(_is_plain, value))
    return of in (str, int, float, bool, type(None))


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype == _FLOAT and value.size > 0


def _is_simple(fields: dict[str, Any]) -> bool:
    """Vectors, texts, and lists of texts: nothing that equals what has other bytes."""
    return all(
        (_is_array(value) and value.ndim == 1 and value.flags.c_contiguous)
        or type(value) is str
        or (type(value) in (list, tuple) and all(type(item) is str for item in value))
        for value in fields.values()
    )


def _has_short_id(identity: Any, fields: int) -> bool:
    """Whether a message with that id and so many fields has its id where it is looked for."""
    short = codec.MAX_SHORT_MAP - len(codec.REPLY_HEADER)
    return type(identity) is int and codec.FIRST_ID <= identity < END_OF_IDS and fields <= short


def _numbers(fields: dict[str, Any], size: int) -> list[tuple[str, int, int]]:
    """Name, first byte and end of each array's numbers, in a message of so many bytes that ends
    with these fields."""
    found, end = [], size
    for name, value in reversed(fields.items()):
        if type(value) is np.ndarray:
            found.append((name, end - value.nbytes, end))
        end -= len(codec.encode({name: value})) - 1  # without the byte that makes it a map
    return found[::-1]
