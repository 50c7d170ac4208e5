"""A robot as text of any kind that can be written, and what that kind does not carry."""

from __future__ import annotations

import math
from collections.abc import Callable

from torqued.kernels.formats.mjcf_writer import mjcf_and_notes
from torqued.kernels.formats.screws_writer import to_screws
from torqued.kernels.formats.toml_writer import to_toml
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.description import COMPOUND, Description

#: Kind → its writer of a text and notes.
WRITERS: dict[str, Callable[[Description], tuple[str, list[str]]]] = {
    "urdf": lambda description: (to_urdf(description), []),
    "mjcf": mjcf_and_notes,
    "toml": lambda description: (to_toml(description), []),
    "screws": lambda description: (to_screws(description), []),
}


def write(description: Description, kind: str) -> tuple[str, list[str]]:
    """The text, and a sentence about each thing that it does not carry."""
    text, notes = WRITERS[kind](description)
    return text, [*_lost(description, kind), *notes]


def _lost(description: Description, kind: str) -> list[str]:
    if kind == "toml":
        return []
    joints = description.joints
    lost: dict[str, list[str]] = {"sets of constraints": list(description.constraints)}
    if kind != "urdf":
        compound = [joint.name for joint in joints if joint.type in COMPOUND]
        lost["joints of several motions, but one for each"] = compound
    if kind == "mjcf":
        followers = [j.name for j in joints if j.mimic and j.limits.effort < math.inf]
        lost["names of fixed joints"] = [joint.name for joint in joints if joint.type == "fixed"]
        lost["speed limits"] = [joint.name for joint in joints if joint.limits.velocity < math.inf]
        lost["effort limits of followers"] = followers
    else:
        lost["floating base"] = [description.name] if description.base == "floating" else []
        lost["gravity"] = [f"{description.gravity} m/s²"] if description.gravity else []
        lost["postures"] = list(description.postures)
    return [
        f"{kind} has no {what}: {', '.join(names[:6])}"
        + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        for what, names in lost.items()
        if names
    ]
