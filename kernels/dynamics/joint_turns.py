"""Cosine and sine of all joints' angles: side by side in vector registers, before the sweep over
the bodies needs them one by one. That takes a third of the time. Coordinates that are not
angles have theirs too, which are not read: to leave them out would take longer.

Where each number is that of several states already, the sweep itself computes them.
"""

from numba.extending import overload

from torqued.kernels.compilation.jit import routine
from torqued.kernels.primitives.trigonometry import cos_sin
from torqued.kernels.primitives.wide import WIDE, WIDTH, load_first, store_first


@routine
def fill_turns(q, turns):
    """turns[0] = cos q, turns[1] = sin q."""
    n = turns.shape[1]
    for k in range(0, n, WIDTH):
        c, s = cos_sin(load_first(q, k, n - k))
        store_first(turns, k, n - k, c)
        store_first(turns, n + k, n - k, s)


def prepare_turns(work, q):
    """To be called before `turn_of`."""


def turn_of(work, q, k):
    """(cos, sin) of coordinate k."""
    return cos_sin(q[k])


def _fill_work(work, q):
    fill_turns(q, work.turns)


def _from_work(work, q, k):
    return work.turns[0, k], work.turns[1, k]


#: As kernels are compiled.
_INLINE = {"error_model": "numpy", "forceinline": True}


@overload(prepare_turns, jit_options=_INLINE)
def _prepare_turns(work, q):
    return prepare_turns if q.dtype == WIDE else _fill_work


@overload(turn_of, jit_options=_INLINE)
def _turn_of(work, q, k):
    return turn_of if q.dtype == WIDE else _from_work
