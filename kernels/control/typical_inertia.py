"""How heavy a robot feels, for default gains.

A joint's inertia depends on where the others are, by a factor of ten and more, and an arm that is
stretched out at q = 0 is not typical. Joints that act together answer faster than each by itself:
the smallest eigenvalues of M are far below its diagonal. Default gains go by both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from torqued.kernels.control.law import Array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Configurations within limits that are looked at; always the same ones.
SAMPLES = 24
#: 1/s, of the fastest motion that damping by default makes: a loop of 1 kHz with one or two
#: milliseconds of delay on its way has a wide margin then.
FASTEST = 250.0


@dataclass(frozen=True)
class TypicalInertia:
    """Of one robot."""

    diagonal: Array  # (nv,) mean of M's diagonal
    #: How much faster than single joints the fastest combination of joints answers to gains in
    #: proportion to `diagonal`; the median over configurations.
    spread: float

    def rate(self, wanted: float) -> float:
        """1/s, the wanted rate of damping D = rate · diagonal, or less where that is too fast."""
        return min(wanted, FASTEST / self.spread)


_KNOWN: WeakKeyDictionary[Robot, TypicalInertia] = WeakKeyDictionary()


def typical_inertia(robot: Robot) -> TypicalInertia:
    """Computed once for each robot."""
    if robot not in _KNOWN:
        matrices = [robot.mass_matrix(q) for q in configurations(robot)]
        diagonal = np.mean([np.diag(M) for M in matrices], axis=0)
        scale = 1.0 / np.sqrt(diagonal)
        spreads = [1.0 / np.linalg.eigvalsh(scale[:, None] * M * scale)[0] for M in matrices]
        _KNOWN[robot] = TypicalInertia(diagonal, float(np.median(spreads)))
    return _KNOWN[robot]


def configurations(robot: Robot) -> list[Array]:
    rng = np.random.default_rng(0)
    return [robot.random_state(rng)[0] for _ in range(SAMPLES)]
