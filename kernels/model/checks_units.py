"""Numbers that look like another unit: millimetres, degrees, kg mm², grams, mm/s².

A file in other units loads and computes as well as any, with torques that are off by thousands.
All limits here are far from those of any robot of example-robot-data.
"""

from __future__ import annotations

import math

import numpy as np

from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.description import Array, Description
from torqued.kernels.model.diagnostics import Findings

#: m: neither links nor radii of gyration reach this.
MAX_LENGTH = 10.0
#: rad: joints of a few turns end below the first. What is above the second means "no limit".
MAX_ANGLE, MAX_DEGREES = 20.0, 720.0
#: m/s²: four times that of Jupiter.
MAX_GRAVITY = 100.0
#: m/s²: weight of a kilogram.
WEIGHT = 9.81
#: Times its effort limit that a joint's own link may weigh, stretched out.
MAX_LOAD_RATIO = 100.0


def check_units(description: Description, bodies: Bodies, findings: Findings) -> None:
    """Warn of lengths, inertias, angles and masses in wrong units; needs a tree without faults."""
    root, known = next(iter(bodies.body)), len(findings.warnings)
    for joint in description.joints:
        length = math.hypot(*joint.placement.position)
        if length > MAX_LENGTH and joint.parent != root:  # a robot may stand anywhere in its world
            where = f"link {joint.parent!r}"
            findings.warn(where, f"is {length:g} m long up to joint {joint.name!r}: millimetres?")
    for link in description.links:
        where, inertia = f"link {link.name!r}", link.inertia
        far, moment = math.hypot(*inertia.com), float(np.abs(inertia.rotational).max())
        if far > MAX_LENGTH:
            findings.warn(where, f"center of mass is {far:g} m from its origin: millimetres?")
        if moment > inertia.mass * MAX_LENGTH**2 > 0.0:
            sentence = f"inertia {moment:g} kg m² is that of {inertia.mass:g} kg at a distance of"
            findings.warn(where, f"{sentence} {math.sqrt(moment / inertia.mass):.3g} m: kg mm²?")
    if len(findings.warnings) == known:  # else arms are too long, not masses too large
        _check_weights(description, findings)
    for joint in description.joints:
        limits = [joint.limits.lower, joint.limits.upper]
        if joint.type == "revolute" and MAX_ANGLE < max(map(abs, limits)) <= MAX_DEGREES:
            values = " to ".join(f"{limit:g}" for limit in limits)
            findings.warn(f"joint {joint.name!r}", f"limits are {values} rad: degrees?")


def _check_weights(description: Description, findings: Findings) -> None:
    """Of masses in a wrong unit every joint has too much to carry: one is named.

    Each joint is compared with its own link: long chains of weak motors are right as they are.
    """
    reach = {link.name: math.hypot(*link.inertia.com) for link in description.links}  # m
    for joint in description.joints:
        far = math.hypot(*joint.placement.position)
        reach[joint.parent] = max(reach.get(joint.parent, 0.0), far)
    mass = {link.name: link.inertia.mass for link in description.links}
    worst, ratio = "", MAX_LOAD_RATIO
    for joint in description.joints:
        slides, effort = joint.type == "prismatic", joint.limits.effort
        weight = WEIGHT * mass[joint.child] * (1.0 if slides else reach[joint.child])
        if joint.type not in ("fixed", "floating") and weight > ratio * effort > 0.0:
            unit, ratio = "N" if slides else "N m", weight / effort
            worst = (
                f"joint {joint.name!r}: carries {mass[joint.child]:g} kg, which need up to "
                f"{weight:.3g} {unit}, with an effort limit of {effort:g} {unit}: grams?"
            )
    if worst:
        findings.warnings.append(worst)


def gravity_notes(gravity: Array) -> tuple[str, ...]:
    """What is wrong with the unit of an acceleration of free fall, if anything."""
    size = math.hypot(*gravity)
    return (f"gravity: is {size:g} m/s²: mm/s²?",) if size > MAX_GRAVITY else ()
