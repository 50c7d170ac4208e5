"""MCAP written a thousand messages at a time. https://mcap.dev/spec

The package's own writer takes messages one by one, which is most of what a recorder would do. Here
messages of a channel are one array of records: encoded, indexed, compressed and written as a whole.
What there is few of (schemas, channels, the summary at the end) is the package's.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, Protocol

import lz4.frame
import numpy as np
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from numpy.typing import NDArray

MAGIC = b"\x89MCAP0\r\n"
#: A message up to its data: opcode, bytes that follow, channel, sequence, both times (ns).
MESSAGE_HEAD = [
    ("opcode", "u1"),
    ("length", "<u8"),
    ("channel", "<u2"),
    ("sequence", "<u4"),
    ("log_time", "<u8"),
    ("publish_time", "<u8"),
]
_OPCODE_AND_LENGTH = 9  # bytes, which `length` does not count
_INDEX = np.dtype([("time", "<u8"), ("offset", "<u8")])


class Stream(Protocol):
    """The output of a file."""

    def write(self, data: bytes, /) -> int: ...

    def tell(self) -> int: ...

    def flush(self) -> None: ...


def message_type(data: np.dtype[Any]) -> np.dtype[Any]:
    """Of messages with data of that type, as they lie in a chunk."""
    return np.dtype([*MESSAGE_HEAD, ("data", data)])


class McapFile:
    """One file, from its first byte to its last. Messages are whole in it after each `flush`."""

    def __init__(self, stream: Stream, chunk_bytes: int, library: str) -> None:
        self._stream, self._chunk_bytes = stream, chunk_bytes
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        #: Records of the chunk in progress, and their bytes. Always the same memory: to have new
        #: pages from the system costs more than to fill them.
        self._chunk, self._filled = np.empty(2 * chunk_bytes, np.uint8), 0
        self._indices: dict[int, list[np.ndarray]] = {}  # of its messages, by channel
        self._chunks: list[McapRecord] = []
        self._attachments: list[McapRecord] = []
        self._metadata: list[McapRecord] = []
        self._counts: dict[int, int] = {}
        self._first, self._last = 2**64 - 1, 0  # ns, times of all messages
        self._stream.write(MAGIC)
        self._write(Header(profile="", library=library))

    def add_metadata(self, name: str, content: dict[str, str]) -> None:
        offset, length = self._write(Metadata(name=name, metadata=content))
        self._metadata.append(MetadataIndex(offset=offset, length=length, name=name))

    def add_attachment(self, time: int, name: str, kind: str, data: bytes) -> None:
        about: Any = {"create_time": time, "log_time": time, "name": name, "media_type": kind}
        offset, length = self._write(Attachment(data=data, **about))
        self._attachments.append(
            AttachmentIndex(offset=offset, length=length, data_size=len(data), **about)
        )

    def add_channel(
        self, topic: str, schema: tuple[str, bytes], encoding: str, metadata: dict[str, str]
    ) -> int:
        """A topic with its schema, given by name and content; returns its number."""
        number = len(self._channels) + 1
        name, content = schema
        self._schemas.append(Schema(number, content, encoding, name))
        self._channels.append(Channel(number, topic, encoding, metadata, number))
        for record in (self._schemas[-1], self._channels[-1]):
            self._append(np.frombuffer(_bytes_of(record), np.uint8))
        return number

    def add_messages(self, channel: int, messages: np.ndarray) -> None:
        """An array of `message_type` with data, times and numbers filled in."""
        size = messages.dtype.itemsize
        most = max(1, self._chunk_bytes // size)
        for start in range(0, len(messages), most):
            self._add_messages(channel, messages[start : start + most], size)

    def _add_messages(self, channel: int, messages: np.ndarray, size: int) -> None:
        messages["opcode"], messages["length"] = Opcode.MESSAGE, size - _OPCODE_AND_LENGTH
        messages["channel"] = channel
        index = np.empty(len(messages), _INDEX)
        index["time"] = messages["log_time"]
        index["offset"] = self._filled + size * np.arange(len(messages), dtype=np.uint64)
        self._indices.setdefault(channel, []).append(index)
        self._append(messages.view(np.uint8))
        if self._filled >= self._chunk_bytes:
            self._end_chunk()

    def _append(self, records: NDArray[np.uint8]) -> None:
        end = self._filled + len(records)
        if end > len(self._chunk):
            self._chunk = np.concatenate([self._chunk, np.empty(end, np.uint8)])
        self._chunk[self._filled : end] = records
        self._filled = end

    def flush(self) -> None:
        """Have all that was added in the file."""
        self._end_chunk()
        self._stream.flush()

    def _end_chunk(self) -> None:
        if not self._indices:
            return
        records = self._chunk[: self._filled].data
        indices = {channel: np.concatenate(parts) for channel, parts in self._indices.items()}
        first = min(int(index["time"].min()) for index in indices.values())
        last = max(int(index["time"].max()) for index in indices.values())
        data, offset = lz4.frame.compress(records), self._stream.tell()
        head = struct.pack("<QQQI", first, last, len(records), zlib.crc32(records))
        head += struct.pack("<I3sQ", 3, b"lz4", len(data))
        self._stream.write(struct.pack("<BQ", Opcode.CHUNK, len(head) + len(data)) + head)
        self._stream.write(data)
        length = self._stream.tell() - offset
        places, start = {}, self._stream.tell()
        for channel, index in indices.items():
            places[channel] = self._stream.tell()
            body = index.tobytes()
            head = struct.pack("<BQHI", Opcode.MESSAGE_INDEX, 6 + len(body), channel, len(body))
            self._stream.write(head + body)
            self._counts[channel] = self._counts.get(channel, 0) + len(index)
        self._chunks.append(
            ChunkIndex(
                chunk_length=length,
                chunk_start_offset=offset,
                compression="lz4",
                compressed_size=len(data),
                message_end_time=last,
                message_index_length=self._stream.tell() - start,
                message_index_offsets=places,
                message_start_time=first,
                uncompressed_size=len(records),
            )
        )
        self._first, self._last = min(self._first, first), max(self._last, last)
        self._filled, self._indices = 0, {}

    def finish(self) -> None:
        """Write what is left, and the summary by which readers find their way."""
        self._end_chunk()
        self._write(DataEnd(0))
        groups: dict[Opcode, list[Any]] = {
            Opcode.SCHEMA: self._schemas,
            Opcode.CHANNEL: self._channels,
            Opcode.STATISTICS: [self._statistics()],
            Opcode.CHUNK_INDEX: self._chunks,
            Opcode.ATTACHMENT_INDEX: self._attachments,
            Opcode.METADATA_INDEX: self._metadata,
        }
        start = self._stream.tell()
        summary, offsets = b"", b""
        for opcode, records in groups.items():
            group = b"".join(map(_bytes_of, records))
            place = start + len(summary)
            if group:
                offsets += _bytes_of(
                    SummaryOffset(group_opcode=opcode, group_start=place, group_length=len(group))
                )
            summary += group
        footer = Footer(
            summary_start=start, summary_offset_start=start + len(summary), summary_crc=0
        )
        # Everything of the summary counts, and of the footer all but the sum itself.
        footer.summary_crc = zlib.crc32(summary + offsets + _bytes_of(footer)[:-4])
        self._stream.write(summary + offsets + _bytes_of(footer) + MAGIC)
        self._stream.flush()

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=self._last,
            message_start_time=min(self._first, self._last),
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )

    def _write(self, record: McapRecord) -> tuple[int, int]:
        """Where in the file a record lies now, and its bytes."""
        data, offset = _bytes_of(record), self._stream.tell()
        self._stream.write(data)
        return offset, len(data)


def _bytes_of(record: McapRecord) -> bytes:
    builder: Any = RecordBuilder()
    record.write(builder)
    found: bytes = builder.end()
    return found
