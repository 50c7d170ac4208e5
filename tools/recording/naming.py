"""What to call the numbers of a tick: after joints, axes of a base or of a frame, or tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torqued.tools.recording.records import SessionInfo

#: Of six numbers of a frame.
SIX = ("turn x", "turn y", "turn z", "x", "y", "z")
#: What a free base has before the joints: in v, and in q.
BASE = {
    6: tuple(f"base {axis}" for axis in SIX),
    7: tuple(f"base {name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")),
}


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
