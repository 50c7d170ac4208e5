"""What tasks move, as references that belong together; references/motions.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torqued.kernels.control.references.motions import COM, FRAME_MOTION, JOINTS, Motion
from torqued.kernels.control.wholebody.tasks import KINDS


def task_motions(names: Sequence[str], records: Any) -> tuple[Motion, ...]:
    """Of tasks by name; a momentum cannot be held."""
    words = {number: word for word, number in KINDS.items()}
    motions = []
    for name, record in zip(names, records, strict=True):
        kind = words[int(record["kind"])]
        if kind == "momentum":
            continue
        position = f"{name}.position" if kind != "orientation" else None
        orientation = f"{name}.orientation" if kind in ("orientation", "frame") else None
        moves = {"posture": JOINTS, "com": COM}.get(kind, FRAME_MOTION)
        frame = record["frame"] if moves == FRAME_MOTION else None
        rates = f"{name}.velocity", f"{name}.acceleration"
        other = record["other"] if record["relative"] else None
        motions.append(Motion(moves, position, orientation, *rates, frame, other=other))
    return tuple(motions)
