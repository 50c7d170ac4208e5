"""URDF files into a `Description`.

The standard joint types are read as the URDF specification says. torqued adds to the format:
the other types of `description.JOINT_SIZES` and of `description.COMPOUND` with `<motion
type="revolute" xyz="…"/>` for their motions, `<pitch value="metres per radian"/>` for helical
joints, `armature`, or `motor_inertia` and `gear_ratio`, in `<dynamics>`, and `inf` in `<limit>`.

Whatever a file gets wrong in its syntax comes in one `ModelError`; whether the robot it describes
makes sense is for `checks.py`. Two faults of files in circulation are repaired with a warning: a
`<mimic>` on a fixed joint, and one of a joint that the file lacks (the joint then moves freely).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.xml_file import Node, parse_root, quoted
from torqued.kernels.model.checks import further_faults
from torqued.kernels.model.description import (
    COMPOUND,
    JOINT_SIZES,
    USES_AXIS,
    Array,
    Description,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    Pose,
)
from torqued.kernels.model.diagnostics import Findings
from torqued.kernels.model.rotations import rotation_from_quaternion, rotation_from_rpy
from torqued.kernels.model.rotors import MOTOR

#: Tags with a meaning, here or for other programs, by where they stand below <robot>.
#: Others are ignored as well, but with a warning.
KNOWN_TAGS = {
    ".": {"link", "joint", "material", "gazebo", "transmission", "ros2_control", "sensor"},
    "link": {"inertial", "visual", "collision"},
    "link/inertial": {"origin", "mass", "inertia"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "pitch"}
    | {"calibration", "safety_controller", "motion"},
}

#: A file with few digits gives an axis length that is one within this; beyond, it gets a warning.
UNIT_AXIS_TOLERANCE = 1e-3

#: From here on a limit is none: other programs read numbers only, and require them.
NO_LIMIT = 1e300


def read_urdf(file: RobotFile) -> Description:
    """The robot; what cannot be read and what makes no sense in one `ModelError`."""
    description, faults = parse_with_faults(file.text, file.source)
    if faults:
        raise ModelError(file.source, faults + further_faults(description, faults))
    return description


def parse_with_faults(text: str, source: str) -> tuple[Description, list[str]]:
    """As much of the robot as can be read, and what cannot."""
    root = parse_root(text, source)
    if root.tag != "robot":
        raise ModelError(source, [f"the root element is <{root.tag}>; a URDF starts with <robot>"])
    findings = Findings()
    robot = Node(root, "robot", findings)
    if not robot.element.get("name"):
        robot.warn("has no name")
    links = tuple(_link(node) for node in robot.children("link"))
    joints = tuple(_joint(node) for node in robot.children("joint"))
    joints = _without_idle_mimics(joints, findings)
    _warn_of_unknown_tags(robot)
    name, notes = root.get("name", ""), tuple(findings.warnings)
    return Description(name, links, joints, source, notes), findings.faults


def _link(node: Node) -> Link:
    return Link(node.text("name"), _inertia(node))


def _inertia(link: Node) -> Inertia:
    inertial = link.child("inertial")
    if inertial is None:
        return Inertia()
    mass = inertial.needed_number("mass", "value")
    rotational = np.zeros((3, 3))
    moments = inertial.child("inertia")
    if moments is None:
        inertial.fault('<inertia ixx="…" iyy="…" izz="…"> is missing')
    else:
        faults = len(link.findings.faults)
        ixx, iyy, izz = (moments.number(name) for name in ("ixx", "iyy", "izz"))
        products = ("ixy", "ixz", "iyz")
        ixy, ixz, iyz = (moments.number(name, default=0.0) for name in products)
        absent = [name for name in products if not moments.has(name)]
        if absent:
            moments.warn(f"{', '.join(absent)} missing, assumed to be 0")
        if len(link.findings.faults) == faults:  # else no inertia at all stands in
            rotational = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    pose = _pose(inertial)
    R = pose.rotation
    if not np.array_equal(R, np.eye(3)):
        with np.errstate(over="ignore", invalid="ignore"):  # `checks.py` reports what overflows
            rotational = R @ rotational @ R.T
        rotational = (rotational + rotational.T) / 2.0  # the product's rounding is not symmetric
    return Inertia(mass, pose.position, rotational)


def _pose(node: Node) -> Pose:
    origin = node.child("origin")
    if origin is None:
        return Pose()
    position = np.array(origin.numbers("xyz", (0.0, 0.0, 0.0)))
    if not origin.has("quat_xyzw"):
        return Pose(rotation_from_rpy(*origin.numbers("rpy", (0.0, 0.0, 0.0))), position)
    if origin.has("rpy"):
        origin.fault("has both rpy and quat_xyzw")
    quaternion = origin.numbers("quat_xyzw", (0.0, 0.0, 0.0, 1.0))
    if not abs(math.hypot(*quaternion) - 1.0) < 1e-3:
        origin.fault(f"quat_xyzw {_words(quaternion)} is not a unit quaternion")
        return Pose()
    return Pose(rotation_from_quaternion(*quaternion), position)


def _joint(node: Node) -> Joint:
    kind = node.text("type") or "fixed"  # which stands in for none
    if kind.strip() and kind not in JOINT_SIZES and kind not in COMPOUND:
        allowed = ", ".join([*JOINT_SIZES, *sorted(COMPOUND)])
        node.fault(f"type {quoted(kind)} is unknown; allowed: {allowed}")
    dynamics = node.child("dynamics")
    damping, friction = (
        dynamics.number(name, default=0.0) if dynamics else 0.0 for name in ("damping", "friction")
    )
    return Joint(
        name=node.text("name"),
        type=kind,
        parent=node.needed_text("parent", "link"),
        child=node.needed_text("child", "link"),
        placement=_pose(node),
        axis=_axis(node, kind),
        pitch=_pitch(node, kind),
        limits=_limits(node, kind),
        damping=damping,
        friction=friction,
        armature=_armature(dynamics) if dynamics else 0.0,
        mimic=_mimic(node),
        motions=_motions(node, kind),
    )


def _armature(dynamics: Node) -> float:
    """Rotor inertia at the joint: given as such, or behind its gear."""
    given = [name for name in MOTOR if dynamics.has(name)]
    if dynamics.has("armature") or not given:
        return dynamics.number("armature", default=0.0)
    if len(given) == 1:
        absent = next(name for name in MOTOR if name not in given)
        dynamics.warn(f"{given[0]} without {absent} is ignored: rotor inertia is unknown")
        return 0.0
    inertia, ratio = (dynamics.number(name) for name in MOTOR)
    return inertia * ratio**2


def _motions(joint: Node, kind: str) -> tuple[tuple[str, Array], ...]:
    motions = [
        (motion.text("type"), np.array(motion.numbers("xyz", (1.0, 0.0, 0.0))))
        for motion in joint.children("motion")
    ]
    if motions and kind not in COMPOUND:
        joint.warn(f"<motion> is ignored on a {kind} joint")
        return ()
    return tuple(motions)


def _axis(joint: Node, kind: str) -> Array:
    default = (1.0, 0.0, 0.0)
    element = joint.child("axis")
    axis = element.numbers("xyz", default) if element else default
    if kind not in USES_AXIS | COMPOUND:
        return np.array(default)  # files in circulation give fixed joints the axis 0 0 0
    length = math.hypot(*axis)
    if length == 0.0 or abs(length - 1.0) <= 1e-15:  # zero is for `checks.py` to refuse
        return np.array(axis)
    if abs(length - 1.0) > UNIT_AXIS_TOLERANCE:
        joint.warn(f"axis {_words(axis)} has length {length:.6g} and was normalised")
    # Scaled first, because the length of a huge axis overflows and that of a tiny one loses digits.
    scaled = np.array(axis) / max(abs(x) for x in axis)
    return scaled / math.hypot(*scaled)


def _pitch(joint: Node, kind: str) -> float:
    if kind == "helical":
        return joint.needed_number("pitch", "value")
    if joint.child("pitch"):
        joint.warn(f"<pitch> is ignored on a {kind} joint")
    return 0.0


def _limits(joint: Node, kind: str) -> Limits:
    limit = joint.child("limit")
    if limit is None:
        return Limits()
    velocity, effort = _limit(limit, "velocity", math.inf), _limit(limit, "effort", math.inf)
    # Either one defaults to 0 by the specification. Both absent would lock the joint: files that
    # do so have wheels and free knees there, and mean that nothing is known.
    known = limit.has("lower") or limit.has("upper")
    lower = _limit(limit, "lower", -math.inf, 0.0 if known else -math.inf)
    upper = _limit(limit, "upper", math.inf, 0.0 if known else math.inf)
    if kind == "fixed":
        return Limits()
    if kind == "continuous":
        if known:
            joint.warn("lower and upper limits are ignored on a continuous joint")
        return Limits(velocity=velocity, effort=effort)
    return Limits(lower, upper, velocity, effort)


def _limit(limit: Node, name: str, none: float, default: float = math.inf) -> float:
    value = limit.number(name, default, infinite=True, stand_in=none)
    return math.copysign(math.inf, value) if abs(value) >= NO_LIMIT else value


def _mimic(joint: Node) -> Mimic | None:
    mimic = joint.child("mimic")
    if mimic is None:
        return None
    return Mimic(
        mimic.text("joint"),
        mimic.number("multiplier", default=1.0),
        mimic.number("offset", default=0.0),
    )


def _without_idle_mimics(joints: tuple[Joint, ...], findings: Findings) -> tuple[Joint, ...]:
    """Pinocchio too ignores a fixed joint's <mimic>, and by default every other."""
    names = {joint.name for joint in joints}
    repaired = []
    for joint in joints:
        idle = None
        if joint.mimic is not None and joint.type == "fixed":
            idle = "<mimic> is ignored on a fixed joint"
        elif joint.mimic is not None and joint.mimic.joint not in names:
            idle = f"mimics unknown joint {quoted(joint.mimic.joint)}, so it moves freely"
        if idle is not None:
            findings.warn(f"joint {quoted(joint.name)}", idle)
        repaired.append(replace(joint, mimic=None) if idle else joint)
    return tuple(repaired)


def _warn_of_unknown_tags(robot: Node) -> None:
    unknown: Counter[tuple[str, str]] = Counter()
    for place, known in KNOWN_TAGS.items():
        for parent in robot.element.findall(place):
            unknown.update((parent.tag, child.tag) for child in parent if child.tag not in known)
    for (parent_tag, tag), times in unknown.items():
        count = "once" if times == 1 else f"{times} times"
        robot.warn(f"unknown tag <{tag}> in <{parent_tag}> is ignored ({count})")


def _words(numbers: tuple[float, ...]) -> str:
    return quoted(" ".join(f"{x:.6g}" for x in numbers))
