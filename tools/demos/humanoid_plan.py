"""The humanoid's plan: smooth references, and contacts that are made and released.

A track is a point's way, a sum of quintic moves. A hold is a contact's story: planned times at
which it is let go or taken, with its largest force going down or up smoothly. It counts as taken
when the plan says so and a force is measured, and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from torqued.kernels.model.description import Array
from torqued.tools.demos.trajectories import quintic

#: N, that a contact must be felt with before the law may use it.
FELT = 3.0


@dataclass(frozen=True)
class Move:
    """From `start` s on, within `lasts` s, `way` (3,) m further."""

    start: float
    lasts: float
    way: Array


@dataclass(frozen=True)
class Track:
    """A point that begins at `origin` (3,) m and makes its moves."""

    origin: Array
    moves: tuple[Move, ...]

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (3,) each."""
        total = np.zeros((3, 3))
        for move in self.moves:
            share = np.array(quintic((t - move.start) / move.lasts))
            share /= move.lasts ** np.arange(3)
            total += np.outer(share, move.way)
        return self.origin + total[0], total[1], total[2]


@dataclass(frozen=True)
class Change:
    """At `start` s a contact is made or released; its largest force changes within `lasts` s."""

    start: float
    take: bool
    lasts: float = 0.3


@dataclass
class Hold:
    """A contact: whether the law may use it, and up to which force."""

    changes: tuple[Change, ...]
    full: float  # N, the largest force of a contact that is taken
    felt: Callable[[], float]  # N, measured normal force
    active: bool = True
    _done: int = 0  # changes that are over
    _since: float = field(default=-np.inf)  # s, when the present change began in fact
    _from: float = 0.0  # N, largest force at that time
    most: float = field(init=False)

    def __post_init__(self) -> None:
        self.most = self.full if self.active else 0.0

    def update(self, t: float) -> None:
        """To be called once a step, with the time in s."""
        if self._done == len(self.changes) or t < self.changes[self._done].start:
            return
        change = self.changes[self._done]
        if change.take and not self.active:
            if self.felt() < FELT:
                return  # not there yet
            self.active = True
        if self._since < change.start:
            self._since = t
            self._from = min(self.most, self.felt())
        share = quintic((t - self._since) / change.lasts)[0]
        target = self.full if change.take else 0.0
        self.most = self._from + share * (target - self._from)
        if t >= self._since + change.lasts:
            self.active = change.take
            self._done += 1
