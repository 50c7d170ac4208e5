"""Joints of two to six degrees of freedom that are a chain of simple ones: universal, cylindrical,
or any turns and slides in a row.

They are taken apart before anything else looks at them: `hip` of k motions becomes the joints
`hip_1` … `hip_k` with massless links `hip_link_1` … between them. Each has the limits, losses and
rotor inertia that the joint has.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.model.description import (
    COMPOUND,
    MOTIONS,
    Array,
    Description,
    Joint,
    Link,
    Pose,
)

#: How many motions a joint may have.
MIN_MOTIONS, MAX_MOTIONS = 2, 6


def taken_apart(description: Description) -> Description:
    """The description with simple joints only; as it was where it has no others."""
    if not any(joint.type in COMPOUND for joint in description.joints):
        return description
    links, joints, faults = list(description.links), [], []
    for joint in description.joints:
        if joint.type not in COMPOUND:
            joints.append(joint)
            continue
        chain, between, problem = parts(joint)
        joints += chain
        links += between
        faults += [f"joint {joint.name!r}: {problem}"] if problem else []
    if faults:
        raise ModelError(description.source, faults)
    return replace(description, links=tuple(links), joints=tuple(joints))


def parts(joint: Joint) -> tuple[list[Joint], list[Link], str]:
    """The simple joints of one, the links between them, and what is wrong."""
    motions, problem = motions_of(joint)
    if problem:
        return [], [], problem
    between = [Link(f"{joint.name}_link_{k}") for k in range(1, len(motions))]
    ends = [joint.parent, *(link.name for link in between), joint.child]
    chain = []
    for k, (kind, axis) in enumerate(motions):
        length = float(np.linalg.norm(axis))
        chain.append(
            replace(
                joint,
                name=f"{joint.name}_{k + 1}",
                type=kind,
                parent=ends[k],
                child=ends[k + 1],
                placement=joint.placement if k == 0 else Pose(),
                axis=axis / length if length > 0.0 else axis,
                motions=(),
                mimic=None,
            )
        )
    return chain, between, ""


def motions_of(joint: Joint) -> tuple[list[tuple[str, Array]], str]:
    """Kinds and axes of a joint's motions, in their order, and what is wrong."""
    if joint.mimic is not None:
        return [], f"{joint.type} joints cannot mimic"
    if joint.type == "cylindrical":
        return [("prismatic", joint.axis), ("revolute", joint.axis)], ""
    motions = [(kind, np.asarray(axis, np.float64)) for kind, axis in joint.motions]
    if joint.type == "universal":
        if len(motions) != 1 or motions[0][0] != "revolute":
            return [], "universal without a second axis, expected one motion: a turn about it"
        motions = [("revolute", joint.axis), *motions]
        if abs(float(motions[0][1] @ motions[1][1])) > 1e-6:
            return [], "universal with axes that are not at right angles"
    if not MIN_MOTIONS <= len(motions) <= MAX_MOTIONS:
        return (
            [],
            f"{joint.type} with {len(motions)} motions, allowed: {MIN_MOTIONS} to {MAX_MOTIONS}",
        )
    for kind, _ in motions:
        if kind not in MOTIONS:
            return [], f"motion {kind!r} is unknown, allowed: {', '.join(MOTIONS)}"
    return motions, ""
