"""`torqued models check`: what is in a robot's file, for people to read."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torqued.common.errors import ModelError
from torqued.kernels import Robot
from torqued.kernels.model.description import USES_AXIS, Array, Description, Joint
from torqued.kernels.model.diagnostics import grouped
from torqued.kernels.model.lock import sentence
from torqued.tools.cli.options import as_json, table

#: Lines of a table or tree; of more, the first are shown.
MAX_LINES, SHOWN = 60, 40
#: Links above which frames at the ends of the tree are counted, not shown.
MANY_LINKS = 30
#: Of the table of joints that move.
EQUIPPED = "configuration: its tool, payload, links and friction are loaded, but not shown here"
GUESSED_BASE = "base: fixed, since the robot has one limb or hangs from the world"
UNITS = "(in rad, rad/s, N m, kg m²; slides in m, m/s, N, kg)"
COLUMNS = (
    *("joint", "type", "axis", "range", "speed", "effort"),
    *("damping", "friction", "armature", "mimic", "driven"),
)


def check(args: argparse.Namespace, load: Callable[..., Robot]) -> int:
    try:
        robot = load(args, strict=args.strict)
    except ModelError as error:
        refused = {"source": error.source, "verdict": "refused", "faults": error.problems}
        lines = [f"✗ {fault}" for fault in error.problems]
        lines.append(f"refused: {_count(len(lines), 'fault')} in {error.source}")
        print(as_json(refused, 2) if args.json else "\n".join(lines))
        return 1
    description = robot.model.description
    if args.picture:
        from torqued.tools.cli.models_picture import draw

        draw(robot, description, args.picture)
        print(f"wrote {args.picture}", file=sys.stderr)
    changed = () if robot.model.as_described else (EQUIPPED,)
    found = asdict(description) | {
        "base": robot.model.base,
        "gravity": robot.gravity_vector,
        "degrees_of_freedom": robot.nv,
        "mass": sum(link.inertia.mass for link in description.links),
        "warnings": [*robot.warnings, *changed],
        "guessed": [] if description.base else [GUESSED_BASE],
        "verdict": "loaded",
    }
    print(as_json(found, 2) if args.json else "\n".join(lines_of(found, description)))
    return 0


def lines_of(found: Mapping[str, Any], description: Description) -> list[str]:
    head = [
        f"{found['name']}: {found['base']} base",
        _count(len(found["links"]), "link"),
        _count(len(found["joints"]), "joint"),
        _count(found["degrees_of_freedom"], "degree") + " of freedom",
        f"{found['mass']:.4g} kg",
        found["source"],
    ]
    lines = [", ".join(filter(None, head)), "", *_shortened(tree_lines(description), "links")]
    moving = [joint for joint in description.joints if joint.type != "fixed"]
    if moving:
        lines += ["", *_shortened(joint_lines(moving), "joints"), UNITS]
    lines += ["", _mass_line(description)]
    if description.locked:
        lines.append(f"held: {sentence(description.locked)}")
    lines.append(f"gravity: {_words(found['gravity'])} m/s²")
    for name, posture in description.postures.items():
        where = [f"{joint} {_words(q)}" for joint, q in posture.items()]
        lines.append(f"posture {name}: {', '.join(where[:8])}{', …' if len(where) > 8 else ''}")
    for name, constraints in description.constraints.items():
        of = [f"{type(each).__name__.lower()} of {each.frame}" for each in constraints]
        lines.append(f"constraints {name}: {', '.join(of)}")
    for what in ("guessed", "warnings"):
        if found[what]:
            lines += ["", f"{what}:", *(f"  - {text}" for text in grouped(found[what]))]
    count = len(grouped(found["warnings"]))
    more = f", with {_count(count, 'warning')}" if count else ""
    return [*lines, "", f"torqued can load this robot{more}"]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _words(numbers: Iterable[float]) -> str:
    return " ".join(f"{x:.4g}" for x in numbers)


def _shortened(lines: list[str], what: str) -> list[str]:
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[:SHOWN], f"… and {len(lines) - SHOWN} more {what}; --json has all of them"]


def tree_lines(description: Description) -> list[str]:
    """Links below each other. A chain stays at its depth: only branches are indented."""
    masses = {link.name: link.inertia.mass for link in description.links}
    below: dict[str, list[Joint]] = {name: [] for name in masses}
    for joint in description.joints:
        below[joint.parent].append(joint)
    root = (masses.keys() - {joint.child for joint in description.joints}).pop()
    frames = dict.fromkeys(masses, 0)  # that hang from a link and are only counted
    ends = {link for link, joints in below.items() if not joints and masses[link] == 0.0}
    for joint in description.joints if len(masses) > MANY_LINKS else ():
        if joint.type == "fixed" and joint.child in ends:
            frames[joint.parent] += 1
            below[joint.parent] = [each for each in below[joint.parent] if each is not joint]
    rows = []
    waiting = [(root, "", [root, "", ""])]
    while waiting:
        link, inner, how = waiting.pop()
        hidden = f"+ {_count(frames[link], 'frame')}" if frames[link] else ""
        rows.append([*how, f"{masses[link]:.4g} kg" if masses[link] else "", hidden])
        joints = below[link]
        for joint in reversed(joints):
            last, chain = joint is joints[-1], len(joints) == 1 and below[joint.child]
            glyph = "│ " if chain else "└╴" if last else "├╴"
            deeper = inner if chain else inner + ("  " if last else "│ ")
            shown = [inner + glyph + joint.name, joint.type, f"→ {joint.child}"]
            waiting.append((joint.child, deeper, shown))
    return table(rows, words=3)


def joint_lines(joints: Sequence[Joint]) -> list[str]:
    """Joints that move, without columns that are empty."""
    rows = [list(COLUMNS)]
    for joint in joints:
        limits, mimic = joint.limits, joint.mimic
        known = math.isfinite(limits.lower) or math.isfinite(limits.upper)
        axis = _axis(joint.axis) if joint.type in USES_AXIS else ""
        row = [joint.name, joint.type, axis]
        row.append(f"{limits.lower:.4g} … {limits.upper:.4g}" if known else "")
        row += [f"{x:.4g}" if math.isfinite(x) else "" for x in (limits.velocity, limits.effort)]
        row += [f"{x:.4g}" if x else "" for x in (joint.damping, joint.friction, joint.armature)]
        row.append(f"{mimic.multiplier:g} × {mimic.joint} + {mimic.offset:g}" if mimic else "")
        rows.append([*row, "no" if mimic or limits.effort == 0.0 else "yes"])
    used = [k for k in range(len(COLUMNS)) if any(row[k] for row in rows[1:])]
    return table([[row[k] for k in used] for row in rows], words=3)


def _axis(axis: Array) -> str:
    for letter, x in zip("xyz", axis, strict=True):
        if abs(x) == 1.0:
            return letter if x > 0.0 else f"-{letter}"
    return " ".join(f"{x:.3g}" for x in axis)


def _mass_line(description: Description) -> str:
    links = description.links
    heavy = sorted((link.inertia.mass, link.name) for link in links if link.inertia.mass > 0.0)
    if not heavy:
        return "mass: none"
    most, least = (f"{name} {mass:.4g} kg" for mass, name in (heavy[-1], heavy[0]))
    return f"mass: {len(heavy)} of {len(links)} links have some, from {least} to {most}"
