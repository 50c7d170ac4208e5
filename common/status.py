"""Status bits of a torque, wherever it is computed and however it travels."""

from __future__ import annotations

OK = 0
STALE = 1  # no new state for some ticks
CLAMPED = 2  # a torque was cut to its limit, or to the limit of its rate
FALLBACK = 4  # the torque is not the law's but the fallback's
SOLVER = 8  # a solver did not succeed
NONFINITE = 16  # a state or result had NaN or infinity in it
STATUS = {1: "STALE", 2: "CLAMPED", 4: "FALLBACK", 8: "SOLVER", 16: "NONFINITE"}


def status_names(bits: int) -> list[str]:
    """Names of the bits that are set."""
    return [name for bit, name in STATUS.items() if bits & bit]
