"""The directory: what the sessions in a ring are, as files of JSON beside the sockets.

    NAME.directory.json         the daemon, its robot, its ring, and a list of sessions: open ones,
                                and the last that were closed
    NAME.session-NUMBER.json    one session; written again only when that session changes
    NAME.robot                  the robot's URDF, or its file of screws, where it comes from one

Each file is replaced as a whole, by the request thread and never by the loop: a reader always gets
a complete one. A session is listed before the loop writes its first tick, and after its file is
written.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from torqued.kernels import Robot
from torqued.server.observation.ring import Ring, protect
from torqued.server.transport.endpoints import Endpoints

VERSION = 2
#: Closed sessions that are kept: records of theirs may still be in the ring.
MAX_CLOSED = 64


class Directory:
    """The daemon's side of the directory."""

    def __init__(self, endpoints: Endpoints, ring: Ring, processor: int | None = None) -> None:
        """`processor` that the loop is pinned to, if any."""
        self.path, self.robot_path = directory_files(endpoints)
        self._group = endpoints.group
        self._sessions: dict[int, dict[str, Any]] = {}  # what each session's file has
        self._listed: dict[int, dict[str, Any]] = {}  # and what the list has
        self._content: dict[str, Any] = {
            "version": VERSION,
            "name": endpoints.name,
            "process": os.getpid(),
            "epoch": ring.epoch,
            "ring": self._name(ring),
            "arrival_rings": [],
            "started": time.time(),
            "period": float(ring.header.period) * 1e-9,
            "processor": processor,
            "robot": {},
        }

    def _name(self, ring: Ring) -> str:
        """Without a folder if it lies beside this file: paths in containers differ."""
        return ring.path.name if ring.path.parent == self.path.parent else str(ring.path)

    def add_ring(self, ring: Ring) -> None:
        """Add the ring of a session on arrival."""
        self._content["arrival_rings"].append(self._name(ring))
        self._write()

    def describe_robot(self, robot: Robot, source: Mapping[str, Any]) -> None:
        """The robot from now on. `source` is how it was loaded, with the `text` of its file."""
        text = source.get("text", "")
        limits = {name: getattr(robot.limits, name) for name in ("lower", "upper", "effort")}
        self._content["robot"] = {
            "name": robot.name,
            "base": robot.model.base,
            "nq": robot.nq,
            "nv": robot.nv,
            "joints": list(robot.joint_names),
            "limits": limits,
            "file": self.robot_path.name if text else "",
            "source": {name: value for name, value in source.items() if name != "text"},
        }
        if text:
            replace(self.robot_path, text.encode(), self._group)
        else:
            self.robot_path.unlink(missing_ok=True)
        self._write()

    def opened(self, number: int, session: Mapping[str, Any]) -> None:
        """A session that the loop is about to serve."""
        self._sessions[number] = {"session": number, "opened": time.time(), **session}
        file = self._session_file(number).name
        self._listed[number] = {"session": number, "closed": None, "file": file, "revision": 0}
        self._write_session(number)

    def changed(self, number: int, **fields: Any) -> None:
        """Change fields of a session; unknown sessions are ignored."""
        if number in self._sessions:
            self._sessions[number] |= fields
            self._listed[number]["revision"] += 1
            self._write_session(number)

    def closed(self, *numbers: int) -> None:
        """Sessions that have had their last tick."""
        for number in numbers:
            if number in self._sessions:
                self._listed[number]["closed"] = time.time()
        closed = [key for key, value in self._listed.items() if value["closed"] is not None]
        old = closed[: max(0, len(closed) - MAX_CLOSED)]
        for number in old:
            del self._sessions[number], self._listed[number]
        self._write()
        for number in old:
            self._session_file(number).unlink(missing_ok=True)

    def remove(self) -> None:
        sessions = (self._session_file(number) for number in self._sessions)
        for path in (self.path, self.robot_path, *sessions):
            path.unlink(missing_ok=True)

    def _session_file(self, number: int) -> Path:
        return self.robot_path.with_suffix(f".session-{number}.json")

    def _write_session(self, number: int) -> None:
        replace(self._session_file(number), as_json(self._sessions[number]), self._group)
        self._write()

    def _write(self) -> None:
        content = self._content | {"sessions": list(self._listed.values())}
        replace(self.path, as_json(content), self._group)


def say_why_not(endpoints: Endpoints, reason: str) -> None:
    """The directory of a daemon without a ring, for readers."""
    content = {"version": VERSION, "name": endpoints.name, "why_not": reason}
    replace(directory_files(endpoints)[0], as_json(content), endpoints.group)


def replace(path: Path, data: bytes, group: str | None) -> None:
    """Write a file as a whole, for users of the sockets."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
        protect(file.fileno(), group)
        file.write(data)
    os.replace(new, path)


def directory_files(endpoints: Endpoints) -> tuple[Path, Path]:
    """Of the directory, and of the robot."""
    base = endpoints.folder / endpoints.name
    return base.with_name(base.name + ".directory.json"), base.with_name(base.name + ".robot")


def as_json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(plain(content), allow_nan=False).encode()


def plain(value: Any) -> Any:
    """As JSON has it: arrays as lists, and null for what it has no number for."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value
