"""The recorder: a process that reads the ring and writes files, for as long as the daemon runs.

The loop never waits for it. If the disk is full it stops and reports that to the daemon.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from torqued.client import Client
from torqued.client.discovery import is_alive
from torqued.client.endpoints import request_endpoint
from torqued.common.errors import TorquedError
from torqued.tools.recording.reader import Batch, Reader, Values
from torqued.tools.recording.reader_scheduling import ReaderPriority
from torqued.tools.recording.recording_file import RecordingFile
from torqued.tools.recording.session_layout import SessionInfo

#: Seconds between polls of the ring, between reports to the daemon, and for its reply.
PAUSE, REPORT, ANSWER = 0.1, 1.0, 0.2
#: Seconds without records after which the recorder checks whether the daemon is alive.
SILENCE = 1.0


class RecorderError(TorquedError):
    """A recording that failed."""


@dataclass
class Choice:
    """What to record, and where."""

    out: Path
    sessions: Collection[str] = ()  # numbers or laws; none: all
    rotate_seconds: float = 0.0  # a new file after so long; 0: never
    rotate_bytes: int = 0  # the same for its size
    keep_seconds: float = 0.0  # files that end longer ago are deleted; 0: none are
    backlog: bool = False  # begin with what is in the ring already

    def takes(self, info: SessionInfo) -> bool:
        return not self.sessions or str(info.number) in self.sessions or info.law in self.sessions


@dataclass
class Recorder:
    """Records one daemon. `run` returns when the daemon ends or `stop` is called."""

    name: str
    folder: Path | None
    choice: Choice
    ticks: int = 0
    files: list[Path] = field(default_factory=list)  # those that are there
    alarm: str = ""

    def __post_init__(self) -> None:
        self.reader = Reader(self.name, self.folder, self.choice.backlog)
        self._stopped = False
        self._file: RecordingFile | None = None
        self._ended: dict[Path, float] = {}
        self._known: dict[tuple[str, int], Values] = {}  # newest gains and loads
        self._client = Client(request_endpoint(self.name, self.folder), ANSWER, retries=0)
        self._reported = self._heard = time.monotonic()

    def stop(self) -> None:
        """Stop after the records written so far; safe in a signal handler."""
        self._stopped = True

    def run(self) -> None:
        """Raises `RecorderError` if the disk is full, after reporting it to the daemon."""
        try:
            self.choice.out.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open()
            priority = ReaderPriority(self.reader.processor)
            while not self._over():
                started = time.monotonic()
                priority.update(self.reader.backlog)
                self._take(self.reader.poll())
                self._report()
                time.sleep(max(0.0, PAUSE - (time.monotonic() - started)))
            ends = self.reader.ends()
            while not self.reader.has_reached(ends) and (batch := self.reader.poll()):
                self._take(batch)
            if self._file:
                self._file.finish()
        except OSError as error:
            where = f"{error.filename or (self.files[-1] if self.files else self.choice.out)}"
            self.alarm = f"recording stopped: {where}: {error.strerror}"
            if self._file:
                self._file.cut()
            self._report(now=True)
            raise RecorderError(self.alarm) from None
        finally:
            self._report(now=True, ended=True)
            self.reader.close()
            self._client.close()

    def _over(self) -> bool:
        if self._stopped:
            return True
        if self.reader.is_open and time.monotonic() - self._heard < SILENCE:
            return False
        self._heard = time.monotonic()
        return not is_alive(self.name, self.reader.folder)

    def _take(self, batch: Batch) -> None:
        if not batch:
            return
        self._heard = time.monotonic()
        # Robot or daemon may differ from the file's.
        if self._due() or self._about != (self.reader.directory["epoch"], self.reader.robot):
            self._open()
        assert self._file is not None
        chosen = self._chosen()
        for kind, group in (("gains", batch.gains), ("load", batch.loads)):
            self._known |= {(kind, values.session): values for values in group}
        self._file.add(batch, chosen)
        self.ticks += sum(len(ticks) for number, ticks in batch.ticks.items() if number in chosen)

    def _chosen(self) -> dict[int, SessionInfo]:
        return {n: info for n, info in self.reader.sessions.items() if self.choice.takes(info)}

    def _due(self) -> bool:
        choice, file = self.choice, self._file
        if file is None:
            return True
        old = choice.rotate_seconds and time.monotonic() - file.opened > choice.rotate_seconds
        return bool(old or (choice.rotate_bytes and file.size > choice.rotate_bytes))

    def _open(self) -> None:
        """Begin a new file with the gains and payloads in effect."""
        if self._file:
            self._file.finish()
            self._ended[self._file.path] = time.monotonic()
        self._about = (self.reader.directory["epoch"], self.reader.robot)
        path = new_path(self.choice.out, self.name)
        self.files.append(path)
        self._file = RecordingFile(path, self.reader)
        open_now = {n for n, info in self.reader.sessions.items() if info.closed is None}
        self._known = {key: value for key, value in self._known.items() if key[1] in open_now}
        known = Batch(
            gains=[value for (kind, _), value in self._known.items() if kind == "gains"],
            loads=[value for (kind, _), value in self._known.items() if kind == "load"],
        )
        self._file.add(known, self._chosen())
        self._file.flush()
        self._forget_old()

    def _forget_old(self) -> None:
        if not self.choice.keep_seconds:
            return
        for path, ended in list(self._ended.items()):
            if time.monotonic() - ended > self.choice.keep_seconds:
                path.unlink(missing_ok=True)
                del self._ended[path]
                self.files.remove(path)

    def _report(self, now: bool = False, ended: bool = False) -> None:
        """Report to the daemon for its `stats`; ignore a missing reply."""
        if not now and time.monotonic() - self._reported < REPORT:
            return
        self._reported = time.monotonic()
        state = "ended" if ended else "recording"
        fields = {
            "process": os.getpid(),
            "state": "stopped" if self.alarm else state,
            "file": str(self.files[-1]) if self.files else "",
            "ticks": self.ticks,
            "lost": sum(self.reader.lost.values()),
            "keep": self.choice.keep_seconds,
            "alarm": self.alarm,
        }
        with contextlib.suppress(TorquedError):  # the daemon may have ended; the recording goes on
            self._client.recorder(fields)


def new_path(folder: Path, name: str) -> Path:
    """A new file name from the time of day."""
    now = time.time()
    day = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    stem = f"{name}-{day}-{int(now * 1000) % 1000:03d}"
    path, k = folder / f"{stem}.mcap", 1
    while path.exists():
        path, k = folder / f"{stem}-{k}.mcap", k + 1
    return path.absolute()
