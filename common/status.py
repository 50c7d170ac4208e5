"""Status bits of a torque, wherever it is computed and however it travels."""

from __future__ import annotations

OK = 0
STALE = 1  # the newest state is too old, or none has come yet
CLAMPED = 2  # a torque was cut to its limit, or to the limit of its rate
FALLBACK = 4  # the torque is not the law's but the fallback's
SOLVER = 8  # a solver did not succeed
NONFINITE = 16  # a state or result had NaN or infinity in it
INVALID = 32  # a state was refused: its form, quaternion, sequence number or stamp
OVERRUN = 64  # the session used more time than it was given, and was not computed in this tick
LAST = 128  # the session has ended: no frame follows
WALL = 256  # a wall changed the torque: a joint or a frame is at its limit
LIMITED_REFERENCE = 512  # the reference in effect is not the one that was given, on its way to it
OSCILLATING = 1024  # a torque swings to and fro: gains too high for the delay, or backlash
STOPPED = 2048  # a stop holds all sessions in their fallback until `recover`
STATUS = {
    STALE: "STALE",
    CLAMPED: "CLAMPED",
    FALLBACK: "FALLBACK",
    SOLVER: "SOLVER",
    NONFINITE: "NONFINITE",
    INVALID: "INVALID",
    OVERRUN: "OVERRUN",
    LAST: "LAST",
    WALL: "WALL",
    LIMITED_REFERENCE: "LIMITED_REFERENCE",
    OSCILLATING: "OSCILLATING",
    STOPPED: "STOPPED",
}


def status_names(bits: int) -> list[str]:
    """Names of the bits that are set."""
    return [name for bit, name in STATUS.items() if bits & bit]
