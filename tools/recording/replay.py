"""Runs a recording through the current laws: what differs, by how much, and since when.

Each tick gets the recorded state, references in effect, gains and payload; what a law remembers is
its own, from the beginning of the session on. Where the fallback had the robot, its torque is taken
from the recording, and the law goes on from there. On the build that was recorded with, a session
that was recorded from its start comes out the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.status import (
    CLAMPED,
    NONFINITE,
    SOLVER,
    TABLE,
    WALL,
)
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.control import replay as _compiled  # noqa: F401  (registers what it compiles)
from torqued.kernels.control.controller import Controller
from torqued.kernels.primitives.workspace import Workspace
from torqued.server.observation.layout import REPEATED, USED
from torqued.tools.recording.reader import Values
from torqued.tools.recording.recording import RecordedSession, RecordingError
from torqued.tools.recording.solver_rows import Contradiction, contradiction

#: References, last of all, that older recordings lack: zero in those.
ADDED = {"tau_ff"}
#: Outputs behind the guards, which a tick without a solution of the law has from the fallback.
GUARDED = {"tau", "q_command", "v_command"}
#: Bits that the law and its limits set; the others are of states, references and time.
OWN_BITS = sum(row.bit for row in TABLE if row.of_law)


@dataclass
class Difference:
    """Difference of one quantity over all compared ticks."""

    name: str
    unit: str
    largest: float = 0.0
    at: int = -1  # index of the tick with the largest
    first: int = -1  # of the first that differs by more than the tolerance; -1: none
    bits: int = 0  # ticks that differ at all

    def compare(self, index: int, got: np.ndarray, recorded: np.ndarray, tolerance: float) -> None:
        if np.array_equal(got, recorded):
            return
        self.bits += 1
        difference = np.abs(got - recorded)
        worst = float(np.max(difference))
        if worst > self.largest:
            self.largest, self.at = worst, index
        if self.first < 0 and not (difference <= tolerance * (1.0 + np.abs(recorded))).all():
            self.first = index


@dataclass
class Replay:
    """One session, replayed."""

    session: RecordedSession
    compared: int = 0  # ticks
    skipped: int = 0  # ticks that were not the law's
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether nothing differs by more than the tolerance."""
        return all(difference.first < 0 for difference in self.differences)


def replay(
    session: RecordedSession, robot: Robot, period: float, tolerance: float, solver: bool = False
) -> Replay:
    """Run a session through its law. `solver`: report why a solver failed."""
    result = Replay(session)
    if not session.from_start:
        result.notes.append("not recorded from its start: the law's memory of that time is missing")
    if not session.has_all:
        result.notes.append("ticks are missing: the law continues from the torque after each gap")
    _Replayer(session, robot, period, tolerance, solver, result).run()
    return result


class _Replayer:
    def __init__(
        self,
        session: RecordedSession,
        robot: Robot,
        period: float,
        tolerance: float,
        solver: bool,
        result: Replay,
    ) -> None:
        self.session, self.step, self.tolerance = session, period, tolerance
        self.solver, self.result = solver, result
        self.controller = controller_of(session, robot, period)
        model = robot.model
        self.work = Workspace(model.world, model.bodies.copy())  # payloads change bodies
        self.names = list(self.controller.outputs)
        units = {part.name: part.unit for part in session.info.outputs}
        result.differences = [Difference(name, units[name]) for name in self.names]
        self.status = Difference("status", "")
        result.differences.append(self.status)

    def run(self) -> None:
        ticks, data = self.session.ticks, self.controller.data
        record = self.controller.record[0]
        states = columns(ticks, [*self.session.info.state, *self.session.info.references])
        outputs = columns(ticks, self.session.info.outputs)
        gains, loads = Changes(self.session.gains), Changes(self.session.loads)
        begun = not self.session.from_start  # then there was a torque before
        expected = int(ticks["index"][0]) if len(ticks) else 0
        for tick, state, recorded in zip(ticks, states, outputs, strict=True):
            index, status = int(tick["index"]), int(tick["status"])
            gains.upto(index, data.gains)
            loads.upto(index, data.load.reshape(-1))
            data.state[: len(state)] = state
            data.command[:] = data.state[len(data.state) - len(data.command) :]
            record.elapsed, record.iterations = tick["elapsed"], tick["allowed"]
            self.step = int(tick["period"]) * 1e-9
            is_first = index != expected or (begun and index == int(ticks["index"][0]))
            expected = index + 1
            used, repeated = bool(tick["mode"] & USED), bool(tick["mode"] & REPEATED)
            if (used or status & (SOLVER | NONFINITE)) and not is_first and not repeated:
                self._compare(index, status, recorded, used)
            elif not repeated:
                self.result.skipped += 1
            begun = begun or used
            if begun and (is_first or not (used or repeated)):
                data.out[:] = recorded
                record.cut = status & (CLAMPED | WALL)
                COMPILED.replay_sent(self.controller.record, self.step)

    def _compare(self, index: int, status: int, recorded: np.ndarray, used: bool) -> None:
        controller = self.controller
        got = COMPILED.replay_tick(self.work.handle, controller.record, self.step)
        self.result.compared += 1
        self.status.compare(
            index, np.array(float(got & OWN_BITS)), np.array(float(status & OWN_BITS)), 0.0
        )
        torques = controller.memory.sizes.torques
        found, expected = controller.split(controller.data.out), controller.split(recorded)
        for difference in self.result.differences[:-1]:
            name = difference.name
            if used or (torques > 0 and name not in GUARDED and status & SOLVER):
                difference.compare(index, found[name], expected[name], self.tolerance)
        if self.solver and got & SOLVER:
            self.result.contradictions.append(contradiction(controller, index, found))


class Changes:
    """Values that change with some ticks."""

    def __init__(self, values: list[Values]) -> None:
        self._values: Iterator[Values] = iter(sorted(values, key=lambda item: item.index))
        self._next = next(self._values, None)

    def upto(self, index: int, out: np.ndarray) -> None:
        """Apply the changes up to a tick."""
        while self._next is not None and self._next.index <= index:
            if self._next.values.size != out.size:
                raise RecordingError(
                    f"{self._next.values.size} numbers were recorded, but this robot and law have "
                    f"{out.size}: the robot or the law differs"
                )
            out[:] = self._next.values
            self._next = next(self._values, None)


def _respelled(payload: Any) -> Any:
    """A payload, or a list of them, with `center`, which older recordings spell `centre`."""
    if isinstance(payload, list):
        return [_respelled(one) for one in payload]
    return {"center" if key == "centre" else key: value for key, value in payload.items()}


def controller_of(session: RecordedSession, robot: Robot, period: float) -> Controller:
    """The controller of a session as it was opened."""
    info = session.info
    options = dict(info.raw["options"])
    if payload := options.get("payload"):
        options["payload"] = _respelled(payload)
    try:
        controller = Controller(robot, info.law, **options)
        # What a daemon accepted is not judged again.
        controller.stabilize(period, info.raw["delay"], check="warn")
    except InputError as error:
        raise RecordingError(f"session {info.number}, {info.law}: {error}") from None
    recorded = [(part.name, part.shape) for part in (*info.references, *info.outputs)]
    references = {part.name for part in info.references} | controller.references.keys() - ADDED
    now = [(k, x.shape) for k, x in controller.references.items() if k in references]
    now += [(name, tuple(shape)) for name, shape in controller.outputs.items()]
    if recorded != now:
        here, there = (
            ", ".join(f"{name} {shape}" for name, shape in some if (name, shape) not in others)
            for some, others in ((now, recorded), (recorded, now))
        )
        raise RecordingError(
            f"session {info.number}: references and outputs of law {info.law!r} of robot "
            f"{robot.name!r} differ: now {here or 'fewer'}, recorded {there or 'fewer'}"
        )
    return controller


def columns(ticks: Any, parts: Any) -> np.ndarray:
    """Arrays of all ticks side by side, a row each."""
    flat = [ticks[part.field].reshape(len(ticks), -1) for part in parts]
    return np.concatenate([np.zeros((len(ticks), 0)), *flat], axis=1)
