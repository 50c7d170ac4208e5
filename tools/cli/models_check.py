"""`torqued models check`: what is in a robot's file, for people to read."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from torqued.common.errors import ModelError
from torqued.kernels.model.checks import check as checked
from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.description import JOINT_SIZES, Array, Description, Joint
from torqued.kernels.model.lock import sentence
from torqued.kernels.model.rotors import rotor_notes
from torqued.tools.cli.models import Source, source_of
from torqued.tools.cli.options import as_json, table

#: Lines of a table or tree; of more, the first are shown.
MAX_LINES, SHOWN = 60, 40
#: Links above which frames at the ends of the tree are counted, not shown.
MANY_LINKS = 30
#: Of the table of joints that move.
COLUMNS = (
    *("joint", "type", "axis", "range", "speed", "effort"),
    *("damping", "friction", "armature", "mimic", "driven"),
)


def check(args: argparse.Namespace) -> int:
    try:
        source = source_of(args)
        found = report(source, args.strict)
    except ModelError as error:
        refused = {"file": error.source, "verdict": "refused", "faults": list(error.problems)}
        lines = [f"✗ {fault}" for fault in error.problems]
        count = f"{len(lines)} fault{'s' * (len(lines) != 1)}"
        print(as_json(refused, 2) if args.json else "\n".join([*lines, f"refused: {count}"]))
        return 1
    if args.picture:
        from torqued.tools.cli.models_picture import draw

        draw(source.description, args.picture)
        print(f"wrote {args.picture}", file=sys.stderr)
    print(as_json(found, 2) if args.json else "\n".join(lines_of(found, source.description)))
    return 0


def report(source: Source, strict: bool) -> dict[str, Any]:
    """Everything that is known; a `ModelError` with all faults."""
    description = source.description
    simple = taken_apart(description)
    warnings = checked(simple, strict=strict, known=source.faults)[len(description.notes) :]
    if description.base == "fixed" and source.file:
        warnings += rotor_notes(simple)
    masses = {link.name: link.inertia.mass for link in description.links}
    free = [joint for joint in simple.joints if joint.mimic is None]
    dofs = sum(JOINT_SIZES[joint.type][1] for joint in free)
    return {
        "name": description.name,
        "file": source.file,
        "kind": source.kind,
        "base": description.base,
        "links": len(masses),
        "joints": len(description.joints),
        "degrees_of_freedom": dofs + 6 * (description.base == "floating"),
        "mass": sum(masses.values()),
        "masses": masses,
        "tree": [_joint(joint) for joint in description.joints],
        "gravity": description.gravity,
        "postures": description.postures,
        "constraints": {
            name: [f"{type(each).__name__.lower()} of {each.frame}" for each in constraints]
            for name, constraints in description.constraints.items()
        },
        "locked": [vars(joint) for joint in description.locked],
        "guessed": source.guessed,
        "notes": description.notes,
        "warnings": warnings,
        "verdict": "usable" if warnings or source.guessed or description.notes else "good",
    }


def _joint(joint: Joint) -> dict[str, Any]:
    plain = ("name", "type", "parent", "child", "axis", "damping", "friction", "armature")
    return {
        **{key: getattr(joint, key) for key in plain},
        **vars(joint.limits),
        "mimic": vars(joint.mimic) if joint.mimic else None,
        "driven": joint.type != "fixed" and joint.mimic is None and joint.limits.effort > 0.0,
    }


def lines_of(found: Mapping[str, Any], description: Description) -> list[str]:
    lines = [
        f"{found['name']} ({found['kind']}): {found['base']} base, {found['links']} links, "
        f"{found['joints']} joints, {found['degrees_of_freedom']} degrees of freedom, "
        f"{found['mass']:.4g} kg{', ' * bool(found['file'])}{found['file']}",
        "",
        *_shortened(tree_lines(description), "links"),
    ]
    moving = [joint for joint in description.joints if joint.type != "fixed"]
    if moving:
        lines += ["", *_shortened(joint_lines(moving), "joints"), "(rad, m; s; N m, N; kg m², kg)"]
    lines += ["", _mass_line(found["masses"])]
    if description.locked:
        lines.append(f"held: {sentence(description.locked)}")
    if description.gravity is not None:
        lines.append(f"gravity: {' '.join(f'{x:g}' for x in description.gravity)} m/s²")
    for name, posture in description.postures.items():
        where = [f"{joint} {' '.join(f'{x:g}' for x in q)}" for joint, q in posture.items()]
        lines.append(f"posture {name}: {', '.join(where[:8])}{', …' if len(where) > 8 else ''}")
    lines += [f"constraints {name}: {', '.join(of)}" for name, of in found["constraints"].items()]
    for what, title in (("guessed", "guessed"), ("notes", "in the file"), ("warnings", "warnings")):
        if found[what]:
            lines += ["", f"{title}:", *(f"  - {text}" for text in _grouped(found[what]))]
    count = len(found["warnings"]) + len(found["notes"])
    more = f", with {count} warning{'s' * (count != 1)}" if count else ""
    return [*lines, "", f"{found['verdict']}: torqued can load this robot{more}"]


def _grouped(sentences: Sequence[str]) -> list[str]:
    """The same about several joints or links: one sentence."""
    about: dict[str, list[str]] = {}
    for text in sentences:
        where, colon, what = text.partition(": ")
        about.setdefault(colon + what, []).append(where)
    return [
        f"{where[0]}{f' and {len(where) - 1} more' if len(where) > 1 else ''}{what}"
        for what, where in about.items()
    ]


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
    hidden: dict[str, int] = {}
    if len(masses) > MANY_LINKS:
        for link, joints in below.items():
            ends = [j for j in joints if j.type == "fixed" and not below[j.child]]
            ends = [j for j in ends if masses[j.child] == 0.0]
            hidden[link] = len(ends)
            below[link] = [joint for joint in joints if joint not in ends]
    rows = []

    def enter(link: str, inner: str, *how: str) -> None:
        mass = f"{masses[link]:.4g} kg" if masses[link] else ""
        count = hidden.get(link, 0)
        frames = f"+ {count} frame{'s' * (count > 1)}" if count else ""
        rows.append([*how, mass, frames])
        joints = below[link]
        for joint in reversed(joints):
            last = joint is joints[-1]
            chain = len(joints) == 1 and below[joint.child]
            glyph = "│ " if chain else "└╴" if last else "├╴"
            deeper = inner if chain else inner + ("  " if last else "│ ")
            named = (inner + glyph + joint.name, joint.type, f"→ {joint.child}")
            waiting.append((joint.child, deeper, *named))

    waiting = [(root, "", root, "", "")]
    while waiting:
        enter(*waiting.pop())
    return table(rows, words=3)


def joint_lines(joints: Sequence[Joint]) -> list[str]:
    """Joints that move, without columns that are empty."""
    rows = [
        [
            "joint",
            "type",
            "axis",
            "range",
            "speed",
            "effort",
            "damping",
            "friction",
            "armature",
            "mimic",
            "driven",
        ]
    ]
    for joint in joints:
        limits, mimic = joint.limits, joint.mimic
        unlimited = math.isinf(limits.lower) and math.isinf(limits.upper)
        losses = (joint.damping, joint.friction, joint.armature)
        rows.append(
            [joint.name, joint.type, _axis(joint.axis)]
            + ["" if unlimited else f"{limits.lower:.4g} … {limits.upper:.4g}"]
            + [f"{x:.4g}" if math.isfinite(x) else "" for x in (limits.velocity, limits.effort)]
            + [f"{x:.4g}" if x else "" for x in losses]
            + [f"{mimic.multiplier:g} × {mimic.joint} + {mimic.offset:g}" if mimic else ""]
            + ["no" if mimic or limits.effort == 0.0 else "yes"]
        )
    used = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    return table([[row[k] for k in used] for row in rows], words=3)


def _axis(axis: Array) -> str:
    for k, letter in enumerate("xyz"):
        if abs(axis[k]) == 1.0:
            return letter if axis[k] > 0.0 else f"-{letter}"
    return " ".join(f"{x:.3g}" for x in axis)


def _mass_line(masses: Mapping[str, float]) -> str:
    heavy = sorted((mass, name) for name, mass in masses.items() if mass > 0.0)
    if not heavy:
        return "mass: none"
    most, least = f"{heavy[-1][1]} {heavy[-1][0]:.4g} kg", f"{heavy[0][1]} {heavy[0][0]:.4g} kg"
    return f"mass: {len(heavy)} of {len(masses)} links have some, from {least} to {most}"
