"""Joints one by one, and how they mimic each other."""

from __future__ import annotations

import math

import numpy as np

from torqued.kernels.input_checks import shown
from torqued.kernels.model.checks_mass import MAX_NUMBER, in_range
from torqued.kernels.model.checks_tree import cycles
from torqued.kernels.model.description import (
    COMPOUND,
    JOINT_SIZES,
    SINGLE_DOF,
    USES_AXIS,
    Description,
    Joint,
)
from torqued.kernels.model.diagnostics import Findings

#: How far from length one an axis, or from orthogonal a rotation, may be by rounding.
ROUNDING = 1e-9

SINGLE_DOF_TYPES = ", ".join(kind for kind in JOINT_SIZES if kind in SINGLE_DOF)


def check_placement(joint: Joint, findings: Findings) -> None:
    """A rotation and a position in numbers that can be computed with."""
    where = f"joint {joint.name!r}"
    R, p = joint.placement.rotation, joint.placement.position
    if p.shape != (3,) or not in_range(p):
        findings.fault(where, f"position {p.tolist()} is not 3 finite numbers below {MAX_NUMBER:g}")
    # The comparison is written so that NaN fails it.
    elif R.shape != (3, 3) or not np.all(np.abs(R @ R.T - np.eye(3)) < ROUNDING):
        findings.fault(where, f"placement {R.tolist()} is not a rotation matrix")
    elif np.linalg.det(R) < 0.0:
        findings.fault(where, "placement is a reflection, not a rotation")


def check_joint(joint: Joint, findings: Findings) -> None:
    """Type, axis and pitch."""
    where = f"joint {joint.name!r}"
    if joint.type not in JOINT_SIZES and joint.type not in COMPOUND:
        allowed = ", ".join([*JOINT_SIZES, *sorted(COMPOUND)])
        findings.fault(where, f"type {shown(joint.type)} is unknown; allowed: {allowed}")
    if joint.type in USES_AXIS:
        _check_axis(joint, findings)
    if not in_range(joint.pitch):
        findings.fault(where, f"pitch {joint.pitch} is not a finite number below {MAX_NUMBER:g}")
    elif joint.type == "helical" and joint.pitch == 0.0:
        findings.warn(where, "helical with pitch 0.0, so it only turns")


def _check_axis(joint: Joint, findings: Findings) -> None:
    where = f"joint {joint.name!r}"
    axis = joint.axis
    if axis.shape != (3,) or not in_range(axis):
        findings.fault(where, f"axis {axis.tolist()} is not 3 finite numbers")
    elif not axis.any():
        findings.fault(where, f"axis is zero, but a {joint.type} joint needs a direction")
    elif abs(math.hypot(*axis) - 1.0) > ROUNDING:
        findings.fault(where, f"axis {axis.tolist()} has length {math.hypot(*axis):.6g}, not 1")


def check_limits(joint: Joint, findings: Findings) -> None:
    """Limits and losses."""
    where = f"joint {joint.name!r}"
    limits = joint.limits
    for name in ("damping", "friction", "armature"):
        value = getattr(joint, name)
        if not 0.0 <= value < math.inf:
            findings.fault(where, f"{name} {value} must be finite and not negative")
    if math.isnan(limits.lower) or math.isnan(limits.upper):
        findings.fault(where, f"limits {limits.lower} to {limits.upper} are not numbers")
    if limits.lower > limits.upper:
        findings.fault(where, f"lower limit {limits.lower} is above upper limit {limits.upper}")
    for name in ("velocity", "effort"):
        value = getattr(limits, name)
        if not value >= 0.0:
            findings.fault(where, f"{name} limit {value} must be zero or positive")
    # A joint that mimics has its leader's limits.
    if joint.type not in ("revolute", "prismatic") or joint.mimic is not None:
        return
    unknown = [name for name in ("velocity", "effort") if getattr(limits, name) == math.inf]
    if limits.lower == -math.inf and limits.upper == math.inf:
        unknown.insert(0, "position")
    if unknown:
        findings.warn(where, f"{joint.type} without a limit of {' and '.join(unknown)}")
    if limits.lower == limits.upper:
        findings.warn(where, f"lower and upper limit are both {limits.lower}: it may not move")
    for name in ("velocity", "effort"):
        if getattr(limits, name) == 0.0:
            findings.warn(where, f"{name} limit is 0.0")


def check_mimics(description: Description, findings: Findings) -> None:
    """Known leaders of one degree of freedom, and no circles; chains are fine."""
    joints = {joint.name: joint for joint in description.joints}
    for joint in description.joints:
        if joint.mimic is None:
            continue
        where = f"joint {joint.name!r}"
        multiplier, offset = joint.mimic.multiplier, joint.mimic.offset
        if not (math.isfinite(multiplier) and math.isfinite(offset)):
            findings.fault(where, f"mimic multiplier {multiplier} or offset {offset} is not finite")
        elif multiplier == 0.0:
            findings.warn(where, f"mimic multiplier is 0.0, so it stays at {offset}")
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            findings.fault(where, f"mimics joint {joint.mimic.joint!r}, which does not exist")
            continue
        if joint.type in JOINT_SIZES and joint.type not in SINGLE_DOF:
            findings.fault(where, f"{joint.type} joints cannot mimic; {SINGLE_DOF_TYPES} can")
        if leader.type in JOINT_SIZES and leader.type not in SINGLE_DOF:
            sentence = f"mimics {leader.name!r}, a {leader.type} joint"
            findings.fault(where, f"{sentence}; only {SINGLE_DOF_TYPES} can be mimicked")
    leaders = {joint.name: joint.mimic.joint for joint in description.joints if joint.mimic}
    for loop in cycles(leaders):
        if len(loop) == 1:
            findings.fault(f"joint {loop[0]!r}", "mimics itself")
        else:
            names = " → ".join(repr(name) for name in [*loop, loop[0]])
            findings.fault(f"joint {loop[0]!r}", f"mimic joints form a loop: {names}")
