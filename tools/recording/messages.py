"""What a recording's messages are: ticks, gains, loads, the loop, and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.tools.recording.protobuf import Field, MessageType
from torqued.tools.recording.session_layout import Records, SessionInfo

#: Of the recording: channels, messages and metadata. In version 1 ticks lack the last two numbers.
VERSION = 2
VERSIONS = (1, VERSION)

_TIMES = (
    Field("time", "sfixed64", comment="ns, when the tick began, CLOCK_MONOTONIC"),
    Field("lateness", "sfixed64", comment="ns after its deadline"),
)
_TICK = (
    Field("index", "sfixed64", comment="ticks of the session before this one"),
    Field("tick", "sfixed64", comment="of the loop"),
    Field("sequence", "sfixed64", comment="of the state that was used, -1 before the first"),
    Field("seen", "sfixed64", comment="of the newest state that came"),
    Field("status", "sfixed64", comment="bits, docs/PROTOCOL.md"),
    *_TIMES,
    Field("age", "sfixed64", comment="ns, of the state that was used"),
    Field("compute", "sfixed64", comment="ns that computing took"),
    Field("stamp", comment="s, of the state, as its sender wrote it"),
    Field("at", comment="s, the same in the time of the robot"),
    Field("elapsed", comment="s from the state before to this one; 0 where none came"),
    Field("allowed", "sfixed64", comment="iterations that a solver was allowed; 0: all"),
    Field(
        "mode",
        "sfixed64",
        comment="bits: 1 fallback, 2 ordered, 4 moving, 8 the law has been used, 16 on arrival, "
        "32 repeated",
    ),
    Field("period", "sfixed64", comment="ns, the step of time that the law went by"),
    Field("walls", "sfixed64", comment="bits of joints in v whose walls changed the torque"),
    Field("reason", "sfixed64", comment="bits, why the torque is not the law's"),
)
#: As they are in the ring.
COPIED = tuple(field.name for field in _TICK if field.name != "lateness")

LOOP_MESSAGE = MessageType(
    "torqued.Loop",
    (
        Field("tick", "sfixed64"),
        *_TIMES,
        Field("compute", "sfixed64", comment="ns, of all sessions"),
        Field("missed", "sfixed64", comment="deadlines so far"),
        Field("served", "sfixed64", comment="sessions"),
    ),
)
LOOP_COPIED = tuple(field.name for field in LOOP_MESSAGE.fields if field.name != "lateness")
LOST_MESSAGE = MessageType(
    "torqued.Lost",
    (
        Field("session", "sfixed64", comment="0: records of any kind"),
        Field("lost", "sfixed64", comment="ticks that the recorder was too slow for, since before"),
    ),
)


def tick_message(info: SessionInfo, version: int = VERSION) -> MessageType:
    """The message of a session's ticks. References and outputs are fields with their names."""
    head = _TICK if version > 1 else _TICK[:-2]
    parts = [
        Field(part.field, shape=part.shape or None, comment=f"{part.unit} {list(part.shape)}")
        for part in info.parts
    ]
    return MessageType(f"torqued.{info.law.capitalize()}_{info.number}", (*head, *parts))


def values_message(kind: str, number: int, count: int) -> MessageType:
    """Of gains (`Gains`) or of what bodies carry (`Load`)."""
    about = Field("index", "sfixed64", comment="of the tick that they hold from")
    return MessageType(f"torqued.{kind}_{number}", (about, Field("values", shape=(count,))))


def tick_columns(ticks: Records, message: MessageType) -> dict[str, Any]:
    """Ticks of the ring as columns of messages."""
    columns = {field.name: ticks[field.name] for field in message.fields if field.name in COPIED}
    for field in message.fields[len(_TICK) :]:
        columns[field.name] = ticks[field.name]
    return columns | {"lateness": ticks["time"] - ticks["deadline"]}


def ring_ticks(found: Any, count: int, info: SessionInfo) -> Records:
    """Messages as ticks of the ring."""
    ticks = np.zeros(count, info.dtype)
    for name in (*COPIED, *(part.field for part in info.parts if part.size)):
        if name in found.dtype.names:
            ticks[name] = found[name]
    ticks["deadline"] = found["time"] - found["lateness"]
    ticks["session"] = info.number
    return ticks
