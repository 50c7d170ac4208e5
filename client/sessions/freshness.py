"""The age of an output when it is read, which a client must know before it moves a robot.

On one machine both sides read the same clock, and the age is exact. Over a network clocks differ
by an unknown offset; the output that came fastest so far counts as immediate.
"""

from __future__ import annotations

#: By how much the daemon's clock may be slower than ours.
DRIFT = 5e-4


class Freshness:
    """Ages of outputs by their times, s."""

    def __init__(self, same_clock: bool) -> None:
        self._offset: float | None = None
        self._same_clock = same_clock
        self._newest = 0.0

    def age(self, made: float, now: float) -> float:
        """Age at `now`, by our clock, of an output that was made at `made`, by the daemon's."""
        difference = now - made
        if self._same_clock:
            return max(0.0, difference)
        slower = DRIFT * max(0.0, made - self._newest)
        known = difference if self._offset is None else self._offset + slower
        self._offset = min(known, difference)
        self._newest = max(self._newest, made)
        return max(0.0, difference - self._offset)
