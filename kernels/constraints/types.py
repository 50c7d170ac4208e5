"""Constraints other than contacts, as users state them, and the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.kernels.model.description import Array

#: Rows that a loop may hold: turns about, then shifts along its axes.
ROWS = ("rx", "ry", "rz", "x", "y", "z")

#: Kinds of loops, by the joints that they are, and which rows they hold. Their axis is z.
LOOP_KINDS: dict[str, tuple[str, ...]] = {
    "weld": ROWS,
    "hinge": ("rx", "ry", "x", "y", "z"),
    "slider": ("rx", "ry", "rz", "x", "y"),
    "cylinder": ("rx", "ry", "x", "y"),
    "ball": ("x", "y", "z"),
    "plane": ("rx", "ry", "z"),
}


@dataclass(frozen=True)
class Loop:
    """Two frames that hold each other along chosen axes, which move with `other`: a joint that
    closes a loop.

    frame        one of them
    other        the other one; default: the world
    kind         "weld", "hinge", "slider", "cylinder", "ball" or "plane"
    held         rows in place of a kind: some of "rx", "ry", "rz" (turns) and "x", "y", "z"
    axis         the joint's axis, or a rotation (3, 3) whose columns are its axes: in `other`
    point        where on `frame`, in its own axes, m
    other_point  where on `other`
    target       pose (4, 4) of `frame` at its point, relative to `other` at its, where all errors
                 are zero; default: the two coincide
    stiffness    Baumgarte gain on position errors, 1/s²
    damping      Baumgarte gain on velocity errors, 1/s
    """

    frame: str
    other: str | None = None
    kind: str = "hinge"
    held: Any = None
    axis: Any = (0.0, 0.0, 1.0)
    point: Any = (0.0, 0.0, 0.0)
    other_point: Any = (0.0, 0.0, 0.0)
    target: Any = None
    stiffness: float = 0.0
    damping: float = 0.0


#: What a function of a `Rows` gives: G (k, nv), γ (k,), and the position errors (k,) or not.
RowTerms = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    """The user's own constraints: G a = γ, in native coordinates.

    of          a function of q and v that gives G (k, nv), γ (k,), and where they are known the
                position errors (k,), whose rate is G v; or these as numbers
    stiffness   Baumgarte gain on position errors, 1/s²
    damping     Baumgarte gain on velocity errors, 1/s
    """

    of: Callable[[Array, Array], RowTerms] | RowTerms
    stiffness: float = 0.0
    damping: float = 0.0


@dataclass(frozen=True)
class LoopForce:
    """What a loop exerts on its `frame`, at its point, along its axes."""

    loop: Loop
    force: Array  # (3,) N
    moment: Array  # (3,) N m about the same axes
    axes: Array  # (3, 3): columns are the axes in the world
    redundant: bool  # other constraints imply (part of) this one

    @property
    def wrench(self) -> Array:
        """[moment; force] at the point of `frame` in world axes."""
        return np.concatenate([self.axes @ self.moment, self.axes @ self.force])


@dataclass(frozen=True)
class ConstraintTerms:
    """A set of constraints: m rows, in the given order."""

    G: Array  # (m, nv) Jacobian
    position: Array  # (m,) errors, rad and m; zero where a contact has no target
    velocity: Array  # (m,) G v
    gamma: Array  # (m,) G a = γ
    rows: tuple[slice, ...]  # of each constraint


@dataclass(frozen=True)
class Assembly:
    """A state that satisfies constraints, near a guess."""

    q: Array  # (nq,)
    v: Array  # (nv,)
    error: float  # the largest position error that is left, rad or m
    speed: float  # the largest velocity error that is left, rad/s or m/s
    iterations: int
    converged: bool


@dataclass(frozen=True)
class ConstrainedTorques:
    """Torques of actuated joints for wanted accelerations under constraints."""

    tau: Array  # (nv,) zero for what is not actuated
    efforts: Array  # (k,) of the actuators: τ = B efforts
    a: Array  # (nv,) resulting accelerations
    force: Array  # (m,) of the constraints
    exact: bool  # whether they are the wanted ones
    error: float  # the largest difference between the two, rad/s² or m/s²
    fully_actuated: bool  # whether actuators can cause every motion that constraints leave free
    G: Array  # (m, nv)


def are_names(actuated: Any) -> bool:
    """Whether actuated joints are named, rather than a map from efforts given."""
    return isinstance(actuated, list | tuple) and all(isinstance(x, str) for x in actuated)
