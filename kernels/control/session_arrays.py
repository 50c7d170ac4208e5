"""The numbers of a session: state, references, gains, limits and results, in one stretch of memory.

It begins with a table of where each array is, so that compiled code finds them from one address.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.workspace import pointer

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Sizes(NamedTuple):
    """How many numbers of each kind a session has."""

    nq: int
    nv: int
    nq_free: int  # of the tree with mimic joints free
    nv_free: int
    torques: int  # nv, or 0 for a stream
    unactuated: int  # rows of torque that nothing can act on: 6 with a floating base


class Numbers(NamedTuple):
    """The arrays of a control."""

    state: Array  # q, v, references: as in the state frame
    gains: Array  # as the law wants them
    target: Array  # where they are going
    wanted: Array  # where they are to go next: Python's, until it says so
    memory: Array  # of the law, from tick to tick
    out: Array  # results of this tick
    effort: Array  # (torques,) limits
    rate: Array  # (torques,) limits of torque rates, per second
    held: Array  # (torques,) newest torque of the law
    last: Array  # (torques,) newest torque sent
    q_free: Array  # (nq_free,)
    v_free: Array  # (nv_free,)
    q_other: Array  # (nq_free,) reference
    w_free: Array  # (nv_free,) reference velocity
    a_free: Array  # (nv_free,) reference acceleration
    s_free: Array  # (nv_free,) error
    tau_free: Array  # (nv_free,)
    rows: Array  # (8, nv) scratch of laws
    square: Array  # (5, nv_free, nv_free) scratch of laws that form matrices
    observer: Array  # gains and memory of the momentum observer; empty without one
    kept: Array  # memory and observer as they were before this tick
    q_multiplier: Array  # (nq_free,) mimic joints: q_free = multiplier q[index] + offset
    q_offset: Array  # (nq_free,)
    v_multiplier: Array  # (nv_free,)
    q_index: Indices  # (nq_free,)
    v_index: Indices  # (nv_free,)
    leaders: Indices  # (nv,) where a robot's own velocities are among the free ones
    quaternions: Indices  # where quaternions begin in q


#: Arrays of whole numbers; they come last.
INDEX_FIELDS = ("q_index", "v_index", "leaders", "quaternions")
#: Words of the head: sizes, then where each array begins and how long it is.
HEAD = len(Sizes._fields) + 2 * len(Numbers._fields)


def allocate(sizes: Sizes, lengths: dict[str, int]) -> tuple[Array, Numbers]:
    """Fresh memory, and its arrays; `lengths` are those that the sizes do not tell."""
    free, nv = sizes.nv_free, sizes.nv
    known = {
        **dict.fromkeys(("effort", "rate", "held", "last"), sizes.torques),
        **dict.fromkeys(
            ("q_free", "q_other", "q_multiplier", "q_offset", "q_index"), sizes.nq_free
        ),
        **dict.fromkeys(
            ("v_free", "w_free", "a_free", "s_free", "tau_free", "v_multiplier", "v_index"), free
        ),
        "leaders": nv,
        "rows": 8 * nv,
        "square": 5 * free * free,
    }
    counts = [(lengths | known)[name] for name in Numbers._fields]
    starts = HEAD + np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    memory = np.zeros(HEAD + sum(counts))
    head = memory[:HEAD].view(np.int64)
    head[: len(sizes)] = sizes
    head[len(sizes) :] = np.stack([starts, counts], axis=1).ravel()
    arrays: list[Any] = [
        memory[start : start + count] for start, count in zip(starts, counts, strict=True)
    ]
    for k, name in enumerate(Numbers._fields):
        if name in INDEX_FIELDS:
            arrays[k] = arrays[k].view(np.int64)
    return memory, Numbers(*arrays)


@kernel
def sizes_of(control):
    head = carray(pointer(control.data), 6, np.int64)
    return Sizes(head[0], head[1], head[2], head[3], head[4], head[5])


@kernel
def part(control, k):
    """The k-th array."""
    head = carray(pointer(control.data), HEAD, np.int64)
    start, count = head[6 + 2 * k], head[7 + 2 * k]
    return carray(pointer(control.data + np.uint64(8 * start)), count, np.float64)


@kernel
def index_part(control, k):
    """The same for whole numbers."""
    head = carray(pointer(control.data), HEAD, np.int64)
    start, count = head[6 + 2 * k], head[7 + 2 * k]
    return carray(pointer(control.data + np.uint64(8 * start)), count, np.int64)


@kernel
def numbers_of(control):
    """The arrays of a control, in the order of `Numbers`."""
    return Numbers(
        part(control, 0),
        part(control, 1),
        part(control, 2),
        part(control, 3),
        part(control, 4),
        part(control, 5),
        part(control, 6),
        part(control, 7),
        part(control, 8),
        part(control, 9),
        part(control, 10),
        part(control, 11),
        part(control, 12),
        part(control, 13),
        part(control, 14),
        part(control, 15),
        part(control, 16),
        part(control, 17),
        part(control, 18),
        part(control, 19),
        part(control, 20),
        part(control, 21),
        part(control, 22),
        part(control, 23),
        index_part(control, 24),
        index_part(control, 25),
        index_part(control, 26),
        index_part(control, 27),
    )
