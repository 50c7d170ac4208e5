"""`Reader`: every tick of every session, out of a daemon's ring. Needs numpy alone.

    reader = Reader("panda")
    while True:
        batch = reader.poll()
        for number, ticks in batch.ticks.items():        # an array of records, oldest first
            print(reader.sessions[number].law, ticks["time"][-1], ticks["tau"][-1])
        if batch.lost:
            print("ticks lost, by session:", batch.lost)
        time.sleep(0.01)

A reader takes nothing from the daemon: neither a lock nor a system call of its loop. One that is
slow, stopped or killed loses ticks, and is told how many; nobody waits for it.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from torqued.client.endpoints import check_local, request_endpoint
from torqued.common.errors import TorquedError
from torqued.server.observation.layout import (
    GAINS,
    HEAD,
    HEADER,
    HEADER_BYTES,
    LOAD,
    LOOP,
    LOOP_TICK,
    MAGIC,
    PAD,
    TICK,
    VALUES_HEAD,
    VERSION,
)
from torqued.server.observation.records import Records, SessionInfo, session_info

#: Bytes that one `poll` takes at the most; the next goes on from there.
MOST_BYTES = 16 * 2**20
#: Part of the ring that a reader which lost ticks leaves to the writer before it goes on.
HEADROOM = 16

#: How much a reading process yields to others; 19 is the most.
NICENESS = 5

_HEAD = struct.Struct("<qqqq")
_INDEX = struct.Struct("<q")
_BARRIER = threading.Lock()


class ReaderError(TorquedError):
    """A ring that is not there, or that cannot be read."""


@dataclass
class Values:
    """Numbers of a session that hold from a tick on."""

    session: int
    index: int  # of that tick
    values: np.ndarray


@dataclass
class Batch:
    """What has come since the last time."""

    ticks: dict[int, Records] = field(default_factory=dict)  # by session
    gains: list[Values] = field(default_factory=list)
    loads: list[Values] = field(default_factory=list)  # (bodies * 10,)
    loop: Records = field(default_factory=lambda: np.zeros(0, LOOP_TICK))
    lost: dict[int, int] = field(default_factory=dict)  # ticks, by session
    lost_records: int = 0  # of all kinds; those of sessions that have not come again are here only

    def __bool__(self) -> bool:
        return bool(self.ticks or self.gains or self.loads or len(self.loop) or self.lost_records)


class Reader:
    """Reads the ring of one daemon; follows it when the daemon is started anew.

    name, folder    of the daemon, as `torqued serve --name --folder` has them
    backlog         whether to begin with the oldest tick that is there, not with the next
    """

    def __init__(self, name: str, folder: Path | None = None, backlog: bool = False) -> None:
        endpoint = request_endpoint(name, folder)
        check_local(endpoint)
        base = Path(endpoint.removeprefix("ipc://").removesuffix(".sock"))
        self.name, self.folder = name, base.parent
        self._path = base.with_name(f"{base.name}.directory.json")
        self.sessions: dict[int, SessionInfo] = {}
        self.robot: dict[str, Any] = {}
        self.directory: dict[str, Any] = {}
        #: How often the daemon was started anew since.
        self.restarts = 0
        #: Ticks that were lost since the beginning, by session; and records of all kinds.
        self.lost: dict[int, int] = {}
        self.lost_records = 0
        self._seen: Any = None
        self._position = 0
        self._number: int | None = 0  # of the record that comes next; None: any
        self._next: dict[int, int] = {}  # by session: index of the tick that comes next
        self._older: set[int] = set()  # sessions that the reader has not seen from their beginning
        self._header: Any = None
        self._data: Any = None
        self._file: Any = None
        if not self._look():
            raise ReaderError(
                f"no daemon {name!r} can be observed in {self.folder}: there is no "
                f"{self._path.name}; is it running, with a ring_size above 0?"
            )
        self._number = None
        self._older = set(self.sessions)
        if not backlog:
            self._position = self.written

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the ring."""
        self._header = self._data = None
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def is_open(self) -> bool:
        """Whether the daemon says that it goes on. One that was killed says nothing."""
        return self._header is not None and not self._header["closed"][0]

    @property
    def period(self) -> float:
        """s between ticks."""
        return float(self.directory["period"])

    def robot_file(self) -> str:
        """The robot's URDF, or file of screws; empty where it has none."""
        name = self.robot.get("file")
        return (self.folder / name).read_text(encoding="utf-8") if name else ""

    def poll(self) -> Batch:
        """What has come since the last time; at once, whether there is something or not."""
        batch = Batch()
        self._look()
        if self._header is None:
            return batch
        self._parse(self._copy(), batch)
        self._follow_restart()
        for number, count in batch.lost.items():
            self.lost[number] = self.lost.get(number, 0) + count
        self.lost_records += batch.lost_records
        return batch

    def _look(self) -> bool:
        """Read the directory if it has changed; whether there is one."""
        try:
            info = os.stat(self._path)
            seen = (info.st_ino, info.st_mtime_ns, info.st_size)
            if seen == self._seen:
                return True
            directory = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise ReaderError(f"{self._path} cannot be read: {error}") from None
        if directory.get("version") != 1:
            raise ReaderError(f"{self._path} has version {directory.get('version')}, expected 1")
        if self._header is None or directory["epoch"] != self.directory.get("epoch"):
            if self._header is not None and self._behind():
                return True  # what the last daemon has left comes first
            self._attach(directory, info.st_uid)
        self._seen, self.directory, self.robot = seen, directory, directory["robot"]
        # Records of sessions that have gone from the directory may still come.
        found = {entry["session"]: session_info(entry) for entry in directory["sessions"]}
        self.sessions = self.sessions | found
        return True

    @property
    def position(self) -> int:
        """Bytes since the daemon was started, up to which all has been polled."""
        return self._position

    @property
    def written(self) -> int:
        """The same, that the loop has written."""
        return int(self._header["written"][0]) if self._header is not None else self._position

    def _behind(self) -> bool:
        return self._position < self.written

    def _follow_restart(self) -> None:
        """Go on with the ring of a new daemon once that of the last one is empty."""
        if not self._behind():
            self._look()

    def _attach(self, directory: dict[str, Any], owner: int) -> None:
        path = self.folder / directory["ring"]
        self.close()
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                info = os.fstat(file)
                if info.st_uid != owner or not stat.S_ISREG(info.st_mode):
                    raise ReaderError(f"ring {path} belongs to user {info.st_uid}, not to {owner}")
                self._file = mmap.mmap(file, 0, prot=mmap.PROT_READ)
            finally:
                os.close(file)
        except (OSError, ValueError) as error:
            raise ReaderError(f"ring {path} cannot be read: {error}") from None
        self._header = np.frombuffer(self._file, HEADER, 1)
        head = self._header[0]
        if head["magic"] != MAGIC or head["version"] != VERSION:
            found = f"version {head['version']}" if head["magic"] == MAGIC else "no ring"
            raise ReaderError(f"{path} is {found}, expected a ring of version {VERSION}")
        self._data = memoryview(self._file)[HEADER_BYTES:]
        self._capacity = int(head["capacity"])
        if self.directory:
            self.restarts += 1
            self.sessions = {}
        self._position, self._number = 0, 0
        self._next, self._older = {}, set()

    def _copy(self) -> bytes:
        """Records in one piece from where the reader is, the last one perhaps cut short."""
        while True:
            written = self.written
            barrier()
            reserved = int(self._header["reserved"][0])
            if reserved - self._position > self._capacity:
                self._position = self._oldest(written, reserved)
            start = self._position
            at = start % self._capacity
            end = at + min(written - start, MOST_BYTES)
            data = bytes(self._data[at:end])
            if end > self._capacity:  # round the end, where no record lies across
                data += bytes(self._data[: end - self._capacity])
            barrier()
            # Otherwise the writer has come round meanwhile, and these bytes may be torn.
            if int(self._header["reserved"][0]) - start <= self._capacity:
                return data

    def _oldest(self, written: int, reserved: int) -> int:
        """The oldest record that the writer will not reach soon."""
        oldest = reserved - self._capacity + self._capacity // HEADROOM
        marks = self._header["marks"][0]
        ahead = marks[(marks >= oldest) & (marks < written)]
        return int(ahead.min()) if len(ahead) else written

    def _parse(self, data: bytes, batch: Batch) -> None:
        """Sort records by what they are; move on to the first that is not whole."""
        at, size = 0, len(data)
        ticks: dict[int, list[bytes]] = {}
        loops = []
        unpack, index_of = _HEAD.unpack_from, _INDEX.unpack_from
        while at + HEAD.itemsize <= size:
            number, length, kind, session = unpack(data, at)
            if at + length > size:
                break
            if number != self._number:
                if self._number is not None:
                    batch.lost_records += number - self._number
                self._number = number
            if kind == TICK:
                (index,) = index_of(data, at + HEAD.itemsize)
                self._count(session, index, batch)
                ticks.setdefault(session, []).append(data[at : at + length])
            elif kind == LOOP:
                loops.append(data[at : at + LOOP_TICK.itemsize])
            elif kind in (GAINS, LOAD):
                head = np.frombuffer(data, VALUES_HEAD, 1, at)[0]
                start = at + VALUES_HEAD.itemsize
                values = np.frombuffer(data, np.float64, int(head["count"]), start)
                found = Values(session, int(head["index"]), values)
                (batch.gains if kind == GAINS else batch.loads).append(found)
            if kind != PAD:
                self._number = number + 1
            at += length
        self._position += at
        batch.loop = np.frombuffer(b"".join(loops), LOOP_TICK)
        for session, records in ticks.items():
            if session not in self.sessions:
                self._look()
            if session in self.sessions:
                joined = b"".join(records)
                batch.ticks[session] = np.frombuffer(joined, self.sessions[session].dtype)
            else:  # gone from the directory before it was read
                batch.lost[session] = batch.lost.get(session, 0) + len(records)

    def _count(self, session: int, index: int, batch: Batch) -> None:
        """Tell ticks that are missing; of sessions that were there before the reader, those from
        its first one on."""
        before = index if session in self._older else 0
        expected = self._next.get(session, before)
        if index != expected:
            batch.lost[session] = batch.lost.get(session, 0) + index - expected
        self._next[session] = index + 1


def stand_back() -> None:
    """Yield to whatever else runs here, the loop above all: for processes that only read."""
    os.nice(NICENESS)


def barrier() -> None:
    """What was read before is read before what is read after, on every processor.

    x86 does so by itself. Elsewhere a lock's release waits for reads before it, and its next
    acquisition for that release.
    """
    with _BARRIER:
        pass
    with _BARRIER:
        pass
