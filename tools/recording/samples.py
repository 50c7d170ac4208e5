"""Samples for identification: motions and torques of a recorded session, between its states.

A torque is held from one state to the next, so that it belongs to what happens between both:
a = (v₁ − v₀) / Δt, with q and v in the middle. That is exact to second order in Δt, and needs no
filter that would delay one side of the equation of motion and not the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from torqued.common.status import LAST
from torqued.kernels import Robot
from torqued.tools.recording.recording import RecordedSession, RecordingError

Array = NDArray[np.float64]

#: Maximum seconds between two states of a sample; more is a gap.
MAX_STEP = 0.05
MIN_SAMPLES = 100


@dataclass(frozen=True)
class Samples:
    """N intervals between states."""

    time: Array  # (N,) s, in the robot's time
    q: Array  # (N, nq)
    v: Array  # (N, nv)
    a: Array  # (N, nv)
    tau: Array  # (N, nv), sent

    def at_the_beginning(self, robot: Robot) -> Samples:
        """With the states at the beginning of intervals in place of those in the middle."""
        back = -0.5 * float(np.median(np.diff(self.time)))
        q = [robot.integrate(q, v, back) for q, v in zip(self.q, self.v, strict=True)]
        return replace(self, q=np.array(q), v=self.v + back * self.a)


def samples_of(session: RecordedSession, robot: Robot) -> Samples:
    """All intervals between consecutive states."""
    ticks = session.ticks
    names = ticks.dtype.names or ()
    if "tau" not in names or "q_command" in names:  # those of a virtual robot say nothing
        raise RecordingError(
            f"session {session.info.number}: law {session.info.law!r} has no torques"
        )
    ticks = ticks[(ticks["sequence"] >= 0) & (ticks["status"] & LAST == 0)]
    first = np.flatnonzero(np.diff(ticks["sequence"], prepend=-1))  # of each state
    if len(first) < MIN_SAMPLES + 1:
        raise RecordingError(
            f"session {session.info.number}: {len(first)} states, expected at least {MIN_SAMPLES}"
        )
    # Several ticks may have used one state: their mean torque acted.
    torque = np.add.reduceat(ticks["tau"], first) / np.diff(first, append=len(ticks))[:, None]
    q, v, at = ticks["q"][first], ticks["v"][first], ticks["at"][first]
    step = np.diff(at)
    good = (step > 0.0) & (step < MAX_STEP) & (np.diff(ticks["index"][first]) < 50)
    step = step[good]
    v0, v1 = v[:-1][good], v[1:][good]
    middle = 0.5 * (v0 + v1)
    halfway = [
        robot.integrate(position, velocity, 0.5 * dt)
        for position, velocity, dt in zip(q[:-1][good], middle, step, strict=True)
    ]
    if len(step) < MIN_SAMPLES:
        raise RecordingError(
            f"session {session.info.number}: {len(step)} intervals without a gap, expected at "
            f"least {MIN_SAMPLES}"
        )
    return Samples(
        at[:-1][good] + 0.5 * step,
        np.array(halfway),
        middle,
        (v1 - v0) / step[:, None],
        torque[:-1][good],
    )
