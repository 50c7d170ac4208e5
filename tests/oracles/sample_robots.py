"""Small random robots that the oracles are tried on, and how close two results must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from torqued.kernels.model.description import JOINT_SIZES, Description, Inertia, Joint, Link, Pose

from .literal_joints import rotation_of_quaternion
from .literal_tree import Base, LiteralTree
from .spatial import Array

MOVING = tuple(kind for kind in JOINT_SIZES if kind != "fixed")
BASES: tuple[Base, ...] = ("fixed", "floating")


def close(actual: ArrayLike, expected: ArrayLike, tolerance: float = 1e-10) -> bool:
    """Largest error against largest entry; small matrices count as of size 1e-3 at least."""
    error = np.abs(np.asarray(actual) - np.asarray(expected)).max()
    return bool(error <= tolerance * max(np.abs(expected).max(), 1e-3))


def random_pose(rng: np.random.Generator) -> Pose:
    quaternion = rng.standard_normal(4)
    return Pose(rotation_of_quaternion(quaternion), rng.uniform(-0.5, 0.5, 3))


def random_inertia(rng: np.random.Generator) -> Inertia:
    axes = random_pose(rng).rotation
    xx_yy_zz = rng.uniform(0.02, 0.2, 3)
    moments = xx_yy_zz.sum() - xx_yy_zz  # those of a real mass distribution
    return Inertia(
        rng.uniform(0.5, 3.0), rng.uniform(-0.3, 0.3, 3), axes @ np.diag(moments) @ axes.T
    )


def tree_of(kinds: tuple[str, ...], seed: int, armature: bool = True) -> Description:
    """A branching robot with one joint of each given kind and a few fixed ones, these one behind
    the other. Its joints are in random document order."""
    rng = np.random.default_rng(seed)
    with_fixed = [*kinds, *["fixed"] * (len(kinds) // 3)]
    rng.shuffle(with_fixed)
    links = [Link("link0", random_inertia(rng))]
    joints = []
    welded = ""  # the last link behind a fixed joint
    for n, kind in enumerate(with_fixed, start=1):
        parent = links[rng.integers(max(0, n - 3), n)].name
        if kind == "fixed":
            parent, welded = welded or parent, f"link{n}"
        links.append(Link(f"link{n}", random_inertia(rng)))
        axis = rng.standard_normal(3)
        joints.append(
            Joint(
                name=f"joint{n}",
                type=kind,
                parent=parent,
                child=f"link{n}",
                placement=random_pose(rng),
                axis=axis / np.linalg.norm(axis),
                pitch=rng.uniform(-0.3, 0.3),
                armature=rng.uniform(0.0, 0.2) if armature else 0.0,
            )
        )
    order = rng.permutation(len(joints))
    return Description(f"tree{seed}", tuple(links), tuple(joints[n] for n in order))


def mixed(seed: int, kinds: tuple[str, ...] = MOVING, size: int = 8) -> Description:
    rng = np.random.default_rng(1000 + seed)
    return tree_of(tuple(str(kind) for kind in rng.choice(kinds, size)), seed)


def state(tree: LiteralTree, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    v, a = rng.uniform(-3.0, 3.0, (2, tree.nv))
    return tree.random_configuration(rng), v, a
