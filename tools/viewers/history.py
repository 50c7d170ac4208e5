"""The last seconds of sessions, thinned out for plots, and what happened to them.

One `History` holds what a page shows, whether ticks come out of a ring or out of a recording.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.status import TABLE, WALL, status_names, wall_names
from torqued.tools.recording.session_layout import Records, SessionInfo, joints_of, titles

Array = NDArray[np.float64]

#: s that plots show, and points that they have at most.
SPAN, MAX_POINTS = 10.0, 250
#: Lines of the log that are kept.
MAX_EVENTS = 200
#: s within which the same event counts as one, among the last few of a session.
TOGETHER, REPEATS = 10.0, 3


def has_state(tick: Any) -> bool:
    """Whether a state has come that can be drawn: its numbers are finite."""
    return int(tick["sequence"]) >= 0 and bool(np.all(np.isfinite(tick["q"])))


@dataclass
class Track:
    """One session: its newest tick, and those of the last seconds, thinned out."""

    info: SessionInfo
    limits: Array  # N m, of its torques; infinite where there is none
    newest: Any = None  # a record
    kept: deque[Any] = field(default_factory=lambda: deque(maxlen=2 * MAX_POINTS))
    status: int = 0
    _due: int = 0  # ns

    def add(self, ticks: Records) -> None:
        self.newest = ticks[-1]
        spacing = int(1e9 * SPAN / MAX_POINTS)
        for tick in ticks[ticks["sequence"] >= 0]:
            if int(tick["time"]) >= self._due:
                self._due = int(tick["time"]) + spacing
                self.kept.append(tick)

    def times(self) -> Array:
        """s before the newest, negative."""
        stamps = np.array([int(tick["time"]) for tick in self.kept], np.int64)
        newest = int(self.newest["time"]) if self.newest is not None else 0
        return np.asarray(1e-9 * (stamps - newest), np.float64)

    def series(self, what: str) -> Array:
        """(points, width) of an array by its name, of "error" (q - q_ref), or of nothing."""
        names = self.kept[0].dtype.names if self.kept else ()
        if what == "error" and self._has_joint_errors:
            return np.array([tick["q"] - tick["q_ref"] for tick in self.kept], float)
        if what not in names:
            return np.zeros((len(self.kept), 0))
        return np.array([np.ravel(tick[what]) for tick in self.kept], float)

    def unit(self, what: str) -> str:
        """Of what `series` gives."""
        units = {part.field: part.unit for part in self.info.parts}
        return units["q"] if what == "error" and self._has_joint_errors else units.get(what, "")

    @property
    def _has_joint_errors(self) -> bool:
        """Whether positions are not quaternions, whose difference is not an error."""
        shapes = {part.field: part.shape for part in self.info.parts}
        return shapes.get("q_ref") == shapes["q"] == shapes["v"]


@dataclass(frozen=True)
class Happening:
    """A line of the log."""

    time: int  # ns, CLOCK_MONOTONIC
    session: int
    law: str
    words: str
    times: int = 1  # that it has come in a row


class History:
    """All sessions that have given ticks, the loop's times and the log."""

    def __init__(self, robot: Mapping[str, Any], keep_closed: bool = False) -> None:
        self.robot = robot
        self.keep_closed = keep_closed  # as a recording does, where all have ended
        self.tracks: dict[int, Track] = {}
        self.events: deque[Happening] = deque(maxlen=MAX_EVENTS)
        self.lateness: deque[float] = deque(maxlen=20_000)  # µs
        self.compute: deque[float] = deque(maxlen=20_000)
        self.period = 1000.0  # µs, of the loop

    def add(
        self, sessions: Mapping[int, SessionInfo], ticks: Mapping[int, Records], loop: Records
    ) -> None:
        """Add the records since the last call."""
        for number, rows in ticks.items():
            if number not in self.tracks:
                info = sessions[number]
                self.tracks[number] = Track(info, self._limits(info))
                self._log(rows[0], info, f"opened by {info.client}")
            self.tracks[number].info = sessions[number]
            self._watch(self.tracks[number], rows)
            self.tracks[number].add(rows)
        still_open = {number for number, info in sessions.items() if info.closed is None}
        for number in [n for n in self.tracks if not self.keep_closed and n not in still_open]:
            track = self.tracks.pop(number)
            self._log(track.newest, track.info, "closed")
        if len(loop):
            self.lateness.extend((1e-3 * (loop["time"] - loop["deadline"])).tolist())
            self.compute.extend((1e-3 * loop["compute"]).tolist())
        if len(loop) > 1:
            self.period = 1e-3 * float(np.median(np.diff(loop["deadline"])))

    def _limits(self, info: SessionInfo) -> Array:
        """Effort limits of the session where the directory has them, else the robot's."""
        given = info.raw.get("effort_limit")
        limits = given if given is not None else self.robot["limits"]["effort"]
        return np.array([np.inf if value is None else value for value in np.ravel(limits)], float)

    def _watch(self, track: Track, rows: Records) -> None:
        """A line when a status bit comes."""
        statuses = rows["status"]
        changes = np.flatnonzero(np.diff(statuses, prepend=track.status))
        for k in changes.tolist():
            came = int(statuses[k]) & ~track.status & ~ROUTINE
            if came:
                words = " ".join(status_names(came)).lower().replace("_", " ")
                if came & WALL:
                    words += f" ({', '.join(walls_at(rows[k], track.info, self.robot))})"
                self._log(rows[k], track.info, words)
            track.status = int(statuses[k])

    def _log(self, tick: Any, info: SessionInfo, words: str) -> None:
        """Add a line to the log; an event that comes again soon is counted in its line."""
        now, times = int(tick["time"]), 1
        for event in [e for e in self.events if e.session == info.number][-REPEATS:]:
            if event.words == words and now - event.time < 1e9 * TOGETHER:
                self.events.remove(event)
                times = event.times + 1
        self.events.append(Happening(now, info.number, info.law, words, times))


def walls_at(tick: Any, info: SessionInfo, robot: Mapping[str, Any]) -> list[str]:
    """Names of joints, and of frames before planes, whose walls changed the torque of a tick."""
    joints = titles(tick["v"].size, robot, joints_of(robot))
    walls = info.raw.get("options", {}).get("walls")
    return wall_names(int(tick["walls"]), dict(enumerate(joints)), walls)


#: Bits that come and go in ordinary work.
ROUTINE = sum(row.bit for row in TABLE if row.ordinary)


#: µs, edges of bins: ten in each decade.
EDGES = np.geomspace(1.0, 1e5, 51)


def stairs(values: Any, limit: float) -> tuple[Array, Array, Array]:
    """A histogram as a line over a logarithmic axis, and what is beyond a limit as another.

    Corners, µs; % of all values in the bin, where none is left out; and from the limit on the
    height of the highest bin.
    """
    found = np.clip(np.array(values, float), EDGES[0], EDGES[-1])
    counts, _ = np.histogram(found, bins=EDGES)
    edges = np.unique(np.append(EDGES, np.clip(limit, EDGES[0], EDGES[-1])))
    heights = 100.0 * counts[np.searchsorted(EDGES, edges[:-1], "right") - 1] / max(len(found), 1)
    beyond = np.where(edges[:-1] >= limit, max(float(heights.max()), 1.0), 0.0)
    return np.repeat(edges, 2)[1:-1], np.repeat(heights, 2), np.repeat(beyond, 2)
