"""Status bits of a torque, wherever it is computed and however it travels: one table.

Names, the C++ client (client/cpp/torqued/tables.hpp), `Output.usable`, alarms of viewers, logged
events and replay go by it; docs/PROTOCOL.md has the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class StatusBit(NamedTuple):
    """One row.

    usable    the torque is still the law's, of a fresh state
    alarm     viewers show it in red
    of_law    the law and its limits set it: a replay finds it again
    event     what the log calls its beginning, where no counter of the session tells it
    ordinary  it comes and goes in ordinary work: viewers do not list it
    """

    bit: int
    name: str
    meaning: str
    usable: bool = False
    alarm: bool = False
    of_law: bool = False
    event: str = ""
    ordinary: bool = False


OK = 0
TABLE = (
    StatusBit(
        STALE := 1,
        "STALE",
        "the newest state is older than `stale_after`, or none has come yet",
        alarm=True,
    ),
    StatusBit(
        CLAMPED := 2,
        "CLAMPED",
        "a torque was cut to its limit, or to the limit of its rate",
        usable=True,
        of_law=True,
    ),
    StatusBit(
        FALLBACK := 4,
        "FALLBACK",
        "the torque is not the law's: the last one held, or the fallback's",
        alarm=True,
    ),
    StatusBit(SOLVER := 8, "SOLVER", "a solver did not succeed", of_law=True, event="solver"),
    StatusBit(
        NONFINITE := 16,
        "NONFINITE",
        "the newest state, or the result, had NaN or infinity in it",
        alarm=True,
        of_law=True,
        event="nonfinite",
    ),
    StatusBit(
        INVALID := 32,
        "INVALID",
        "a state was refused: its form, its quaternion, its sequence number or its stamp",
    ),
    StatusBit(
        OVERRUN := 64,
        "OVERRUN",
        "the session had used up its time and was not computed in this tick",
    ),
    StatusBit(LAST := 128, "LAST", "the session has ended: no frame follows"),
    StatusBit(
        WALL := 256,
        "WALL",
        "a wall changed the torque: a joint or a frame is at its limit",
        usable=True,
        of_law=True,
    ),
    StatusBit(
        LIMITED_REFERENCE := 512,
        "LIMITED_REFERENCE",
        "the reference in effect is on its way to the one that was given: that was too far, too "
        "fast, or beyond a limit",
        usable=True,
        ordinary=True,
    ),
    StatusBit(
        OSCILLATING := 1024,
        "OSCILLATING",
        "a torque swings to and fro by more than 3 % of its limit: gains too high for the delay, "
        "or backlash",
        usable=True,
        alarm=True,
        of_law=True,
        event="oscillating",
    ),
    StatusBit(
        STOPPED := 2048,
        "STOPPED",
        "a `stop` holds all sessions in their fallbacks until `recover`",
        alarm=True,
        event="stopped",
    ),
    StatusBit(
        FROZEN := 4096,
        "FROZEN",
        "an encoder has stopped: q moves otherwise than v says, or neither changes while the "
        "torque does",
        alarm=True,
        event="frozen",
    ),
    StatusBit(
        LAGGING := 8192,
        "LAGGING",
        "the robot is not where the positions commanded to it (`admittance`) lead",
        alarm=True,
        event="lagging",
    ),
)

STATUS = {row.bit: row.name for row in TABLE}

#: Bits with which a torque is not the law's, of a fresh state.
UNUSABLE = sum(row.bit for row in TABLE if not row.usable)
#: Those for which a session enters its fallback: the `reason` of its outputs.
CAUSES = UNUSABLE & ~(FALLBACK | LAST)


#: Place of the bit for planes among the bits of walls; those below are joints', by place in v.
PLANE_BIT = 62


def status_names(bits: int) -> list[str]:
    """Names of the bits that are set."""
    return [name for bit, name in STATUS.items() if bits & bit]


def wall_names(bits: int, joints: Mapping[int, str], walls: Any) -> list[str]:
    """What WALL is about: joints, by their names at places in v; frames of a session's `walls`."""
    found = [name for k, name in joints.items() if k < PLANE_BIT and bits >> k & 1]
    if bits >> PLANE_BIT & 1:
        found += dict.fromkeys(item["frame"] for item in walls["frames"])
    return found
