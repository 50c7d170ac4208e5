"""The last seconds of a flight recorder, copied into one file before they are overwritten."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcap.records import Attachment, Channel, Message, Metadata, Schema
from mcap.writer import CompressionType, Writer

from torqued.common.errors import TorquedError
from torqued.tools.recording.recording import RecordingError, records_of
from torqued.tools.recording.recording_file import CHUNK_BYTES, CHUNK_SECONDS

NANO = 10**9
#: Pattern after a daemon's name in the names of its recordings.
STEM = re.compile(r"-\d{8}-\d{6}-\d{3}(-\d+)?\.mcap$")


def save(newest: Path, seconds: float, path: Path) -> tuple[int, float]:
    """Copy what was recorded in the last seconds, of the newest file and of those before it.

    Waits until what the recorder has by now is in its file. Messages, and s that they cover.
    """
    now = time.time_ns()
    time.sleep(2 * CHUNK_SECONDS)
    since = now - round(seconds * NANO)
    recent = _written_since(since, newest)
    if not recent:
        raise TorquedError(f"{newest.parent} has no records of the last {seconds:g} s")
    with path.open("xb") as out:
        writer: Any = Writer(out, CHUNK_BYTES, CompressionType.LZ4)
        writer.start(library="torqued")
        copier = _Copier(writer, since)
        for file in recent:
            try:
                copier.copy(records_of(file))
            except RecordingError:  # deleted in the meantime: then it is older than what is kept
                if file.exists():
                    raise
        writer.finish()
    return copier.messages, max(0, copier.last - copier.first) / NANO


def _written_since(since: int, newest: Path) -> list[Path]:
    """Files of a flight recorder, the newest of which is given, from the first written to the last.

    The recorder deletes old ones meanwhile.
    """
    name, written = STEM.sub("", newest.name), {}
    for file in newest.parent.glob("*.mcap"):
        with contextlib.suppress(FileNotFoundError):
            at = file.stat().st_mtime_ns
            if at >= since and STEM.sub("", file.name) == name:
                written[file] = at
    return sorted(written, key=lambda file: written[file])


class _Copier:
    """Merges records of several files; the robot's description comes from the first."""

    def __init__(self, writer: Writer, since: int) -> None:
        self._writer, self._since = writer, since
        self._topics: dict[str, int] = {}
        self._described: set[str] = set()
        self.messages, self.first, self.last = 0, 0, 0

    def copy(self, records: Iterator[Any]) -> None:
        schemas: dict[int, Schema] = {}
        channels: dict[int, Channel] = {}
        for record in records:
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message):
                channel = channels[record.channel_id]
                self._take(record, channel, schemas[channel.schema_id])
            elif isinstance(record, Metadata | Attachment) and record.name not in self._described:
                self._described.add(record.name)
                if isinstance(record, Metadata):
                    self._writer.add_metadata(record.name, record.metadata)
                else:
                    self._writer.add_attachment(**vars(record))

    def _take(self, message: Message, channel: Channel, schema: Schema) -> None:
        # Gains and loads hold until they change: earlier ones are needed, too.
        holds = channel.topic.endswith(("/gains", "/load"))
        if message.log_time < self._since and not holds:
            return
        if channel.topic not in self._topics:
            number = self._writer.register_schema(schema.name, schema.encoding, schema.data)
            self._topics[channel.topic] = self._writer.register_channel(
                channel.topic, channel.message_encoding, number, channel.metadata
            )
        message.channel_id = self._topics[channel.topic]
        self._writer.add_message(**vars(message))
        if not holds:
            self.first = self.first or message.log_time
            self.last = max(self.last, message.log_time)
            self.messages += 1
