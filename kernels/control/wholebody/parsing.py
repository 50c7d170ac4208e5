"""What a client says about tasks, contacts and limits, checked and laid out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control.wholebody.daqp import UNBOUNDED
from torqued.kernels.control.wholebody.layout import CONTACT_RECORD, TASK, Array
from torqued.kernels.control.wholebody.tasks import KINDS, ROWS
from torqued.kernels.input_checks import at_most, choice, known_name, nonnegative, numbers, shown
from torqued.kernels.model.assemble import axis_frame

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

Map = Mapping[str, Any]

#: Weight, stiffness (1/s²) and damping (1/s) of a task that does not say. Errors decay critically
#: damped; a posture gives way to everything else. Momentum counts in kg m²/s and kg m/s, which
#: are large numbers.
DEFAULT_GAINS = {
    "posture": (0.1, 50.0, 14.0),
    "point": (10.0, 100.0, 20.0),
    "orientation": (10.0, 100.0, 20.0),
    "frame": (10.0, 100.0, 20.0),
    "com": (100.0, 50.0, 14.0),
    "momentum": (0.001, 0.0, 5.0),
}
#: The same of a posture where nothing but it may hold joints up, on a fixed base: with 50/s² weight
#: that is wrong by a tenth moves a joint by 0.02 m / (distance of its links' mass) rad. Against
#: other tasks it counts as much as that of a robot with legs: by weight times stiffness.
HELD_POSTURE = (0.0125, 400.0, 40.0)
#: The weight of a posture beside tasks that place points or frames and hold limbs themselves: a
#: joint that they have to move by 1 rad pulls a limb of 0.1 m away by less than 1 mm. Without such
#: tasks a posture alone keeps limbs from being thrown about for the center of mass.
YIELDING_WEIGHT = 0.001

#: Kinds of tasks that hold a limb where it is to be.
PLACING = ("point", "frame")

CONTACT_DAMPING = 20.0  # 1/s
FRICTION = 0.6

#: Common gains by name: defaults, and what they mean in docs/CONTROL.md.
COMMON = {
    "acceleration_weight": 1e-3,
    "joint_damping": 5.0,
    "force_weight": 1e-6,
    "limit_rate": 50.0,
}

_FIELDS = {
    "posture": {"joints"},
    "point": {"frame", "point", "axes", "relative_to"},
    "orientation": {"frame", "axes", "relative_to"},
    "frame": {"frame", "point", "axes", "relative_to"},
    "com": {"axes"},
    "momentum": {"axes"},
}
_TASK_FIELDS = {"kind", "name", "weight", "stiffness", "damping"}
_CONTACT_FIELDS = {
    "frame",
    "name",
    "points",
    "half_size",
    "normal",
    "normal_in",
    "friction",
    "max_force",
    "damping",
}
_LIMIT_FIELDS = {"torque", "position", "velocity", "acceleration"}


#: What a program of one tick may consist of; far more than a millisecond is enough for.
MAX_TASKS, MAX_CONTACTS, MAX_POINTS, MAX_POINTS_IN_ALL = 64, 32, 16, 64


def require_fields(name: str, given: Any, allowed: set[str]) -> Map:
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InputError(f"{name} is {kind}, expected a map", name, kind, "a map")
    for field in given:
        choice(f"{name}: field", field, sorted(allowed))
    return given


def require_list(name: str, given: Any, most: int) -> Sequence[Any]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        kind = type(given).__name__
        raise InputError(f"{name} is {kind}, expected a list", name, kind, "a list")
    at_most(name, len(given), most)
    return given


def unique_names(kind: str, items: Sequence[Map], default: str) -> list[str]:
    """Names as given, else the default word, numbered from the second on."""
    names: list[str] = []
    for k, item in enumerate(items):
        name = item.get("name")
        if name is None:
            word = str(item[default])
            same = sum(other.split("#")[0] == word for other in names)
            name = word if not same else f"{word}#{same + 1}"
        if not isinstance(name, str) or not name or name in names:
            where = f"{kind}[{k}].name"
            raise InputError(f"{where} is {shown(name)}, expected a unique text", where)
        names.append(name)
    return names


def frame_fields(robot: Robot, name: str, frame: Any, point: Any = None) -> tuple[Any, ...]:
    """Those of `FRAME`."""
    return robot.frame_table.place(name, frame, point).fields


def parse_tasks(robot: Robot, tasks: Any) -> tuple[list[str], Any, Array, Array]:
    """Names, records, joints of postures (tasks, nv), gains (tasks, 3)."""
    given = require_list("tasks", tasks, MAX_TASKS)
    records = np.zeros(len(given), TASK)
    chosen, gains = np.zeros((len(given), robot.nv)), np.zeros((len(given), 3))
    row = 0
    places = any(
        isinstance(task, Mapping) and isinstance(task.get("kind"), str) and task["kind"] in PLACING
        for task in given
    )
    for k, task in enumerate(given):
        name = f"tasks[{k}]"
        if not isinstance(task, Mapping) or "kind" not in task:
            raise InputError(f"{name}: expected a map with a 'kind'", f"{name}.kind")
        kind = choice(f"{name}.kind", task["kind"], KINDS)
        require_fields(name, task, _TASK_FIELDS | _FIELDS[kind])
        record = records[k]
        record["kind"], record["row"], record["rows"] = KINDS[kind], row, ROWS[KINDS[kind]]
        if "frame" in _FIELDS[kind]:
            if "frame" not in task:
                raise InputError(
                    f"{name}.frame is missing", f"{name}.frame", None, "a frame's name"
                )
            where = f"{name}.frame"
            record["frame"] = frame_fields(robot, where, task["frame"], task.get("point"))
            if task.get("relative_to") is not None:
                record["relative"] = 1
                where = f"{name}.relative_to"
                record["other"] = frame_fields(robot, where, task["relative_to"])
        rows = ROWS[KINDS[kind]]
        if rows:
            share = nonnegative(f"{name}.axes", task.get("axes", np.ones(rows)), (rows,))
            record["share"][:rows] = share
        else:
            chosen[k] = posture_joints(robot, name, task.get("joints"))
        words = ("weight", "stiffness", "damping")
        defaults = posture_gains(robot, places) if kind == "posture" else DEFAULT_GAINS[kind]
        for j, (word, default) in enumerate(zip(words, defaults, strict=True)):
            gains[k, j] = nonnegative(f"{name}.{word}", task.get(word, default))
        row += rows
    return unique_names("tasks", given, "kind"), records, chosen, gains


def posture_gains(robot: Robot, places: bool) -> tuple[float, float, float]:
    """Defaults of a posture; `places`: other tasks place points or frames."""
    if robot.model.base == "fixed":
        return HELD_POSTURE
    weight, stiffness, damping = DEFAULT_GAINS["posture"]
    return (YIELDING_WEIGHT if places else weight), stiffness, damping


def posture_joints(robot: Robot, name: str, joints: Any) -> Array:
    """1 for the columns of the named joints, by default of all but a floating base."""
    chosen = np.zeros(robot.nv)
    own = {joint.name: joint for joint in robot.model.joints}
    leaders = robot.model.mimics.leaders_v.tolist()
    names = (
        robot.joint_names if joints is None else require_list(f"{name}.joints", joints, robot.nv)
    )
    for word in names:
        joint = own[known_name(f"{name}.joints", "joint", word, robot.joint_names)]
        if joint.type != "floating":
            start = leaders.index(joint.v)
            chosen[start : start + joint.nv] = 1.0
    return chosen


def task_references(robot: Robot, names: Sequence[str], records: Any) -> dict[str, tuple[int, ...]]:
    """Name → shape, in the order of the state; writes where each task's begin."""
    shapes: dict[str, tuple[int, ...]] = {}
    at = robot.nq + robot.nv
    for name, record in zip(names, records, strict=True):
        kind = next(word for word, number in KINDS.items() if number == record["kind"])
        parts = {
            "posture": {"position": robot.nq, "velocity": robot.nv, "acceleration": robot.nv},
            "point": {"position": 3, "velocity": 3, "acceleration": 3},
            "orientation": {"orientation": 4, "velocity": 3, "acceleration": 3},
            "frame": {"position": 3, "orientation": 4, "velocity": 6, "acceleration": 6},
            "com": {"position": 3, "velocity": 3, "acceleration": 3},
            "momentum": {"momentum": 6, "rate": 6},
        }[kind]
        record["references"] = at
        for part, size in parts.items():
            shapes[f"{name}.{part}"] = (size,)
            at += size
    return shapes


def parse_contacts(
    robot: Robot, contacts: Any, first_row: int
) -> tuple[list[str], Any, Array, Array]:
    """Names, records, points (P, 3) in their frames, dampings."""
    given = require_list("contacts", contacts, MAX_CONTACTS)
    records = np.zeros(len(given), CONTACT_RECORD)
    offsets: list[Array] = []
    damping = np.zeros(len(given))
    row = first_row
    for k, contact in enumerate(given):
        name = f"contacts[{k}]"
        require_fields(name, contact, _CONTACT_FIELDS)
        if "frame" not in contact:
            raise InputError(f"{name}.frame is missing", f"{name}.frame", None, "a frame's name")
        record = records[k]
        record["frame"] = frame_fields(robot, f"{name}.frame", contact["frame"])
        points = contact_points(name, contact)
        normal = numbers(f"{name}.normal", contact.get("normal", (0.0, 0.0, 1.0)), (3,))
        if not normal @ normal > 1e-18:
            raise InputError(f"{name}.normal is zero, expected a direction", f"{name}.normal")
        axes = choice(f"{name}.normal_in", contact.get("normal_in", "world"), ("world", "frame"))
        record["turns"] = axes == "frame"
        record["axes"] = axis_frame(normal).ravel()
        friction = nonnegative(f"{name}.friction", contact.get("friction", FRICTION))
        record["friction"] = friction / math.sqrt(2.0)
        record["limit"] = nonnegative(f"{name}.max_force", contact.get("max_force", UNBOUNDED))
        damping[k] = nonnegative(f"{name}.damping", contact.get("damping", CONTACT_DAMPING))
        record["point"], record["points"] = len(offsets), len(points)
        record["row"], record["rows"] = row, min(6, 3 * len(points))
        offsets += list(points)
        row += int(record["rows"])
    at_most("contacts: points", len(offsets), MAX_POINTS_IN_ALL)
    return (
        unique_names("contacts", given, "frame"),
        records,
        np.array(offsets).reshape(-1, 3),
        damping,
    )


def contact_points(name: str, contact: Map) -> Array:
    """Points in the frame: listed, the corners of a rectangle, or the frame's origin."""
    if "points" in contact and "half_size" in contact:
        raise InputError(f"{name} has points and half_size, expected one of them", name)
    if "half_size" in contact:
        x, y = nonnegative(f"{name}.half_size", contact["half_size"], (2,))
        return np.array([(i * x, j * y, 0.0) for i in (1, -1) for j in (1, -1)])
    points = numbers(f"{name}.points", contact.get("points", [(0.0, 0.0, 0.0)]), (-1, 3))
    if not len(points):
        raise InputError(f"{name}.points is empty, expected at least one point", f"{name}.points")
    at_most(f"{name}.points", len(points), MAX_POINTS)
    return points


def parse_limits(robot: Robot, limits: Any) -> dict[str, Array]:
    """effort, position_lower, position_upper, speed, acceleration, coordinate, each (nv,).

    Each of torque, velocity and acceleration is one number or one per velocity, true for the
    robot's own, false for none; position is true, false or (nv, 2).
    """
    given = require_fields("limits", {} if limits is None else limits, _LIMIT_FIELDS)
    own, n = robot.limits, robot.nv

    def of(word: str, default: Any, robots: Array) -> Array:
        value = given.get(word, default)
        if value is True:
            return robots
        if value is False or value is None:
            return np.full(n, UNBOUNDED)
        x = numbers(f"limits.{word}", value, (), (n,))
        if (x < 0.0).any():
            field = f"limits.{word}"
            raise InputError(f"{field} is {x.min()}, expected no negative numbers", field)
        return np.broadcast_to(x, (n,)).copy()

    lower, upper, coordinate = joint_positions(robot)
    position = given.get("position", True)
    if position is False or position is None:
        coordinate[:] = -1.0
    elif position is not True:
        pairs = numbers("limits.position", position, (n, 2))
        if (pairs[:, 0] > pairs[:, 1]).any():
            worst = int(np.argmax(pairs[:, 0] - pairs[:, 1]))
            low, high = pairs[worst]
            raise InputError(
                f"limits.position[{worst}]: lower limit {low} is above upper limit {high}",
                "limits.position",
            )
        lower, upper = pairs[:, 0].copy(), pairs[:, 1].copy()
    nothing = np.full(n, UNBOUNDED)
    return {
        "effort": np.minimum(of("torque", True, own.effort), UNBOUNDED),
        "speed": np.minimum(of("velocity", True, own.velocity), UNBOUNDED),
        "acceleration": np.minimum(of("acceleration", False, nothing), UNBOUNDED),
        "position_lower": np.maximum(lower, -UNBOUNDED),
        "position_upper": np.minimum(upper, UNBOUNDED),
        "coordinate": coordinate,
    }


def joint_positions(robot: Robot) -> tuple[Array, Array, Array]:
    """Lower and upper limits and the place in q of joints with one coordinate, by velocity."""
    lower, upper = np.full(robot.nv, -UNBOUNDED), np.full(robot.nv, UNBOUNDED)
    coordinate = np.full(robot.nv, -1.0)
    mimics, limits = robot.model.mimics, robot.limits
    leaders_q, leaders_v = mimics.leaders_q.tolist(), mimics.leaders_v.tolist()
    for joint in robot.model.joints:
        if joint.nq == joint.nv and joint.v in leaders_v:
            for k in range(joint.nv):
                i, j = leaders_v.index(joint.v + k), leaders_q.index(joint.q + k)
                lower[i], upper[i], coordinate[i] = limits.lower[j], limits.upper[j], j
    return lower, upper, coordinate
