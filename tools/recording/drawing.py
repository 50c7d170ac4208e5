"""Pictures of a recorded session: what was asked for, over time, and its status bits below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from torqued.common.status import STATUS
from torqued.tools.recording.recording import RecordedSession, Recording, RecordingError
from torqued.tools.recording.session_layout import joints_of, task_names, titles
from torqued.tools.recording.status_colors import status_color

#: Times of a tick, ns → µs.
TIMES = ("lateness", "compute", "age")
#: Status bits by name.
BITS = {name: bit for bit, name in STATUS.items()}
#: Maximum of curves of one array that have a name in the picture.
MAX_NAMED = 12


def draw(
    session: RecordedSession, recording: Recording, wanted: Sequence[str], path: Path, strict: bool
) -> None:
    """One picture, a row for each quantity. `strict`: what is not there is an error."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [(name, *row) for name in wanted if (row := quantity(session, recording, name, strict))]
    if not rows:
        raise RecordingError(f"session {session.info.number}: nothing to draw")
    if "status" not in wanted:
        rows.append(("status", *status_rows(session)))
    figure, axes = plt.subplots(
        len(rows), 1, figsize=(10, 2.2 * len(rows) + 0.6), sharex=True, squeeze=False
    )
    for (name, values, unit, names), axis in zip(rows, axes[:, 0], strict=True):
        if name == "status":
            for k, label in enumerate(names):
                times = session.time[values[:, k] > 0]
                color = status_color(BITS.get(label, 0))
                axis.plot(times, np.full(len(times), k), "|", markersize=8, color=color)
                axis.text(1.01, k, label, transform=axis.get_yaxis_transform(), va="center")
            axis.set_yticks([])
        else:
            lines = axis.plot(session.time, values, linewidth=0.8)
            if 1 < len(names) <= MAX_NAMED:
                axis.legend(
                    lines, names, fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5)
                )
        axis.set_ylabel(f"{name}\n{unit}" if unit else name)
        axis.grid(alpha=0.3)
    info = session.info
    axes[0, 0].set_title(f"{recording.robot['name']}: {info.law}, session {info.number}")
    axes[-1, 0].set_xlabel("time, s")
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)


def quantity(
    session: RecordedSession, recording: Recording, name: str, strict: bool
) -> tuple[Any, str, list[str]] | None:
    """Values (ticks, curves), their unit and the curves' names; None if there are none."""
    ticks = session.ticks
    units = {part.field: part.unit for part in session.info.parts}
    if name in TIMES:
        times = ticks["time"] - ticks["deadline"] if name == "lateness" else ticks[name]
        return 1e-3 * times[:, None], "µs", [name]
    if name == "status":
        return status_rows(session)
    if name in units:
        values, unit = ticks[name].reshape(len(ticks), -1), units[name]
    elif name == "error" and "q_ref" in units and ticks["q"].shape == ticks["v"].shape:
        values, unit = ticks["q"] - ticks["q_ref"], units["q"]
    elif strict:
        listed = ", ".join([*units, *TIMES, "status"])
        raise RecordingError(
            f"session {session.info.number} has no {name!r} (choose from {listed})"
        )
    else:
        return None
    tasks = task_names(session.info) if name == "error" else ()
    joints = joints_of(recording.robot)
    return values, unit, titles(values.shape[1], recording.robot, joints, tasks)


def status_rows(session: RecordedSession) -> tuple[Any, str, list[str]]:
    """A row for each status bit that was ever set."""
    status = session.ticks["status"]
    bits = [bit for bit in STATUS if (status & bit).any()]
    if not bits:
        return np.zeros((len(status), 1)), "", ["good all the time"]
    return np.array([status & bit for bit in bits]).T, "", [STATUS[bit] for bit in bits]
