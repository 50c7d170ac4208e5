"""Effort limits without effect: far beyond what any joint of the robot could need.

Files that were made by a CAD program or for a simulator often have 1000 N m for every joint of a
robot of two kilograms. Limits like these protect nothing, and what goes by them (thresholds of
contact) is far off.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torqued.kernels.model.description import Description, Inertia, Joint
from torqued.kernels.model.diagnostics import Findings

#: m/s² and rad/s²: what a joint has to hold and to accelerate with.
WEIGHT, ACCELERATION = 9.81, 20.0
#: Times what the joint of the robot that needs most would need, at its very most.
ABSURD = 20.0
#: m: joints that slide have no arm, and carry the weight itself.
MIN_ARM = 0.1
#: N m or N: motors up to this size exist for robots of any size.
PLAUSIBLE = 200.0


def check_efforts(description: Description, findings: Findings) -> None:
    """Warn of limits that make no sense; needs a tree without faults."""
    large = [
        joint
        for joint in description.joints
        if moves(joint) and joint.mimic is None and PLAUSIBLE < joint.limits.effort < np.inf
    ]
    if not large:
        return
    most = max(most_needed(description))
    for joint in large:
        if joint.limits.effort > ABSURD * most:
            findings.warn(
                f"joint {joint.name!r}",
                f"effort limit {joint.limits.effort:g} is more than {ABSURD:g} times what any "
                f"joint of this robot could need ({most:.3g}): it has no effect",
            )


def moves(joint: Joint) -> bool:
    return joint.type not in ("fixed", "floating")


def most_needed(description: Description) -> list[float]:
    """N m or N that joints need at most: all that they carry at its full length, accelerated."""
    inertias = {link.name: link.inertia for link in description.links}
    below: dict[str, list[Joint]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    return [
        sum(needed_by(inertias[name], distance) for name, distance in carried(joint, below))
        for joint in description.joints
        if moves(joint)
    ]


def carried(joint: Joint, below: dict[str, list[Joint]]) -> Iterator[tuple[str, float]]:
    """The links that a joint moves, and how far away they are at most, m."""
    left = [(joint.child, 0.0)]
    while left:
        name, distance = left.pop()
        yield name, distance
        for other in below.get(name, ()):
            offset = float(np.linalg.norm(other.placement.position))
            left.append((other.child, distance + offset))


def needed_by(inertia: Inertia, distance: float) -> float:
    arm = distance + float(np.linalg.norm(inertia.com))
    own = float(np.abs(inertia.rotational).max(initial=0.0))
    weight, rotation = WEIGHT * max(arm, MIN_ARM), ACCELERATION * arm**2
    return inertia.mass * (weight + rotation) + ACCELERATION * own
