"""The numbers of a session: state, references, gains, limits and results, in one stretch of memory.

The first words are sizes, the arrays follow one after the other; both sides know the layout from
the sizes alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray
from numpy.typing import NDArray

from torqued.kernels.workspace import pointer
from torqued.server.compiling import kernel

Array = NDArray[np.float64]

#: Words before the arrays: nq, nv, nq_free, nv_free, references, gains, outputs, is_torque.
HEAD = 8


class Sizes(NamedTuple):
    """How many numbers of each kind a session has."""

    nq: int
    nv: int
    nq_free: int  # of the tree with mimic joints free
    nv_free: int
    references: int
    gains: int
    outputs: int
    is_torque: int


class Numbers(NamedTuple):
    """The arrays of a session."""

    state: Array  # q, v, references: as in the state frame
    gains: Array  # as the law wants them
    effort: Array  # (outputs,) torque limits
    rate: Array  # (outputs,) limits of torque rates, per second
    out: Array  # (outputs,) results of this tick
    held: Array  # (outputs,) newest torque of the law
    last: Array  # (outputs,) newest torque sent
    q_free: Array  # (nq_free,)
    v_free: Array  # (nv_free,)
    out_free: Array  # (nv_free,)
    q_multiplier: Array  # (nq_free,) mimic joints: q_free = multiplier q[index] + offset
    q_offset: Array  # (nq_free,)
    q_index: Array  # (nq_free,) whole numbers
    v_multiplier: Array  # (nv_free,)
    v_index: Array  # (nv_free,)


def lengths(sizes: Any) -> tuple[int, ...]:
    """Lengths of the arrays, in order."""
    limited = sizes.outputs if sizes.is_torque else 0
    return (
        sizes.nq + sizes.nv + sizes.references,
        sizes.gains,
        limited,
        limited,
        sizes.outputs,
        limited,
        limited,
        sizes.nq_free,
        sizes.nv_free,
        sizes.nv_free,
        sizes.nq_free,
        sizes.nq_free,
        sizes.nq_free,
        sizes.nv_free,
        sizes.nv_free,
    )


def allocate(sizes: Sizes) -> tuple[Array, Numbers]:
    """Fresh memory, and its arrays."""
    memory = np.zeros(HEAD + sum(lengths(sizes)))
    memory[:HEAD] = sizes
    arrays = []
    start = HEAD
    for length in lengths(sizes):
        arrays.append(memory[start : start + length])
        start += length
    return memory, Numbers(*arrays)


@kernel
def sizes_of(session):
    head = carray(pointer(session.data), HEAD, np.float64)
    return Sizes(
        int(head[0]),
        int(head[1]),
        int(head[2]),
        int(head[3]),
        int(head[4]),
        int(head[5]),
        int(head[6]),
        int(head[7]),
    )


@kernel
def part(session, start, length):
    return carray(pointer(session.data + np.uint64(8 * start)), length, np.float64)


@kernel
def numbers_of(session, sizes):
    """The arrays of a session, in the order of `lengths`."""
    limited = sizes.outputs if sizes.is_torque else 0
    state = HEAD
    gains = state + sizes.nq + sizes.nv + sizes.references
    effort = gains + sizes.gains
    rate = effort + limited
    out = rate + limited
    held = out + sizes.outputs
    last = held + limited
    q_free = last + limited
    v_free = q_free + sizes.nq_free
    out_free = v_free + sizes.nv_free
    q_multiplier = out_free + sizes.nv_free
    q_offset = q_multiplier + sizes.nq_free
    q_index = q_offset + sizes.nq_free
    v_multiplier = q_index + sizes.nq_free
    v_index = v_multiplier + sizes.nv_free
    return Numbers(
        part(session, state, gains - state),
        part(session, gains, sizes.gains),
        part(session, effort, limited),
        part(session, rate, limited),
        part(session, out, sizes.outputs),
        part(session, held, limited),
        part(session, last, limited),
        part(session, q_free, sizes.nq_free),
        part(session, v_free, sizes.nv_free),
        part(session, out_free, sizes.nv_free),
        part(session, q_multiplier, sizes.nq_free),
        part(session, q_offset, sizes.nq_free),
        part(session, q_index, sizes.nq_free),
        part(session, v_multiplier, sizes.nv_free),
        part(session, v_index, sizes.nv_free),
    )
