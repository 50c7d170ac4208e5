"""Joints held at a position: fixed there, with their frames and their links' inertia.

    lock(description, {"panda_finger_joint1": 0.02})    # m for sliding joints, rad for others
    lock(description, ["panda_finger_joint1"])          # at 0, or at the limit nearest to it

Joints that follow a locked joint are locked where they follow it to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from torqued.common.errors import InputError, ModelError
from torqued.kernels.input_checks import names_of, shown, similar
from torqued.kernels.model.checks_joint import (
    SINGLE_DOF_TYPES,
    check_joint,
    check_limits,
    check_placement,
)
from torqued.kernels.model.description import (
    JOINT_SIZES,
    SINGLE_DOF,
    Array,
    Description,
    Joint,
    Limits,
    LockedJoint,
    Pose,
)
from torqued.kernels.model.diagnostics import Findings
from torqued.kernels.model.rotors import is_number

#: Joints to lock: positions by name, or names alone.
Locked = Mapping[str, float | None] | Sequence[str]

#: Difference of positions that is rounding, rad or m.
ROUNDING = 1e-9


def lock(description: Description, locked: Any) -> Description:
    """The description with joints locked; all faults of `locked` in one `ModelError`."""
    description, faults = lock_with_faults(description, locked)
    if faults:
        raise ModelError(description.source, faults)
    return description


def lock_with_faults(description: Description, locked: Any) -> tuple[Description, list[str]]:
    """The description with joints locked, as far as possible, and what is wrong with `locked`.

    The description need not have been checked: joints that are faulty themselves stay as they are.
    """
    given, joints = _given(locked), {joint.name: joint for joint in description.joints}
    findings = Findings()
    held: dict[str, float] = {}
    for name, value in given.items():
        if name not in joints:
            findings.fault("locked", f"joint {name!r} is unknown{similar(name, joints)}")
        elif joints[name].mimic is None and _can_be_locked(joints[name], findings):
            held |= _position(joints[name], value, findings)
    _follow(description, held)
    for name in given:
        if name in joints and joints[name].mimic is not None:
            _check_follower(joints[name], given, held, findings)
    fixed = tuple(
        _fixed(joint, held[joint.name]) if joint.name in held else joint
        for joint in description.joints
    )
    added = [
        LockedJoint(j.name, j.type, held[j.name]) for j in description.joints if j.name in held
    ]
    changed = replace(description, joints=fixed, locked=(*description.locked, *added))
    return changed, findings.faults


def sentence(locked: Sequence[LockedJoint]) -> str:
    """Joints and where they are held: `panda_finger_joint1 at 0 m`."""
    return ", ".join(
        f"{joint.name} at {joint.position:g} {'m' if joint.type == 'prismatic' else 'rad'}"
        for joint in locked
    )


def _given(locked: Any) -> dict[str, Any]:
    """Position by name, None where there is the name only."""
    if not isinstance(locked, Mapping | list | tuple):
        wanted = "a list of joints, or a map from joints to positions"
        raise InputError(f"locked: {shown(locked)}, expected {wanted}", "locked", None, wanted)
    names = names_of("locked", tuple(locked))
    return {name: locked[name] if isinstance(locked, Mapping) else None for name in names}


def _can_be_locked(joint: Joint, findings: Findings) -> bool:
    if joint.type in JOINT_SIZES and joint.type not in SINGLE_DOF:
        what = f"{joint.type} joints cannot be locked; {SINGLE_DOF_TYPES} can"
        findings.fault(f"joint {joint.name!r}", what)
    own = Findings()  # for `checks.check` to report
    check_joint(joint, own)
    check_placement(joint, own)
    check_limits(joint, own)
    return joint.type in SINGLE_DOF and not own.faults


def _position(joint: Joint, value: Any, findings: Findings) -> dict[str, float]:
    """The joint's position by its name; empty where it has none."""
    limits = Limits() if joint.type == "continuous" else joint.limits
    if value is None:
        return {joint.name: min(max(0.0, limits.lower), limits.upper)}
    where = f"joint {joint.name!r}"
    if not is_number(value):
        findings.fault(where, f"locked at {shown(value)}, expected a finite number")
        return {}
    if not limits.lower <= value <= limits.upper:
        outside = f"outside its limits {limits.lower} to {limits.upper}"
        findings.fault(where, f"locked at {value}, {outside}")
        return {}
    return {joint.name: float(value)}


def _follow(description: Description, held: dict[str, float]) -> None:
    """Adds the followers of joints that are held, and theirs."""
    found = True
    while found:
        found = False
        for joint in description.joints:
            mimic = joint.mimic
            if mimic is None or mimic.joint not in held or joint.name in held:
                continue
            position = mimic.multiplier * held[mimic.joint] + mimic.offset
            if math.isfinite(position) and _can_be_locked(joint, Findings()):
                held[joint.name] = position
                found = True


def _check_follower(
    joint: Joint, given: Mapping[str, Any], held: Mapping[str, float], findings: Findings
) -> None:
    """A follower is where its leader takes it."""
    assert joint.mimic is not None
    where, leader = f"joint {joint.name!r}", joint.mimic.joint
    value, position = given[joint.name], held.get(joint.name)
    if position is None:
        if leader not in given:
            findings.fault(where, f"follows {leader!r}; lock that one")
    elif value is not None and not (is_number(value) and abs(value - position) <= ROUNDING):
        findings.fault(where, f"locked at {shown(value)}, but follows {leader!r} to {position:g}")


def _fixed(joint: Joint, position: float) -> Joint:
    """A fixed joint where this one is at a position. Losses and rotor inertia act on its motion
    alone."""
    angle = 0.0 if joint.type == "prismatic" else position
    travel = {"prismatic": position, "helical": joint.pitch * position}.get(joint.type, 0.0)
    moved = joint.placement @ Pose(_rotation(joint.axis, angle), travel * joint.axis)
    return Joint(joint.name, "fixed", joint.parent, joint.child, moved)


def _rotation(axis: Array, angle: float) -> Array:
    """About a unit axis: Rodrigues' formula, exact at zero."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    half = math.sin(angle / 2.0)
    rotation: Array = np.eye(3) + math.sin(angle) * cross + 2.0 * half * half * cross @ cross
    return rotation
