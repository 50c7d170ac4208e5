"""Between bytes and messages: msgpack maps with arrays as an extension type. No sockets here.

A request is a map {"protocol", "id", "op", fields…}, a reply {"protocol", "id", "ok": true,
fields…} or {"protocol", "id", "ok": false, "error": {…}}. docs/PROTOCOL.md is the authority.

An array is extension type 1: one byte for the type of its numbers, one for the number of
dimensions, two zeros, each dimension as a 32-bit number, zeros up to a multiple of 8 bytes, then
the numbers row by row. All little-endian.
"""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np

from torqued.client.errors import MessageError, from_map
from torqued.common.masked import check_unmasked

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROTOCOL_VERSION = 1
REPLY_HEADER = ("protocol", "id", "ok")
ARRAY = 1

#: Largest message that either side accepts, bytes.
MAX_MESSAGE = 16 * 1024 * 1024
MAX_NESTING = 64
#: Members that maps and lists of a request may have together; those of arrays do not count.
MAX_MEMBERS = 100_000
NESTING = (dict, list)
MAX_DIMENSIONS = 8

#: Byte on the wire → type of numbers.
TYPES: dict[int, np.dtype[Any]] = {
    ord("d"): np.dtype("<f8"),
    ord("f"): np.dtype("<f4"),
    ord("q"): np.dtype("<i8"),
}
BYTES = {kind: byte for byte, kind in TYPES.items()}


#: Remembered heads of arrays: more than the shapes of one robot.
MAX_HEADS = 256

Head = tuple[np.dtype[Any], tuple[int, ...], int]  # type of numbers, shape, bytes of numbers

#: Heads by dtype and shape, and back: each message of a control loop has the same.
_written: dict[tuple[str, tuple[int, ...]], bytes] = {}
_read: dict[bytes, Head] = {}
_fronts: dict[tuple[str, str, tuple[int, ...]], bytes] = {}
_thread = threading.local()

#: The first byte of a map, by its number of members.
MAX_SHORT_MAP = 15
SHORT_MAPS = [bytes([0x80 | count]) for count in range(MAX_SHORT_MAP + 1)]

#: Where an array's numbers begin, by its dimensions: after its head, at a multiple of 8.
NUMBERS_START = tuple((4 + 4 * dimensions + 7) // 8 * 8 for dimensions in range(256))


def encode_array(array: NDArray[Any]) -> msgpack.ExtType:
    """An array as an extension value."""
    kind = array.dtype.str
    head = _written.get((kind, array.shape)) or _write_head(array)
    if kind[0] == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return msgpack.ExtType(ARRAY, head + array.tobytes())


def _write_head(array: NDArray[Any]) -> bytes:
    kind = array.dtype.newbyteorder("<")
    if kind not in BYTES:
        raise TypeError(f"arrays of {array.dtype} cannot be sent, allowed: float64, float32, int64")
    head = struct.pack(f"<BBH{array.ndim}I", BYTES[kind], array.ndim, 0, *array.shape)
    head = head.ljust(NUMBERS_START[array.ndim], b"\0")
    remember(_written, (array.dtype.str, array.shape), head)
    return head


def remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Keep a value; clear all when there are too many."""
    if len(known) >= MAX_HEADS:
        known.clear()
    known[key] = value


def decode_array(code: int, data: bytes) -> NDArray[Any]:
    """The array of an extension value; a view of the message's bytes, so read only."""
    if code != ARRAY:
        raise MessageError("bad_message", f"extension type {code} is unknown, expected {ARRAY}")
    start = NUMBERS_START[data[1]] if len(data) > 1 else 0
    kind, shape, size = _read.get(data[:start]) or _read_head(data)
    if size != len(data) - start:
        raise MessageError(
            "bad_message", f"array of shape {shape} does not have {len(data) - start} bytes"
        )
    return np.ndarray(shape, kind, data, start)


def _read_head(data: bytes) -> Head:
    if len(data) < 4:
        raise MessageError("bad_message", f"array of {len(data)} bytes is shorter than its head")
    byte, dimensions, zero = struct.unpack_from("<BBH", data)
    if byte not in TYPES or zero != 0 or dimensions > MAX_DIMENSIONS:
        raise MessageError(
            "bad_message",
            f"array head {data[:4].hex()} is not one of a type (d, f, q), at most "
            f"{MAX_DIMENSIONS} dimensions and two zeros",
        )
    start = NUMBERS_START[dimensions]
    if len(data) < start:
        raise MessageError("bad_message", f"array of {dimensions} dimensions is cut off")
    shape = struct.unpack_from(f"<{dimensions}I", data, 4)
    head = (TYPES[byte], shape, TYPES[byte].itemsize * math.prod(shape))
    if head[2] == len(data) - start:  # others are refused
        remember(_read, data[:start], head)
    return head


def _encode_other(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        check_unmasked("array", value)
        return encode_array(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def encode(message: Mapping[str, Any]) -> bytes:
    """A message as bytes."""
    try:
        pack = _thread.pack
    except AttributeError:  # one per thread: packers share a buffer
        pack = _thread.pack = msgpack.Packer(default=_encode_other).pack
    data: bytes = _join(message, pack) if len(message) <= MAX_SHORT_MAP else pack(message)
    return data


def _join(message: Mapping[str, Any], pack: Callable[[Any], bytes]) -> bytes:
    """The same bytes, joined from arrays in memory, each after its remembered front, and the
    members between them: a quarter faster than packing."""
    parts: list[Any] = [SHORT_MAPS[len(message)]]
    between: dict[str, Any] = {}
    for key, value in message.items():
        if type(value) is np.ndarray and value.flags.c_contiguous:
            if between:
                parts.append(pack(between)[1:])  # without the byte for their number
                between = {}
            front = _fronts.get((key, value.dtype.str, value.shape))
            parts += (front, value) if front else _write_front(key, value)
        else:
            between[key] = value
    if between:
        parts.append(pack(between)[1:])
    return b"".join(parts)


def _write_front(key: str, array: NDArray[Any]) -> tuple[bytes, Any]:
    """The bytes before an array's numbers (key, extension head, array head), and the numbers."""
    member: bytes = msgpack.packb({key: encode_array(array)})
    end = len(member) - array.nbytes
    if array.dtype.str[0] == "<":  # its memory is what is sent
        remember(_fronts, (key, array.dtype.str, array.shape), member[1:end])
    return member[1:end], member[end:]


def decode(data: bytes, max_members: int = MAX_MESSAGE) -> dict[str, Any]:
    """The message in some bytes; raises `MessageError` for any fault.

    `max_members` limits its maps and lists together.
    """
    if len(data) > MAX_MESSAGE:
        raise too_large(len(data))
    members = _Members(max_members)
    # A message has no more members than bytes.
    count_list = members.of_list if len(data) > max_members else None
    try:
        message = msgpack.unpackb(
            data,
            ext_hook=decode_array,
            object_pairs_hook=members.of_map,
            list_hook=count_list,
            strict_map_key=False,
            max_array_len=max_members,
            max_map_len=max_members,
        )
    except MessageError:
        raise
    except Exception as problem:  # msgpack raises many kinds, and what a hook raises
        reason = str(problem) or "a byte that begins no value"  # FormatError says nothing
        raise MessageError("bad_message", f"not a msgpack message: {reason}") from problem
    if type(message) is not dict:
        raise MessageError("bad_message", f"{type(message).__name__}, expected a map")
    inside = [value for value in message.values() if type(value) in NESTING]
    if inside and not _nests_within(inside, MAX_NESTING - 1):
        raise MessageError(
            "bad_message", f"maps and lists nest deeper than the {MAX_NESTING} allowed"
        )
    return message


def decode_reply(data: bytes) -> dict[str, Any]:
    """The reply of a daemon, which is trusted: without limits, a third faster."""
    try:
        reply = msgpack.unpackb(data, ext_hook=decode_array)
    except MessageError:
        raise
    except Exception as problem:  # msgpack raises many kinds
        raise MessageError("bad_message", f"not a msgpack message: {problem}") from problem
    if type(reply) is not dict:
        raise MessageError("bad_message", f"{type(reply).__name__}, expected a map")
    return reply


def too_large(size: int) -> MessageError:
    """The error of a message of so many bytes."""
    return MessageError("too_large", f"message of {size} bytes, at most {MAX_MESSAGE} are allowed")


class _Members:
    """Counts the members of a message's maps and lists."""

    __slots__ = ("left", "limit")

    def __init__(self, limit: int) -> None:
        self.left = self.limit = limit

    def _count(self, count: int) -> None:
        self.left -= count + 1
        if self.left < 0:
            raise MessageError(
                "bad_message",
                f"maps and lists have more than {self.limit} members together; "
                "send many numbers as arrays",
            )

    def of_list(self, members: list[Any]) -> list[Any]:
        """A list, counted."""
        self._count(len(members))
        return members

    def of_map(self, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
        """A map, counted; its keys must be texts, each once."""
        self._count(len(pairs))
        for key, _ in pairs:
            if type(key) is not str:
                raise MessageError("bad_message", f"key {key!r}, expected texts as keys")
        message = dict(pairs)
        if len(message) != len(pairs):
            raise MessageError("bad_message", "a map has a key twice")
        return message


def _nests_within(inside: list[Any], depth: int) -> bool:
    """Whether maps and lists nest no deeper: deeper ones could be read but not written."""
    while inside and depth > 0:
        depth -= 1
        inside = [
            value
            for item in inside
            for value in (item.values() if type(item) is dict else item)
            if type(value) in NESTING
        ]
    return not inside


def request(identity: int, operation: str, fields: Mapping[str, Any]) -> bytes:
    """A request as bytes; one that the daemon would not read is refused here."""
    data = encode({"protocol": PROTOCOL_VERSION, "id": identity, "op": operation, **fields})
    if len(data) > MAX_MESSAGE:
        raise too_large(len(data))
    return data


def result_of(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply without its header, which is removed; raises the error that it carries."""
    if not reply.get("ok"):
        raise from_map(reply.get("error") or {})
    for key in REPLY_HEADER:
        reply.pop(key, None)
    return reply
