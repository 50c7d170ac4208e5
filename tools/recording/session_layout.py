"""Sessions as a reader sees them: numpy types of their records, and names of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.server.observation.layout import TICK_HEAD

Records = NDArray[np.void]

#: Of six numbers of a frame.
SIX = ("turn x", "turn y", "turn z", "x", "y", "z")
#: What a free base has before the joints: in v, and in q.
BASE = {
    6: tuple(f"base {axis}" for axis in SIX),
    7: tuple(f"base {name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")),
}


@dataclass(frozen=True)
class Part:
    """One array of a record."""

    name: str  # as the law names it
    field: str  # of `SessionInfo.dtype`
    shape: tuple[int, ...]
    offset: int  # bytes from the record's first
    unit: str

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass
class SessionInfo:
    """A session in the directory."""

    number: int
    law: str
    client: str
    opened: float  # s since 1970
    closed: float | None  # the same; None: it is open
    state: list[Part]  # q, v
    references: list[Part]
    outputs: list[Part]
    gains: dict[str, Any]  # by name: those it was opened with, or was last tuned to
    dtype: np.dtype[Any]  # of a tick, head and all arrays by their names
    raw: Mapping[str, Any] = field(repr=False)  # all that the directory says of it

    @property
    def parts(self) -> list[Part]:
        return [*self.state, *self.references, *self.outputs]


def session_info(entry: Mapping[str, Any]) -> SessionInfo:
    """A session from its map in the directory."""
    taken = set(TICK_HEAD.names or ())
    parts = {
        kind: [_part(item, prefix, taken) for item in entry[kind]]
        for kind, prefix in (("state", "state"), ("references", "reference"), ("outputs", "output"))
    }
    return SessionInfo(
        number=entry["session"],
        law=entry["law"],
        client=entry["client"],
        opened=entry["opened"],
        closed=entry["closed"],
        gains=entry["gains"],
        dtype=tick_type([part for group in parts.values() for part in group], entry),
        raw=entry,
        **parts,
    )


def _part(item: Mapping[str, Any], prefix: str, taken: set[str]) -> Part:
    """A name that something before it has becomes `output.NAME`."""
    name = item["name"]
    unique = name if name not in taken else f"{prefix}.{name}"
    taken.add(unique)
    return Part(name, unique, tuple(item["shape"]), item["offset"], item["unit"])


def tick_type(parts: Iterable[Part], entry: Mapping[str, Any]) -> np.dtype[Any]:
    """A whole record of a tick."""
    head: Mapping[str, Any] = TICK_HEAD.fields or {}
    places: list[tuple[str, Any, int]] = [(name, *head[name][:2]) for name in head]
    places += [(part.field, (np.dtype("f8"), part.shape), part.offset) for part in parts]
    names, formats, offsets = zip(*places, strict=True)
    return np.dtype(
        {
            "names": list(names),
            "formats": list(formats),
            "offsets": list(offsets),
            "itemsize": entry["record_bytes"],
        }
    )


def joints_of(robot: Mapping[str, Any]) -> list[str]:
    """Of a robot in the directory, without the joint that a free base counts as."""
    return list(robot["joints"])[robot["base"] == "floating" :]


def titles(
    size: int, robot: Mapping[str, Any], joints: Sequence[str], tasks: Sequence[str] = ()
) -> list[str]:
    """For so many numbers: by task, by joint with a base before them or not, else by number."""
    if tasks and size == 2 * len(tasks):
        return [f"{task}{what}" for task in tasks for what in (" turn", "")]
    more = size - len(joints)
    if more == 0:
        return list(joints)
    if robot["base"] == "floating" and more in BASE:
        return [*BASE[more], *joints]
    return list(SIX) if size == len(SIX) else [str(k) for k in range(size)]


def without_common_prefix(names: Sequence[str]) -> list[str]:
    """`panda_joint1`, `panda_joint2` → `joint1`, `joint2`."""
    first, last = (min(names), max(names)) if len(names) > 1 else ("", "")
    alike = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return [name[first.rfind("_", 0, alike) + 1 :] for name in names]


def task_names(session: SessionInfo) -> list[str]:
    """Of a whole-body law: each has an error of two numbers."""
    # Imported here: publishing plain numbers does not need the kernels.
    from torqued.kernels.control.wholebody.parsing import unique_names

    tasks = session.raw.get("options", {}).get("tasks") or ()
    return unique_names("tasks", tasks, "kind") if tasks else []
