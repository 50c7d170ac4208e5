"""Random robots for property tests: any topology, every joint type, mimics, massless links.

Each has a mass matrix that is positive definite in almost every configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from torqued.kernels.model.description import (
    JOINT_SIZES,
    SINGLE_DOF,
    USES_AXIS,
    Array,
    Description,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
)
from torqued.kernels.model.families import random_direction, random_inertia, random_placement

ALL_TYPES = tuple(JOINT_SIZES)

#: Types that any URDF reader knows. Readers disagree about the plane of a planar joint.
PORTABLE_TYPES = ("fixed", "revolute", "continuous", "prismatic", "floating")


def random_tree(
    rng: np.random.Generator,
    bodies: int,
    types: Sequence[str] = ALL_TYPES,
    mimics: bool = False,
    massless: bool = True,
) -> Description:
    """A tree of `bodies` links below a root link, numbered parents first.

    `mimics` lets joints follow others, in chains too; `massless` lets links have no mass where
    the bodies next to them have enough.
    """
    digits = len(str(bodies))
    names = [f"link_{number:0{digits}}" for number in range(bodies + 1)]
    parents = [int(rng.integers(number)) for number in range(1, bodies + 1)]
    kinds = [str(rng.choice(types)) for _ in range(bodies)]
    joints = [
        _joint(rng, kind, f"joint_{number:0{digits}}", names[parent], names[number])
        for number, (parent, kind) in enumerate(zip(parents, kinds, strict=True), start=1)
    ]
    if mimics:
        joints = _with_mimics(rng, joints)
    weightless = _weightless(rng, joints) if massless else set()
    links = [Link(name, Inertia() if name in weightless else random_inertia(rng)) for name in names]
    return Description(f"random{bodies}", tuple(links), tuple(joints), "<random tree>")


def _joint(rng: np.random.Generator, kind: str, name: str, parent: str, child: str) -> Joint:
    if kind == "fixed":
        return Joint(name, kind, parent, child, random_placement(rng))
    lower, upper = np.sort(rng.uniform(-3.0, 3.0, size=2)).tolist()
    limits = Limits(lower, upper, rng.uniform(1.0, 10.0), rng.uniform(1.0, 100.0))
    if kind == "continuous":
        limits = replace(limits, lower=-np.inf, upper=np.inf)
    return Joint(
        name,
        kind,
        parent,
        child,
        placement=random_placement(rng),
        axis=_axis(rng) if kind in USES_AXIS else np.array([1.0, 0.0, 0.0]),
        pitch=rng.uniform(-0.1, 0.1) if kind == "helical" else 0.0,
        limits=limits,
        damping=rng.uniform(0.0, 1.0),
        friction=rng.uniform(0.0, 1.0),
    )


def _axis(rng: np.random.Generator) -> Array:
    """Coordinate axes as often as others, because readers give them special treatment."""
    if rng.random() < 0.5:
        return random_direction(rng)
    axis: Array = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    return axis


def _with_mimics(rng: np.random.Generator, joints: list[Joint]) -> list[Joint]:
    """Some joints follow an earlier one of one degree of freedom, which may follow another."""
    result: list[Joint] = []
    for joint in joints:
        leaders = [other.name for other in result if other.type in SINGLE_DOF]
        if joint.type in SINGLE_DOF and leaders and rng.random() < 0.4:
            multiplier = float(rng.uniform(0.3, 2.0) * rng.choice([-1.0, 1.0]))
            mimic = Mimic(str(rng.choice(leaders)), multiplier, float(rng.uniform(-1.0, 1.0)))
            joint = replace(joint, mimic=mimic)
        result.append(joint)
    return result


def _weightless(rng: np.random.Generator, joints: list[Joint]) -> set[str]:
    """Links that may go without mass: frames on fixed joints, and links between two simple joints.

    Both joints of a link in between have one degree of freedom and the bodies on either side
    have mass: longer massless stretches can have more motions than the body behind them.
    """
    by_child = {joint.child: joint for joint in joints}
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    chosen: set[str] = set()
    heavy: set[str] = set()
    for link, joint in by_child.items():
        if link in heavy or joint.parent in chosen or rng.random() < 0.5:
            continue
        carried = [j.child for j in below.get(link, []) if j.type in SINGLE_DOF]
        if joint.type == "fixed":
            chosen.add(link)
        elif joint.type in SINGLE_DOF and carried:
            chosen.add(link)
            heavy.add(carried[0])
    return chosen
