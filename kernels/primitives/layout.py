"""The arrays that kernels work on: the model (immutable) and the workspace (scratch).

Each is an array of records, so that a kernel reads `state.R` and not column 17 of a table. The
record types are the same for every robot; only the lengths differ, and code compiled once
serves all robots.

Every joint is reduced to one of five kinds, and to motion *columns*: one per degree of freedom.
A body's frame is turned at load time so that its joint's axis is its z axis. Planar, translation
and Euler-angle joints are chains of one-DoF joints with massless bodies between them. After the
position sweep nothing depends on the kind of a joint any more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from torqued.kernels.primitives.arrays import Floats, Indices, Records, array

REVOLUTE = 0  # turns about z by q
PRISMATIC = 1  # slides along z by q
HELICAL = 2  # turns about z by q and slides along z by pitch * q
SPHERICAL = 3  # unit quaternion x y z w; v is the angular velocity in body axes
FLOATING = 4  # position, then unit quaternion; v is the twist in body axes

#: Coordinates of a joint by its kind.
COORDINATES = np.array([1, 1, 1, 4, 7])


#: Of the model.
WORLD = np.dtype(
    [
        ("gravity", "f8", (3,)),  # acceleration of free fall, world axes
        ("anchor", "i8"),  # the body whose position is the frame's origin
        ("branched", "i8"),  # 1 where some pairs of columns are not on one path
    ],
    align=True,
)

#: Of the model.
BODY = np.dtype(
    [
        ("parent", "i8"),  # -1 for the fixed world
        ("kind", "i8"),  # REVOLUTE … FLOATING
        ("q", "i8"),  # index of the first coordinate
        ("column", "i8"),  # index of the first motion column
        ("columns", "i8"),  # how many motion columns
        ("depth", "i8"),  # motion columns of all ancestors together
        ("end", "i8"),  # one past the last motion column of the subtree
        ("run", "i8"),  # columns run … column + columns are one unbroken stretch of the path;
        ("above", "i8"),  # the body above that stretch (-1: none)
        ("R", "f8", (9,)),  # rotation of the joint frame in the parent body's frame
        ("p", "f8", (3,)),  # its position
        ("pitch", "f8"),  # HELICAL only, m/rad
        ("mass", "f8"),
        ("com", "f8", (3,)),  # center of mass in the body's frame
        ("inertia", "f8", (6,)),  # rotational inertia about it, body axes
        ("armature", "f8", (6,)),  # rotor inertia per motion column
    ],
    align=True,
)

#: Scratch per body. Motions and forces are at the common origin in world axes; each line names
#: what writes the field.
STATE = np.dtype(
    [
        ("R", "f8", (9,)),  # rotation body → world; body_poses
        ("p", "f8", (3,)),  # position relative to the origin; body_poses
        ("v", "f8", (6,)),  # twist; body_velocities, bias_accelerations
        ("a", "f8", (6,)),  # spatial acceleration; kinematics, carry_reference, solve
        ("f", "f8", (6,)),  # force, then that on the whole subtree; rnea, tracking, products, solve
        ("I", "f8", (10,)),  # composite inertia (m, h, Ī) about the origin; composite.py
        ("B", "f8", (12,)),  # composite Coriolis factor; composite_factors
        ("N", "f8", (15,)),  # what [EW21] eq. 9 adds to B: skew-symmetric; composite_skew
        ("IA", "f8", (21,)),  # articulated inertia; articulated
    ],
    align=True,
)

#: Scratch per body of sweeps that most kernels do not make: apart, so that theirs stay together.
AUXILIARY = np.dtype(
    [
        ("w", "f8", (6,)),  # twist of a second velocity w, Σ S w; carry, carry_reference
        ("wdot", "f8", (6,)),  # Σ Ṡ w; coriolis_product
        ("s", "f8", (6,)),  # twist of a velocity error s, Σ S s; carry_error
        ("h", "f8", (6,)),  # momentum, then that of the whole subtree; momentum.py, products
        ("Idot", "f8", (10,)),  # rate of the composite inertia; composite_rates
    ],
    align=True,
)

#: Scratch per motion column.
COLUMN = np.dtype(
    [
        ("S", "f8", (6,)),  # motion column at the origin; body_poses
        ("Sdot", "f8", (6,)),  # its rate; body_velocities
        ("U", "f8", (6,)),  # IA S; articulated
        ("D", "f8"),  # 1 / (Sᵀ IA S + armature); articulated
        ("x", "f8"),  # one number per column; solve
        # To an odd count of words: columns then begin at all places of a cache line in turn. With
        # an even one crba and rnea take 2 % longer.
        ("spare", "f8"),
    ],
    align=True,
)

FRAME = np.dtype(
    [
        ("body", "i8"),  # -1: fixed in the world
        ("R", "f8", (9,)),  # rotation of the frame in the body's frame
        ("p", "f8", (3,)),  # its position
    ],
    align=True,
)


class WorkSizes(NamedTuple):
    """Of a model."""

    bodies: int
    columns: int
    coordinates: int


class Work(NamedTuple):
    """What every kernel takes first: the model and its scratch memory."""

    # The model: never written, and shared by the workspaces of all threads.
    world: Records = array(WORLD, 1)
    bodies: Records = array(BODY, "bodies")
    body_of: Indices = array(int, "columns")  # the body that a column moves
    ends: Indices = array(int, "columns")  # one past the last column that moves with a column
    # Scratch: belongs to one workspace.
    origin: Floats = array(float, 3)  # world position of the frame's origin; body_poses
    states: Records = array(STATE, "bodies")
    auxiliary: Records = array(AUXILIARY, "bodies")
    columns: Records = array(COLUMN, "columns")
    turns: Floats = array(float, 2, "coordinates")  # cos and sin of each; fill_turns
    # Per column, all columns side by side: F2, F1, F3 of coriolis.py; B(S) and ω of christoffel.py.
    F: Floats = array(float, 15, "columns")
    h: Floats = array(float, "columns", 3, "columns")  # per pair of columns; christoffel


#: Argument types of entries.
WORK = types.int64  # a workspace's handle
VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")
TENSOR = types.Array(types.float64, 3, "C")


def empty_records(kind: np.dtype[Any], count: int) -> Any:
    """Zeroed ones, whose fields are attributes."""
    return np.zeros(count, kind).view(np.recarray)


FRAMES = typeof(empty_records(FRAME, 1))
INDICES = types.Array(types.int64, 1, "C")
INTEGER = types.int64
