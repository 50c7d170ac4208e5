"""`Reader`: every tick of every session, from a daemon's ring. Needs only numpy.

    reader = Reader("panda")
    while True:
        batch = reader.poll()
        for number, ticks in batch.ticks.items():        # an array of records, oldest first
            print(reader.sessions[number].law, ticks["time"][-1], ticks["tau"][-1])
        if batch.lost:
            print("ticks lost, by session:", batch.lost)
        time.sleep(0.01)

A reader takes nothing from the daemon: neither a lock nor a system call of its loop. One that is
slow, stopped or killed loses ticks, and gets their number; the loop never waits for it.

There is the loop's ring and one for each session whose states are answered on arrival. All ticks of
a session are in one of them, in order.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from torqued.client.endpoints import check_local, request_endpoint
from torqued.server.observation.layout import (
    GAINS,
    HEAD,
    LOAD,
    LOOP,
    LOOP_TICK,
    PAD,
    TICK,
    VALUES_HEAD,
)
from torqued.tools.recording.cursor import Cursor, ReaderError
from torqued.tools.recording.session_layout import Records, SessionInfo, session_info

_HEAD = struct.Struct("<qqqq")
_INDEX = struct.Struct("<q")


@dataclass
class Values:
    """Values of a session from a tick on."""

    session: int
    index: int  # of that tick
    values: np.ndarray


@dataclass
class Batch:
    """Records since the last poll."""

    ticks: dict[int, Records] = field(default_factory=dict)  # by session
    gains: list[Values] = field(default_factory=list)
    loads: list[Values] = field(default_factory=list)  # (bodies * 10,)
    loop: Records = field(default_factory=lambda: np.zeros(0, LOOP_TICK))
    lost: dict[int, int] = field(default_factory=dict)  # ticks, by session
    lost_records: int = 0  # of all kinds; those of sessions that have not come again are here only

    def __bool__(self) -> bool:
        return bool(self.ticks or self.gains or self.loads or len(self.loop) or self.lost_records)


class Reader:
    """Reads the ring of one daemon; follows it when the daemon restarts.

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
        #: Restarts of the daemon so far.
        self.restarts = 0
        #: Ticks that were lost since the beginning, by session; and records of all kinds.
        self.lost: dict[int, int] = {}
        self.lost_records = 0
        self._seen: Any = None
        self._why_not = ""  # of a daemon without a ring
        self._revisions: dict[int, int] = {}  # by session: of its file as it was last read
        self._next: dict[int, int] = {}  # by session: index of the tick that comes next
        self._older: set[int] = set()  # sessions that the reader has not seen from their beginning
        self._rings: dict[str, Cursor] = {}  # the loop's first, by what the directory calls them
        if not self._look():
            why_not = self._why_not or f"no {self._path.name}; is the daemon running?"
            raise ReaderError(f"cannot observe daemon {name!r} in {self.folder}: {why_not}")
        self._older = set(self.sessions)
        for ring in self._rings.values():
            ring.number = None
            if not backlog:
                ring.skip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unmap all rings."""
        for ring in self._rings.values():
            ring.close()
        self._rings = {}

    @property
    def is_open(self) -> bool:
        """Whether the daemon has not closed its ring. A killed daemon does not close it."""
        return any(ring.is_open for ring in self._rings.values())

    @property
    def period(self) -> float:
        """s between ticks."""
        return float(self.directory["period"])

    @property
    def processor(self) -> int | None:
        """The processor that the loop is pinned to, if any."""
        return self.directory.get("processor")

    def robot_file(self) -> str:
        """The robot's URDF, or file of screws; empty if it has none."""
        name = self.robot.get("file")
        return (self.folder / name).read_text(encoding="utf-8") if name else ""

    def poll(self) -> Batch:
        """Records since the last poll; returns at once."""
        batch = Batch()
        self._look()
        ticks: dict[int, list[bytes]] = {}
        for ring in list(self._rings.values()):
            if data := ring.copy():
                self._parse(ring, data, ticks, batch)
        self._gather(ticks, batch)
        if not self._is_behind():
            self._look()  # a new daemon has other rings
        for number, count in batch.lost.items():
            self.lost[number] = self.lost.get(number, 0) + count
        self.lost_records += batch.lost_records
        return batch

    def _look(self) -> bool:
        """Read the directory if it has changed; returns whether there is one of a ring."""
        try:
            info = os.stat(self._path)
            seen = (info.st_ino, info.st_mtime_ns, info.st_size)
            if seen == self._seen:
                return True
            directory = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise ReaderError(f"cannot read {self._path}: {error}") from None
        if directory.get("version") != 2:
            raise ReaderError(f"{self._path} has version {directory.get('version')}, expected 2")
        if reason := directory.get("why_not"):
            self._why_not = f"the daemon has no ring of ticks: {reason}"
            return False
        if not self._rings or directory["epoch"] != self.directory.get("epoch"):
            if self._is_behind():
                return True  # what the last daemon has left comes first
            self._attach(directory, info.st_uid)
        for ring in directory["arrival_rings"]:
            if ring not in self._rings:
                self._rings[ring] = Cursor(self.folder / ring, info.st_uid)
        self._seen, self.directory, self.robot = seen, directory, directory["robot"]
        # Records of sessions that left the directory may still arrive: they stay in `sessions`.
        for listed in directory["sessions"]:
            self._look_at(listed)
        return True

    def _look_at(self, listed: Mapping[str, Any]) -> None:
        """Read a session's file if the session has changed."""
        number, revision = listed["session"], listed["revision"]
        known = self.sessions.get(number)
        entry = known.raw if known else {}
        if known is None or revision != self._revisions.get(number):
            try:
                entry = json.loads((self.folder / listed["file"]).read_bytes())
            except FileNotFoundError:
                return  # it has left the directory meanwhile
            except (OSError, ValueError) as error:
                raise ReaderError(f"cannot read {self.folder / listed['file']}: {error}") from None
        elif known.closed == listed["closed"]:
            return
        self._revisions[number] = revision
        self.sessions[number] = session_info({**entry, "closed": listed["closed"]})

    def ends(self) -> dict[str, int]:
        """Current end of each ring."""
        return {name: ring.written for name, ring in self._rings.items()}

    def has_reached(self, ends: Mapping[str, int]) -> bool:
        """Whether everything up to `ends` has been polled."""
        return all(
            self._rings[name].position >= end for name, end in ends.items() if name in self._rings
        )

    @property
    def backlog(self) -> float:
        """The unread share of the fullest ring."""
        found = [(ring.written - ring.position) / ring.capacity for ring in self._rings.values()]
        return max(found, default=0.0)

    def _is_behind(self) -> bool:
        return any(ring.is_behind for ring in self._rings.values())

    def _attach(self, directory: dict[str, Any], owner: int) -> None:
        """Start reading the rings of a daemon."""
        self.close()
        self._rings = {directory["ring"]: Cursor(self.folder / directory["ring"], owner)}
        if self.directory:
            self.restarts += 1
            self.sessions, self._revisions = {}, {}
        self._next, self._older = {}, set()

    def _parse(
        self, ring: Cursor, data: bytes, ticks: dict[int, list[bytes]], batch: Batch
    ) -> None:
        """Sort records by kind; advance to the first incomplete one."""
        at, size = 0, len(data)
        loops = []
        unpack, index_of = _HEAD.unpack_from, _INDEX.unpack_from
        while at + HEAD.itemsize <= size:
            number, length, kind, session = unpack(data, at)
            if at + length > size:
                break
            if number != ring.number:
                if ring.number is not None:
                    batch.lost_records += number - ring.number
                ring.number = number
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
                ring.number = number + 1
            at += length
        ring.position += at
        if loops:  # in one ring alone
            batch.loop = np.frombuffer(b"".join(loops), LOOP_TICK)

    def _gather(self, ticks: Mapping[int, list[bytes]], batch: Batch) -> None:
        """Ticks of each session as one array of records."""
        for session, records in ticks.items():
            if session not in self.sessions:
                self._look()
            if session in self.sessions:
                joined = b"".join(records)
                batch.ticks[session] = np.frombuffer(joined, self.sessions[session].dtype)
            else:  # removed from the directory before it was read
                batch.lost[session] = batch.lost.get(session, 0) + len(records)

    def _count(self, session: int, index: int, batch: Batch) -> None:
        """Count missing ticks; of sessions that are older than the reader, from its first one."""
        before = index if session in self._older else 0
        expected = self._next.get(session, before)
        if index != expected:
            batch.lost[session] = batch.lost.get(session, 0) + index - expected
        self._next[session] = index + 1
