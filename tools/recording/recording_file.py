"""One file of a recording: MCAP, written in chunks that are whole at least once a second.

    /sessions/NUMBER          ticks; metadata of the channel: the session as the directory has it
    /sessions/NUMBER/gains    when they change, and at the beginning
    /sessions/NUMBER/load     the same for what bodies carry
    /loop                     every tick of the loop
    /lost                     ticks that the recorder was too slow for

The robot's file is an attachment, what the directory says of daemon and robot is metadata.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from torqued.tools.recording.mcap_file import McapFile, message_type
from torqued.tools.recording.messages import (
    LOOP_COPIED,
    LOOP_MESSAGE,
    LOST_MESSAGE,
    VERSION,
    tick_columns,
    tick_message,
    values_message,
)
from torqued.tools.recording.protobuf import MessageType
from torqued.tools.recording.reader import Batch, Reader, Values
from torqued.tools.recording.session_layout import SessionInfo

#: Maximum bytes of a chunk, and seconds after which it is written.
CHUNK_BYTES, CHUNK_SECONDS = 2**20, 0.5
#: Maximum bytes per system call. A kernel without preemption finishes copying them before a loop
#: that wakes up there: 1 MiB made ticks up to 0.9 ms late.
PIECE = 2**14
ENCODING = "protobuf"


class Output:
    """What the file is written to. Bytes go to the file at once: there is no buffer that would
    fail a second time."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self.size = 0
        self.whole = 0  # up to here the file has nothing half written

    def write(self, data: bytes) -> int:
        left = memoryview(data)
        while left:
            count = os.write(self._file, left[:PIECE])
            left = left[count:]
            self.size += count
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self.whole = self.size

    def close(self) -> None:
        os.close(self._file)

    def cut(self) -> None:
        """Remove an incomplete chunk."""
        os.ftruncate(self._file, self.whole)
        self.close()


class RecordingFile:
    """Writes what a reader polls."""

    def __init__(self, path: Path, reader: Reader) -> None:
        self.path = path
        self._offset = time.time_ns() - time.monotonic_ns()  # of the loop's clock
        self._output = Output(path)
        self._channels: dict[str, tuple[int, MessageType]] = {}
        self._flushed = self.opened = time.monotonic()
        self._last = time.time_ns()
        self._scratch = np.empty(0, np.uint8)  # for messages on their way into a chunk
        self._mcap = McapFile(self._output, CHUNK_BYTES, library="torqued")
        self._describe(reader)

    @property
    def size(self) -> int:
        return self._output.size

    def _describe(self, reader: Reader) -> None:
        about = {key: value for key, value in reader.directory.items() if key != "sessions"}
        self._mcap.add_metadata(
            "torqued", {"version": str(VERSION), "directory": json.dumps(about)}
        )
        text = reader.robot_file()
        if text:
            from torqued.kernels.formats.sources import file_name

            name = file_name(text)
            kind = "application/xml" if name.endswith(".urdf") else "application/toml"
            self._mcap.add_attachment(time.time_ns(), name, kind, text.encode())
        self._output.flush()

    def add(self, batch: Batch, sessions: dict[int, SessionInfo]) -> None:
        """Add a batch; `sessions` are those to record."""
        for kind, group in (("Gains", batch.gains), ("Load", batch.loads)):
            for values in group:
                if values.session in sessions:
                    self._add_values(values, kind)
        for number, ticks in batch.ticks.items():
            if number in sessions:
                topic = self._channel_of(sessions[number])
                columns = tick_columns(ticks, topic[1])
                self._add(topic, columns, ticks["time"] + self._offset, ticks["index"])
        if len(batch.loop):
            loop = batch.loop
            columns = {name: loop[name] for name in LOOP_COPIED}
            columns["lateness"] = loop["time"] - loop["deadline"]
            topic = self._channel("/loop", LOOP_MESSAGE)
            self._add(topic, columns, loop["time"] + self._offset, loop["tick"])
        self._add_lost(batch, sessions)
        if time.monotonic() - self._flushed > CHUNK_SECONDS:
            self.flush()

    def flush(self) -> None:
        self._mcap.flush()
        self._flushed = time.monotonic()

    def finish(self) -> None:
        """Close the file with its index."""
        self._mcap.finish()
        self._output.close()

    def cut(self) -> None:
        """Close a file that cannot be written: it ends with the last whole chunk."""
        self._output.cut()

    def _channel_of(self, info: SessionInfo) -> tuple[int, MessageType]:
        topic = f"/sessions/{info.number}"
        if topic in self._channels:
            return self._channels[topic]
        about = {
            "session": json.dumps(info.raw),
            "units": json.dumps({part.field: part.unit for part in info.parts}),
        }
        return self._channel(topic, tick_message(info), about)

    def _channel(
        self, topic: str, message: MessageType, metadata: dict[str, str] | None = None
    ) -> tuple[int, MessageType]:
        if topic not in self._channels:
            schema = (message.name, message.schema())
            channel = self._mcap.add_channel(topic, schema, ENCODING, metadata or {})
            self._channels[topic] = (channel, message)
        return self._channels[topic]

    def _add(
        self,
        topic: tuple[int, MessageType],
        columns: dict[str, Any],
        times: Any,  # ns, by the wall clock
        numbers: Any = 0,
    ) -> None:
        channel, message = topic
        kind = message_type(message.dtype)
        if len(self._scratch) < len(times) * kind.itemsize:
            self._scratch = np.empty(2 * len(times) * kind.itemsize, np.uint8)
        found = self._scratch[: len(times) * kind.itemsize].view(kind)
        rows = found.view(np.uint8).reshape(len(times), kind.itemsize)
        message.fill(rows[:, -message.size :], columns)
        found["log_time"] = found["publish_time"] = times
        found["sequence"] = numbers
        self._mcap.add_messages(channel, found)
        self._last = int(times[-1])

    def _add_values(self, values: Values, kind: str) -> None:
        message = values_message(kind, values.session, len(values.values))
        topic = self._channel(f"/sessions/{values.session}/{kind.lower()}", message)
        self._add(topic, {"index": values.index, "values": values.values}, [self._last])

    def _add_lost(self, batch: Batch, sessions: dict[int, SessionInfo]) -> None:
        lost = {number: count for number, count in batch.lost.items() if number in sessions}
        if batch.lost_records:
            lost[0] = batch.lost_records
        for number, count in lost.items():
            topic = self._channel("/lost", LOST_MESSAGE)
            self._add(topic, {"session": number, "lost": count}, [self._last])
