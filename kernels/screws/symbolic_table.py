"""Times of both ways to Γ as expressions, for planar trees as [EW21] table 2 has them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from torqued.kernels.model.assemble import assemble
from torqued.kernels.model.description import Description, Inertia, Joint, Link, Pose
from torqued.kernels.model.model import Model
from torqued.kernels.screws.symbolic import Equations


@dataclass(frozen=True)
class Comparison:
    """Seconds of processor time of both ways, and whether they gave the same polynomials."""

    bodies: int
    partials: float
    algorithm: float
    equal: bool


def planar_tree(bodies: int) -> Model:
    """Links of half a metre that turn in one plane, two on each."""
    x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    inertia = Inertia(1.0, 0.25 * x, 0.02 * np.eye(3))
    links, joints = [Link("base")], []
    for k in range(bodies):
        parent = "base" if k == 0 else f"link_{(k - 1) // 2}"
        place = Pose(np.eye(3), np.zeros(3) if k == 0 else 0.5 * x)
        joints.append(Joint(f"joint_{k}", "continuous", parent, f"link_{k}", place, z))
        links.append(Link(f"link_{k}", inertia))
    description = Description(f"planar{bodies}", tuple(links), tuple(joints))
    return assemble(description, "fixed", np.array([0.0, -9.81, 0.0]), ())


def compare(model: Model) -> Comparison:
    """Both ways from the model on, each with what it needs."""
    start = time.process_time()
    partials = Equations(model, motion=False).christoffel_by_partials()
    middle = time.process_time()
    algorithm = Equations(model, motion=False).christoffel()
    end = time.process_time()
    return Comparison(len(model.bodies), middle - start, end - middle, partials == algorithm)


def lines(comparisons: Sequence[Comparison]) -> list[list[str]]:
    """Rows of a table, the first its head."""
    return [
        ["way to Γ", *(f"N = {c.bodies}" for c in comparisons)],
        ["symbolic partials of M, eq. 4", *(f"{c.partials:.2f} s" for c in comparisons)],
        ["Algorithm 2 with symbolic inputs", *(f"{c.algorithm:.2f} s" for c in comparisons)],
        ["the same polynomials", *("yes" if c.equal else "NO" for c in comparisons)],
    ]
