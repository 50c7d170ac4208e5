"""Scratch memory of the derivatives, beside the workspace that all kernels share.

Per motion column k of a body with parent λ (docs/KERNELS.md, "Derivatives of the equations of
motion"):

    Ψ̇ = v_λ × S                 the rate of S if the joint stood still; Ṡ for joints of one DoF
    Ψ̈ = a_λ × S + v_λ × Ψ̇       the same of Ψ̇, with gravity in a_λ
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from torqued.kernels.primitives.arrays import Floats, Indices, Layout, Memory, Records, array
from torqued.kernels.primitives.lanes import LANES
from torqued.kernels.primitives.layout import Work

#: Columns of the path from the root to the current body, four side by side. Bodies are in
#: depth-first order, so writing column c at position depth(c) leaves exactly its ancestors before.
DERIVATIVE_PATH = np.dtype(
    [
        ("S", "f8", (6, LANES)),
        ("rate", "f8", (6, LANES)),  # Ṡ + Ψ̇
        ("second", "f8", (6, LANES)),  # Ψ̈
        ("spin", "f8", (3, LANES)),  # the angular part of Ψ̇
        ("slide", "f8", (3, LANES)),  # the linear part of Ψ̇; second order only
        ("column", "i8", (LANES,)),
        ("out", "f8", (6, LANES)),  # results per column, before they are scattered
    ],
    align=True,
)

#: What second derivatives need of a column c and the columns x of a path block (second_order.py,
#: pair_vectors.py), [angular; linear] where there are six.
PAIR = np.dtype(
    [
        ("B", "f8", (6, LANES)),  # B(S_c) S_x
        ("h", "f8", (3, LANES)),  # −B(S_c)ᵀ S_x
        ("turn", "f8", (3, LANES)),  # 2 (ω_x × B^Cᵀ S_c − B(S_c)ᵀ Ψ̇_x)
        ("slope", "f8", (3, LANES)),  # 2 Ḃ_cᵀ S_x
        ("q", "f8", (6, LANES)),  # K_c Ψ̈_x + 2 Ḃ_c Ψ̇_x + S_x ×* G_c
        ("v", "f8", (6, LANES)),  # K_c (Ṡ_x + Ψ̇_x) + 2 Ḃ_c S_x
        ("force", "f8", (6, LANES)),  # 2 B(S_c) Ψ̇_x + S_x ×* H_c
    ],
    align=True,
)

#: Results of columns c, x and four columns y, before they are scattered: of which torque, and what
#: it is differentiated by.
TRIPLE = np.dtype(
    [
        (name, "f8", (LANES,))
        for name in (
            *("c_qq", "x_qq", "y_qq"),  # by the positions of the other two
            *("c_qx_vy", "c_qy_vx", "x_qc_vy", "y_qc_vx", "y_qx_vc"),
            *("c_vv", "y_vv"),  # half of those by the velocities of the other two
        )
    ],
    align=True,
)


class SpaceSizes(NamedTuple):
    """Of a workspace, and of its columns in blocks of four."""

    bodies: int
    columns: int
    blocks: int  # of the path
    padded: int  # columns, in whole pairs of blocks
    strips: int  # blocks of columns


class DerivativeSpace(NamedTuple):
    """What kernels of this folder take second."""

    # Of the model: never written.
    related: Indices = array(int, "strips", "columns")  # columns on one path with any of a block's
    related_count: Indices = array(int, "strips")
    # Scratch. Matrices are in padded rows.
    path: Records = array(DERIVATIVE_PATH, "blocks")
    pairs: Records = array(PAIR, "blocks")  # of one column with its path; second order
    triple: Records = array(TRIPLE, 1)  # second order
    force_factor: Floats = array(float, "bodies", 12)  # of wrenches on a subtree; external_factors
    gain: Floats = array(float, "bodies", 6)  # what a adds to a body's acceleration; forward
    push: Floats = array(float, "bodies", 6)  # Σ I^C S a of the columns below a body; forward
    rate_v: Floats = array(float, "bodies", 6)  # twist and its rates, spatial; rates
    rate_a: Floats = array(float, "bodies", 6)
    rate_j: Floats = array(float, "bodies", 6)
    rate_s: Floats = array(float, "bodies", 6)
    rate_f: Floats = array(float, "bodies", 6)  # force on a subtree and its rates; rates
    rate_f1: Floats = array(float, "bodies", 6)
    rate_f2: Floats = array(float, "bodies", 6)
    a: Floats = array(float, "columns")  # accelerations; forward
    M: Floats = array(float, "columns", "padded")  # M, then M⁻¹; forward
    L: Floats = array(float, "columns", "padded")  # M = Lᵀ L; forward
    dq: Floats = array(float, "columns", "padded")  # ∂τ/∂q; forward
    dv: Floats = array(float, "columns", "padded")  # ∂τ/∂v; forward


SPACE_LAYOUT = Layout(DerivativeSpace, SpaceSizes)
open_space = SPACE_LAYOUT.open

#: Argument type of entries: the address of a space.
SPACE = types.int64


def derivative_space(work: Work) -> Memory[DerivativeSpace, SpaceSizes]:
    """For the model of a workspace."""
    n = len(work.columns)
    strips = -(-n // LANES)
    padded = -(-n // (2 * LANES)) * 2 * LANES
    deepest = int(max(work.bodies["depth"] + work.bodies["columns"], default=0))
    sizes = SpaceSizes(len(work.bodies), n, -(-deepest // LANES) + 1, padded, strips)
    memory = SPACE_LAYOUT.allocate(sizes)
    related = related_columns(work)
    for strip in range(strips):
        first = max(min(strip * LANES, n - LANES), 0)  # the last block overlaps the one before
        found = np.flatnonzero(related[:, first : first + LANES].any(axis=1))
        memory.arrays.related[strip, : len(found)] = found
        memory.arrays.related_count[strip] = len(found)
    return memory


def related_columns(work: Work) -> NDArray[np.bool_]:
    """Which columns are on one path with which: where M can be other than zero."""
    n = len(work.columns)
    related = np.zeros((n, n), bool)
    for body in work.bodies:
        own = slice(body.column, body.column + body.columns)
        related[own, body.column : body.end] = True
        related[body.column : body.end, own] = True
    return related
