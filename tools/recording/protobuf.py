"""Messages of protobuf whose every field has a fixed size: arrays of them are numpy's.

Recordings are protobuf because Foxglove and PlotJuggler read it without a plugin, and because
numbers keep every bit. `double` and `sfixed64` are eight little-endian bytes, and a `repeated
double` is its length and then those: with constant lengths, a thousand messages are one array of
records in which only tags and lengths stand between the numbers.
https://protobuf.dev/programming-guides/encoding
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Wire types.
_VARINT, _FIXED64, _LENGTH = 0, 1, 2
#: Of FieldDescriptorProto: types and labels.
_TYPES = {"double": 1, "sfixed64": 16}
_OPTIONAL, _REPEATED = 1, 3


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def _text(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _tag(number, _LENGTH) + varint(len(data)) + data


def _whole(number: int, value: int) -> bytes:
    return _tag(number, _VARINT) + varint(value)


@dataclass(frozen=True)
class Field:
    """One field of a message; its number is its place."""

    name: str
    kind: str = "double"  # or sfixed64
    shape: tuple[int, ...] | None = None  # None: one number. Arrays are sent row by row
    comment: str = ""  # its unit, for people

    @property
    def identifier(self) -> str:
        """The name as protobuf allows it."""
        return re.sub(r"\W", "_", self.name)

    @property
    def dtype(self) -> Any:
        return "<f8" if self.kind == "double" else "<i8"


class MessageType:
    """A message: its schema, and arrays of it to bytes and back."""

    def __init__(self, name: str, fields: Sequence[Field]) -> None:
        self.name, self.fields = name, [field for field in fields if field.shape != (0,)]
        parts: list[Any] = []
        constant: list[tuple[str, bytes]] = []
        for k, field in enumerate(self.fields, 1):
            if field.shape is None:
                head = _tag(k, _FIXED64)
            else:
                size = 8 * int(np.prod(field.shape, dtype=np.int64))
                head = _tag(k, _LENGTH) + varint(size)
            constant.append((f"head {k}", head))
            parts.append((f"head {k}", "u1", (len(head),)))
            parts.append((field.name, field.dtype, field.shape or ()))
        self.dtype: np.dtype[Any] = np.dtype(parts)
        self._empty = np.zeros((), self.dtype)
        for place, head in constant:
            self._empty[place] = np.frombuffer(head, np.uint8)
        #: The bytes that each field takes.
        self._places = {
            name: slice(offset, offset + kind.itemsize)
            for name, (kind, offset, *_) in (self.dtype.fields or {}).items()
        }

    @property
    def size(self) -> int:
        """Bytes of one message."""
        return int(self.dtype.itemsize)

    def encode(self, columns: Mapping[str, Any], count: int) -> bytes:
        """That many messages, one behind the other; a column for each field."""
        out = np.empty((count, self.size), np.uint8)
        self.fill(out, columns)
        return out.tobytes()

    def fill(self, out: NDArray[np.uint8], columns: Mapping[str, Any]) -> None:
        """Messages as rows of bytes: numpy copies those much faster than fields of records."""
        out[:] = np.frombuffer(self._empty.tobytes(), np.uint8)
        for field in self.fields:
            shape, place = (len(out), *(field.shape or ())), self._places[field.name]
            values = np.broadcast_to(np.asarray(columns[field.name], field.dtype), shape)
            rows = np.ascontiguousarray(values).ravel().view(np.uint8)
            out[:, place] = rows.reshape(len(out), place.stop - place.start)

    def decode(self, data: bytes) -> np.ndarray:
        """Messages that lie one behind the other, by the names of fields."""
        found = np.frombuffer(data, self.dtype)
        for k in range(1, len(self.fields) + 1):
            head = f"head {k}"
            if not (found[head] == self._empty[head]).all():
                raise ValueError(f"{self.name}: a message is not laid out as its schema says")
        return found

    def schema(self) -> bytes:
        """A FileDescriptorSet with this message alone; units are comments."""
        fields, locations = b"", b""
        for k, field in enumerate(self.fields, 1):
            label = _OPTIONAL if field.shape is None else _REPEATED
            fields += _text(
                2,
                _text(1, field.identifier)
                + _whole(3, k)
                + _whole(4, label)
                + _whole(5, _TYPES[field.kind])
                + _text(10, field.identifier),
            )
            if field.comment:
                path = b"".join(varint(x) for x in (4, 0, 2, k - 1))
                span = b"".join(varint(x) for x in (k, 0, 1))
                locations += _text(1, _text(1, path) + _text(2, span) + _text(3, field.comment))
        package, _, name = self.name.rpartition(".")
        file = (
            _text(1, f"{self.name}.proto")
            + _text(2, package)
            + _text(4, _text(1, name) + fields)
            + _text(9, locations)
            + _text(12, "proto3")
        )
        return _text(1, file)
