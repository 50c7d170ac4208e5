"""Reads a recording: sessions with their ticks as arrays, the robot, and losses.

A file that ends in the middle, because its recorder was killed, is read up to its last whole chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mcap.exceptions import McapError
from mcap.records import Attachment, Channel, Message, Metadata
from mcap.stream_reader import CRCValidationError, StreamReader

from torqued.common.errors import TorquedError
from torqued.server.observation.layout import LOOP_TICK
from torqued.tools.recording.messages import (
    LOOP_COPIED,
    LOOP_MESSAGE,
    LOST_MESSAGE,
    VERSIONS,
    ring_ticks,
    tick_message,
    values_message,
)
from torqued.tools.recording.reader import Values
from torqued.tools.recording.session_layout import Records, SessionInfo, session_info

#: Bytes of the numbers that ticks of version 1 lack.
ADDED_BYTES = 16


class RecordingError(TorquedError):
    """A file that is not a recording, or has another version."""


@dataclass
class RecordedSession:
    """One session, as far as it was recorded."""

    info: SessionInfo
    ticks: Records  # by index
    gains: list[Values] = field(default_factory=list)
    loads: list[Values] = field(default_factory=list)

    @property
    def from_start(self) -> bool:
        """Whether its first tick was recorded: then the law's memory can be reproduced."""
        return len(self.ticks) > 0 and int(self.ticks["index"][0]) == 0

    @property
    def has_all(self) -> bool:
        """Whether no tick is missing between the first and the last."""
        index = self.ticks["index"]
        return len(index) < 2 or int(index[-1] - index[0]) == len(index) - 1

    @cached_property
    def time(self) -> np.ndarray:
        """s since its first tick."""
        since: np.ndarray = (self.ticks["time"] - self.ticks["time"][0]) * 1e-9
        return since


@dataclass
class Recording:
    """One file."""

    path: Path
    directory: dict[str, Any]
    robot_text: str  # the URDF, or the file of screws; empty where the robot came from none
    sessions: dict[int, RecordedSession]
    loop: Records
    lost: dict[int, int]  # ticks, by session

    @property
    def robot(self) -> dict[str, Any]:
        found: dict[str, Any] = self.directory["robot"]
        return found

    def session(self, number: int | None = None) -> RecordedSession:
        """The session with this number, or the only one."""
        if number is None and len(self.sessions) == 1:
            return next(iter(self.sessions.values()))
        if number not in self.sessions:
            listed = ", ".join(f"{n} ({s.info.law})" for n, s in self.sessions.items()) or "none"
            problem = "choose a session" if number is None else f"unknown session {number}"
            raise RecordingError(f"{self.path}: {problem} (recorded: {listed})")
        return self.sessions[number]


def records_of(path: Path) -> Iterator[Any]:
    """Records of a file up to its end, or to where it was truncated."""
    try:
        with path.open("rb") as file:
            yield from StreamReader(file, validate_crcs=True).records
    except (McapError, CRCValidationError, EOFError):
        return  # the rest is incomplete
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None


def read_recording(path: Path) -> Recording:
    """Read a file as arrays."""
    if not path.is_file():
        raise RecordingError(f"{path}: no such file")
    directory: dict[str, Any] | None = None
    text, version = "", 0
    channels: dict[int, Channel] = {}
    messages: dict[str, list[bytes]] = {}
    for record in records_of(path):
        if isinstance(record, Metadata) and record.name == "torqued":
            found = record.metadata.get("version", "none")
            if found not in map(str, VERSIONS):
                raise RecordingError(f"{path} has version {found}, expected one of {VERSIONS}")
            version = int(found)
            directory = json.loads(record.metadata["directory"])
        elif isinstance(record, Attachment):
            text = record.data.decode()
        elif isinstance(record, Channel):
            channels[record.id] = record
        elif isinstance(record, Message):
            messages.setdefault(channels[record.channel_id].topic, []).append(record.data)
    if directory is None:
        raise RecordingError(f"{path} is not a torqued recording")
    sessions = {}
    for channel in channels.values():
        if "session" in channel.metadata:
            try:
                session = _session(channel, messages, version)
            except ValueError as error:  # from numpy: wrong length
                raise RecordingError(
                    f"{path}: messages of {channel.topic} do not have this version's layout: "
                    f"{error}"
                ) from None
            sessions[session.info.number] = session
    return Recording(path, directory, text, sessions, _loop(messages), _lost(messages))


def _session(channel: Channel, messages: dict[str, list[bytes]], version: int) -> RecordedSession:
    entry, topic = json.loads(channel.metadata["session"]), channel.topic
    if version == 1:  # its ticks were shorter
        entry["record_bytes"] += ADDED_BYTES
        for part in (*entry["state"], *entry["references"], *entry["outputs"]):
            part["offset"] += ADDED_BYTES
    info = session_info(entry)
    found = tick_message(info, version).decode(b"".join(messages.get(topic, ())))
    ticks = ring_ticks(found, len(found), info)
    ticks = ticks[np.argsort(ticks["index"], kind="stable")]
    session = RecordedSession(info, ticks)
    session.gains = _values("Gains", info.number, messages.get(f"{topic}/gains", ()))
    session.loads = _values("Load", info.number, messages.get(f"{topic}/load", ()))
    return session


def _values(kind: str, number: int, data: Any) -> list[Values]:
    if not data:
        return []
    count = (len(data[0]) - 9) // 8  # tag and index; if there are values, a tag and a length
    found = values_message(kind, number, count).decode(b"".join(data))
    values = found["values"] if count else np.zeros((len(found), 0))
    return [
        Values(number, int(index), row) for index, row in zip(found["index"], values, strict=True)
    ]


def _loop(messages: dict[str, list[bytes]]) -> Records:
    found = LOOP_MESSAGE.decode(b"".join(messages.get("/loop", ())))
    loop = np.zeros(len(found), LOOP_TICK)
    for name in LOOP_COPIED:
        loop[name] = found[name]
    loop["deadline"] = found["time"] - found["lateness"]
    return loop


def _lost(messages: dict[str, list[bytes]]) -> dict[int, int]:
    lost: dict[int, int] = {}
    for row in LOST_MESSAGE.decode(b"".join(messages.get("/lost", ()))):
        lost[int(row["session"])] = lost.get(int(row["session"]), 0) + int(row["lost"])
    return lost
