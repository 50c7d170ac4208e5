"""A robot as text of any kind that can be written, and what that kind does not carry."""

from __future__ import annotations

import math
from collections.abc import Callable

from torqued.kernels.formats.mjcf_writer import mjcf_and_notes
from torqued.kernels.formats.screws_writer import to_screws
from torqued.kernels.formats.toml_writer import to_toml
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.description import Description

#: Kind → its writer of a text and notes.
WRITERS: dict[str, Callable[[Description], tuple[str, list[str]]]] = {
    "urdf": lambda description: (to_urdf(description), []),
    "mjcf": mjcf_and_notes,
    "toml": lambda description: (to_toml(description), []),
    "screws": lambda description: (to_screws(description), []),
}

URDF_TYPES = {"fixed", "revolute", "continuous", "prismatic", "floating", "planar"}


def write(description: Description, kind: str) -> tuple[str, list[str]]:
    """The text, and a sentence about each thing that it does not carry."""
    text, notes = WRITERS[kind](description)
    return text, [*_lost(description, kind), *notes]


def _lost(description: Description, kind: str) -> list[str]:
    lost = {"sets of constraints": list(description.constraints)}
    if kind == "mjcf":
        fast = [joint.name for joint in description.joints if joint.limits.velocity < math.inf]
        lost["speed limits"] = fast
        inside = [joint.name for joint in description.joints if joint.type == "floating"]
        lost["free joints inside a tree, but three slides and a ball"] = inside
    else:
        lost["floating base"] = [description.name] if description.base == "floating" else []
        usual = description.gravity in (None, (0.0, 0.0, -9.81))
        lost["gravity"] = [] if usual else [f"{description.gravity} m/s²"]
        lost["postures"] = list(description.postures)
    if kind == "urdf":
        own = [joint.name for joint in description.joints if joint.type not in URDF_TYPES]
        lost["types for these joints, which torqued alone reads"] = own
    return [
        f"{kind} has no {what}: {', '.join(names[:6])}"
        + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        for what, names in lost.items()
        if names and kind != "toml"
    ]
