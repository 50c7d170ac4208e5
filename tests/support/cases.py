"""Random robots in random states for property tests, as strategies of hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.literal_tree import Base, LiteralTree
from support.random_trees import ALL_TYPES, random_tree
from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description

BASES: tuple[Base, ...] = ("fixed", "floating")

#: Joint types whose velocities are the rates of their coordinates.
RATES = tuple(kind for kind in ALL_TYPES if kind not in ("spherical", "floating"))

GRAVITY = (1.2, -2.3, -9.4)


@dataclass(frozen=True)
class Case:
    """A robot, a state away from the singularities of Euler angles, and an acceleration."""

    description: Description
    base: Base
    robot: Robot
    q: Array
    v: Array
    a: Array
    rng: np.random.Generator

    def vector(self) -> Array:
        """Another vector like v."""
        return self.rng.uniform(-3.0, 3.0, self.robot.nv)

    def free_tree(self) -> LiteralTree:
        """The papers' view of the robot. All its joints are free."""
        return LiteralTree(self.description, self.base)

    def moved(self, time: float) -> Array:
        """q after keeping v for some time."""
        return self.robot.integrate(self.q, self.v, time)

    @property
    def step(self) -> float:
        """For finite differences along `moved`: a twentieth of a radian or less altogether."""
        return 0.05 / max(1.0, float(np.abs(self.v).sum()))

    def frame(self) -> str:
        """Any link or joint."""
        return str(self.rng.choice(self.robot.frame_names))


def with_random_armature(description: Description, rng: np.random.Generator) -> Description:
    """Half of the joints have a rotor."""
    joints = tuple(
        replace(joint, armature=float(rng.uniform(0.0, 0.2)) if rng.random() < 0.5 else 0.0)
        for joint in description.joints
    )
    return replace(description, joints=joints)


def random_case(
    seed: int, bodies: int, base: Base, types: Sequence[str] = ALL_TYPES, mimics: bool = False
) -> Case:
    """The same for the same arguments."""
    rng = np.random.default_rng(seed)
    description = with_random_armature(random_tree(rng, bodies, types, mimics), rng)
    robot = Robot.from_description(description, base, gravity=GRAVITY)
    tree = LiteralTree(description, base)
    q = tree.random_configuration(rng)[robot.model.mimics.leaders_q]
    v, a = rng.uniform(-3.0, 3.0, (2, robot.nv))
    return Case(description, base, robot, q, v, a, rng)


def examples(
    count: int, /, **strategies: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test with so many examples of its arguments."""
    return lambda test: settings(max_examples=count)(given(**strategies)(test))


@st.composite
def cases(
    draw: st.DrawFn,
    types: Sequence[str] = ALL_TYPES,
    bases: Sequence[Base] = BASES,
    mimics: bool | None = None,
    least: int = 1,
    most: int = 12,
) -> Case:
    """Trees of `least` to `most` moving links; with or without mimics where that is left open."""
    seed = draw(st.integers(0, 2**32 - 1))
    bodies = draw(st.integers(least, most))
    base = draw(st.sampled_from(bases))
    follow = draw(st.booleans()) if mimics is None else mimics
    kinds = random_tree(np.random.default_rng(seed), bodies, types, follow).joints
    assume(base == "floating" or any(joint.type != "fixed" for joint in kinds))
    return random_case(seed, bodies, base, types, follow)
