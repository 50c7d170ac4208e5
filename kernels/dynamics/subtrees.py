"""Sums over subtrees in one inward sweep: each body adds its own numbers to those that its children
have handed on, and hands on the sum.

What is handed on lies with the parent. The first child that comes overwrites what is there, so that
nothing has to be cleared before; on the way inward that is the last one. Bodies and columns are in
depth-first order: a last child's subtree ends where its parent's does.
"""

from __future__ import annotations

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.tuples import (
    accumulate6,
    accumulate10,
    accumulate12,
    accumulate21,
    store6,
    store10,
    store12,
    store21,
)


@kernel
def has_children(body):
    return body.end > body.column + body.columns


@kernel
def comes_first(work, body):
    """Whether no other child of its parent has handed on anything before."""
    return body.end == work.bodies[body.parent].end


@kernel
def hand_on6(work, body, x, values):
    """Give six numbers of a body to x of its parent."""
    if comes_first(work, body):
        store6(x, values)
    else:
        accumulate6(x, values)


@kernel
def hand_on10(work, body, x, values):
    if comes_first(work, body):
        store10(x, values)
    else:
        accumulate10(x, values)


@kernel
def hand_on12(work, body, x, values):
    if comes_first(work, body):
        store12(x, values)
    else:
        accumulate12(x, values)


@kernel
def hand_on21(work, body, x, values):
    if comes_first(work, body):
        store21(x, values)
    else:
        accumulate21(x, values)
