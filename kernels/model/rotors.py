"""Rotor inertia: what drives add to the inertia of their joints.

A rotor of inertia J_m behind a gear of ratio n turns n times as fast as its joint, which feels
n² J_m (`armature`, kg m²; kg for sliding joints). At the last joints of an arm that is more than
all links together. Files of links have none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torqued.common.errors import InputError, ModelError
from torqued.kernels.input_checks import shown, similar
from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.description import Description
from torqued.kernels.model.rigid_body import about_axis

#: kg m² at a joint per N m of its effort: geared drives of arms have 0.001 to 0.03 (FR3 0.002 and
#: 0.006, SO101 0.01, Rizon 4 0.003 to 0.026), direct and nearly direct ones down to 0.0001 (G1).
TYPICAL = 0.005
#: rad/s² by which effort may accelerate a joint's links at q = 0 without doubt: five times what it
#: does to a typical rotor. Every arm of a file without rotors has a joint beyond this.
DOUBTFUL = 5.0 / TYPICAL
#: What to do about rotors that a model lacks, as messages say it.
REMEDY = "fill [robot.armature] of the configuration, or estimate it with `torqued identify`"

#: Members of a rotor that is given on its own side of the gear: kg m², turns per turn.
MOTOR = ("motor_inertia", "gear_ratio")


def with_armature(description: Description, armature: Any) -> Description:
    """The description with rotor inertias put in by joint name: as the joint feels them, or as
    {"motor_inertia": kg m², "gear_ratio": …}."""
    if not isinstance(armature, Mapping):
        wanted = "a map from joints to rotor inertias"
        raise InputError(f"armature: {shown(armature)}, expected {wanted}", "armature")
    names = [joint.name for joint in description.joints]
    problems = [
        f"joint {name!r} is unknown{similar(str(name), names)}"
        for name in armature
        if name not in names
    ]
    values: dict[str, float] = {}
    for name, given in armature.items():
        try:
            values[name] = reflected(given)
        except ValueError as error:
            problems.append(f"joint {name!r}: {error}")
    if problems:
        raise ModelError(f"armature for {description.source}", problems)
    joints = tuple(
        replace(joint, armature=values.get(joint.name, joint.armature))
        for joint in description.joints
    )
    return replace(description, joints=joints)


def reflected(given: Any) -> float:
    """kg m² that a joint feels; ValueError in words for what is not a rotor."""
    if not isinstance(given, Mapping):
        if not is_number(given):
            raise ValueError(f"{shown(given)} is not a finite number")
        return float(given)
    if set(given) != set(MOTOR):
        raise ValueError(f"has {', '.join(map(str, given))}, expected {' and '.join(MOTOR)}")
    for key in MOTOR:
        if not is_number(given[key]):
            raise ValueError(f"{key} {shown(given[key])} is not a finite number")
    if given["gear_ratio"] == 0.0:
        raise ValueError("gear_ratio is 0, expected turns of the motor per turn of the joint")
    inertia, ratio = float(given["motor_inertia"]), float(given["gear_ratio"])
    if not math.isfinite(inertia * ratio * ratio):
        raise ValueError(f"{inertia} kg m² behind a gear of {ratio} is not a finite number")
    return inertia * ratio * ratio


def rotor_notes(description: Description) -> tuple[str, ...]:
    """One sentence where motors would move links as if they had no rotors; needs a sound tree."""
    bodies = Bodies(description)
    found = {}
    for joint in description.joints:
        effort = joint.limits.effort
        if joint.type not in ("revolute", "continuous") or joint.mimic or joint.armature > 0.0:
            continue
        inertia = about_axis(bodies.composite[joint.child], joint.axis)
        if math.isfinite(effort) and effort > DOUBTFUL * inertia > 0.0:
            found[joint.name] = (effort / inertia, effort, inertia)
    if not found:
        return ()
    name = max(found, key=found.__getitem__)
    _, effort, inertia = found[name]
    more = f" (so it is with {len(found) - 1} more)" if len(found) > 1 else ""
    return (
        f"joint {name!r}: has no rotor inertia, and {effort:g} N m of effort for links of "
        f"{inertia:.2g} kg m²{more}; drives add more than that: {REMEDY}",
    )


def is_number(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False
