"""Walking over the tree: the motion columns of a body, and sums over subtrees in one inward sweep.

In such a sweep each body adds its own numbers to those that its children have passed on, and passes
on the sum. What is passed on lies with the parent. The first child that comes overwrites what is
there, so that nothing has to be cleared before; inward that is the last child. Bodies
and columns are in depth-first order: a last child's subtree ends where its parent's does.
"""

import numpy as np

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
def column_at(body, k):
    """The k-th motion column of a body.

    Unsigned, as an index that may be negative is looked at in every use, lest it counts from the
    end: a tenth of the instructions of a sweep. Sums with whole numbers become floats: nothing but
    an index.
    """
    return np.uintp(body.column + k)


@kernel
def columns_of(body):
    """All of them."""
    return range(column_at(body, 0), column_at(body, body.columns))


@kernel
def has_children(body):
    return body.end > body.column + body.columns


@kernel
def comes_first(work, body):
    """Whether no other child of its parent has accumulated anything before."""
    return body.end == work.bodies[body.parent].end


@kernel
def accumulate_to_parent6(work, body, x, values):
    """Add six numbers of a body to x of its parent; the first child overwrites what is there."""
    if comes_first(work, body):
        store6(x, values)
    else:
        accumulate6(x, values)


@kernel
def accumulate_to_parent10(work, body, x, values):
    if comes_first(work, body):
        store10(x, values)
    else:
        accumulate10(x, values)


@kernel
def accumulate_to_parent12(work, body, x, values):
    if comes_first(work, body):
        store12(x, values)
    else:
        accumulate12(x, values)


@kernel
def accumulate_to_parent21(work, body, x, values):
    if comes_first(work, body):
        store21(x, values)
    else:
        accumulate21(x, values)
