"""The robot families of [EW21] section 5: chains, binary trees, bipeds and quadrupeds of any size.

Axes, placements and inertias are random and the same for the same seed. [EW21] leaves their ranges
open; these are of a robot's size, and every inertia is one that a real body can have.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from torqued.kernels.input_checks import choice, whole_number
from torqued.kernels.model.checks import MAX_DOFS
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Limits, Link, Pose
from torqued.kernels.model.rotations import rotation_from_quaternion

LIMITS = Limits(lower=-math.pi, upper=math.pi, velocity=10.0, effort=100.0)

LEGS = {
    "biped": ("left", "right"),
    "quadruped": ("front_left", "front_right", "hind_left", "hind_right"),
}


def family(kind: str, dofs: int, seed: int = 0) -> Description:
    """A member of a family with `dofs` revolute joints.

    Chains and trees stand on a massless link `base`, meant to be fixed. The root of bipeds and
    quadrupeds is the main body, meant to float; `dofs` then counts the joints of the legs.
    """
    choice("family", kind, FAMILIES)
    whole_number("dofs", dofs, 1, MAX_DOFS)
    whole_number("seed", seed, 0, 2**64 - 1)
    robot = _Growing(np.random.default_rng(seed), digits=len(str(dofs)))
    FAMILIES[kind](robot, kind, int(dofs))
    name = f"{kind}{dofs}"
    source = f"<family {kind} {dofs} seed {seed}>"
    return Description(name, tuple(robot.links), tuple(robot.joints), source)


class _Growing:
    """A robot to which links are added one by one.

    Numbers in names have equal `digits`, so that document order is also the alphabetical order
    in which other libraries number joints.
    """

    def __init__(self, rng: np.random.Generator, digits: int) -> None:
        self.rng = rng
        self.digits = digits
        self.links: list[Link] = []
        self.joints: list[Joint] = []

    def root(self, name: str, inertia: Inertia) -> str:
        self.links.append(Link(name, inertia))
        return name

    def hang(self, parent: str, number: int, limb: str = "") -> str:
        """Add `link_<limb><number>` by the revolute joint `joint_<limb><number>`."""
        suffix = f"{limb}{number:0{self.digits}}"
        link = f"link_{suffix}"
        self.links.append(Link(link, random_inertia(self.rng)))
        self.joints.append(
            Joint(
                name=f"joint_{suffix}",
                type="revolute",
                parent=parent,
                child=link,
                placement=random_placement(self.rng),
                axis=random_direction(self.rng),
                limits=LIMITS,
            )
        )
        return link


def _chain(robot: _Growing, kind: str, dofs: int) -> None:
    link = robot.root("base", Inertia())
    for number in range(1, dofs + 1):
        link = robot.hang(link, number)


def _tree(robot: _Growing, kind: str, dofs: int) -> None:
    """Every link carries two others until the links run out, level by level."""
    # Places as in a heap (the children of place p are 2p and 2p + 1), visited depth first.
    waiting = [(1, robot.root("base", Inertia()))]
    while waiting:
        place, parent = waiting.pop()
        link = robot.hang(parent, len(robot.links))
        waiting += [(child, link) for child in (2 * place + 1, 2 * place) if child <= dofs]


def _legged(robot: _Growing, kind: str, dofs: int) -> None:
    """Legs of equal length; where dofs do not divide evenly, the first ones are longer by one."""
    body = robot.root("body", random_inertia(robot.rng, mass=10.0, size=0.3))
    legs = LEGS[kind]
    for index, leg in enumerate(legs):
        link = body
        for number in range(1, dofs // len(legs) + (index < dofs % len(legs)) + 1):
            link = robot.hang(link, number, f"{leg}_")


FAMILIES: dict[str, Callable[[_Growing, str, int], None]] = {
    "chain": _chain,
    "tree": _tree,
    "biped": _legged,
    "quadruped": _legged,
}


def random_direction(rng: np.random.Generator) -> Array:
    """A unit vector, uniform on the sphere."""
    direction = rng.normal(size=3)
    unit: Array = direction / np.linalg.norm(direction)
    return unit


def random_rotation(rng: np.random.Generator) -> Array:
    """Uniform over all rotations."""
    return rotation_from_quaternion(*rng.normal(size=4))


def random_placement(rng: np.random.Generator) -> Pose:
    """0.1 to 0.5 m away, turned in any way."""
    return Pose(random_rotation(rng), rng.uniform(0.1, 0.5) * random_direction(rng))


def random_inertia(rng: np.random.Generator, mass: float = 1.0, size: float = 0.1) -> Inertia:
    """Around `mass` kg spread over about `size` m, as a real body's."""
    mass = mass * rng.uniform(0.5, 1.5)
    # The second moments of the mass along three axes. Moments of inertia made from them keep
    # the triangle inequality.
    x, y, z = mass * (size * rng.uniform(0.3, 1.0, size=3)) ** 2
    R = random_rotation(rng)
    rotational = R @ np.diag([y + z, x + z, x + y]) @ R.T
    com = size * rng.uniform(0.0, 1.0) * random_direction(rng)
    return Inertia(mass, com, (rotational + rotational.T) / 2.0)
