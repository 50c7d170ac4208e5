"""Closed loops in lock step: the robot waits for the torque of its newest state, then moves on.

Time is the simulation's own, so that results do not depend on how busy the computer is. Many loops
run side by side in one daemon, each with its own session, robot and record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torqued.client.sessions.session import Session
from torqued.kernels.model.description import Array
from torqued.tools.demos.plant import Plant

PERIOD = 1e-3  # s
#: s to wait for the daemon, which may have to share the computer.
PATIENCE = 10.0

#: Options of sessions that are to show a law and nothing else: no limits of references, no walls,
#: no low-pass. Nothing is late, unless an experiment makes it so.
LAW_ALONE: Mapping[str, Any] = {
    "clock": "lockstep",
    "reference_limits": False,
    "walls": False,
    "low_pass": 0.0,
    "delay": 0.0,
}

#: Share of a run at its beginning, while an offset goes away, that tracking errors leave out.
SETTLING = 0.4

#: q, v and what else a session takes.
Measured = tuple[Array, Array, Mapping[str, Any]]
#: By column name, a row per step.
Log = dict[str, Array]


@dataclass
class Loop:
    """One robot under one law."""

    plant: Plant
    session: Session
    #: References by name at a time.
    references: Callable[[float], Mapping[str, Any]]
    #: Called before each step with the robot and the time: pushes.
    events: Callable[[Plant, float], None] = lambda plant, t: None
    #: What of the robot is recorded beside its state, after each step.
    measure: Callable[[Plant], Mapping[str, Any]] = lambda plant: {"force": plant.contact_force()}
    #: What is measured of the robot, with a source of noise: q, v and what else the session takes.
    #: By default what it is, with `noise` on v.
    sense: Callable[[Any, np.random.Generator], Measured] | None = None
    #: Steps by which torques come late, beyond the step that they take anyway.
    delay: int = 0
    #: rad/s, standard deviation of measured velocities.
    noise: float = 0.0
    seed: int = 0
    rows: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._late: deque[Array] = deque()
        self._random = np.random.default_rng(self.seed)
        self._sequence = 0

    def send(self) -> None:
        """Measure, and send the state to the daemon."""
        t = self.plant.time
        self.events(self.plant, t)
        q, v = self.plant.q, self.plant.v
        others: Mapping[str, Any] = {}
        place, speed = q, v
        if self.sense is not None:
            place, speed, others = self.sense(self.plant, self._random)
        elif self.noise:
            speed = v + self.noise * self._random.normal(size=len(v))
        self.session.latest()  # repetitions that came since the last step
        self._sequence = self.session.send(place, speed, at=t, **others, **self.references(t))
        self._note(time=t, q=q, v=v, pushed=self.plant.push_torque())

    def receive(self) -> None:
        """The torque of the state that was sent, and a step with it, or with an older one."""
        # The next ticks repeat an output while they wait for the next state.
        output = self.session.receive(PATIENCE, self._sequence)
        self._late.append(output.tau)
        if len(self._late) <= self.delay:
            self._late.extend([output.tau] * (self.delay + 1 - len(self._late)))
        self.plant.step(self._late.popleft(), PERIOD)
        self._note(
            status=output.status,
            compute=output.compute,
            touched=self.plant.contact_torque,
            **self.measure(self.plant),
            **output.values,
        )

    def _note(self, **values: Any) -> None:
        for name, value in values.items():
            self.rows.setdefault(name, []).append(value)

    def log(self) -> Log:
        return {name: np.array(column) for name, column in self.rows.items()}


def run_together(
    loops: list[Loop], seconds: float, progress: Callable[[], None] = lambda: None
) -> list[Log]:
    """All loops for so much simulated time; `progress` is called after each step."""
    for _ in range(round(seconds / PERIOD)):
        for loop in loops:
            loop.send()
        for loop in loops:
            loop.receive()
        progress()
    return [loop.log() for loop in loops]


def tracking(log: Log, limits: Array) -> dict[str, Any]:
    """Of a log with `error` (steps, nv): errors after settling, and torques relative to limits."""
    settled = log["error"][log["time"] >= SETTLING * log["time"][-1]]
    return {
        "rms_error": float(np.sqrt(np.mean(settled**2))),
        "max_error": float(np.abs(settled).max()),
        "torque_share": float((np.abs(log["tau"]) / limits).max()),
        "statuses": int(np.bitwise_or.reduce(log["status"])),
    }


def energy_balance(log: Log) -> tuple[float, float]:
    """How far the law's account of energy is off in the end, J, and how much has flowed, J.

    V(t) − V(0) = ∫ (−dissipation + reference_power + portᵀ τ_ext) dt, by the trapezoidal rule.
    """
    change, terms = step_powers(log)
    flowed = float(np.abs(np.stack(list(terms.values()))).sum()) + float(np.ptp(log["storage"]))
    return float(change.sum() - sum(term.sum() for term in terms.values())), flowed


def step_powers(log: Log) -> tuple[Array, dict[str, Array]]:
    """For each step the change of storage, J, and the work that should make it up, J."""

    def middle(column: Array) -> Array:
        return 0.5 * (column[1:] + column[:-1])

    external = middle(log["pushed"]) + log["touched"][:-1]
    terms = {
        "dissipation": -PERIOD * middle(log["dissipation"]),
        "reference": PERIOD * middle(log["reference_power"]),
        "external": PERIOD * (middle(log["port"]) * external).sum(axis=1),
    }
    return np.diff(log["storage"]), terms
