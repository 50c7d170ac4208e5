"""Between the arrays of a batch, state after state, and wide numbers, a state in each lane.

Results go out in tiles of four numbers of every state, turned around in registers: written one by
one they would take longer than the computation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.input_checks import QUATERNION_TOLERANCE
from torqued.kernels.primitives.wide import WIDE, WIDTH

#: Squares of the norms between which a quaternion is surely one: a little less than what a call for
#: one state accepts, which has the last word.
MIN_SQUARE, MAX_SQUARE = ((1.0 + sign * 0.999 * QUATERNION_TOLERANCE) ** 2 for sign in (-1.0, 1.0))

#: Numbers of a state that are written at once.
TILE = 4

TILE_TYPE = ir.VectorType(ir.DoubleType(), TILE)
_WIDE = ir.VectorType(ir.DoubleType(), WIDTH)
_INDEX = ir.IntType(32)


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


@intrinsic
def gathered(typing: Any, array: Any, start: Any, stride: Any) -> Any:
    """One number of each state: those at start, start + stride, … of a contiguous array."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data, place = data_of(context, builder, sig.args[0], args[0]), args[1]
        vector = ir.Constant(_WIDE, ir.Undefined)
        for k in range(WIDTH):
            number = builder.load(builder.gep(data, [place]), align=8)
            vector = builder.insert_element(vector, number, _INDEX(k))
            place = builder.add(place, args[2])
        return vector

    return WIDE(array, types.intp, types.intp), generate


@intrinsic
def scatter(typing: Any, array: Any, start: Any, stride: Any, x: Any) -> Any:
    """The way back."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data, place = data_of(context, builder, sig.args[0], args[0]), args[1]
        for k in range(WIDTH):
            number = builder.extract_element(args[3], _INDEX(k))
            builder.store(number, builder.gep(data, [place]), align=8)
            place = builder.add(place, args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, WIDE), generate


def _interleaved(builder: Any, x: Any, y: Any, first: int) -> Any:
    """x and y of the even lanes in turn, or (first = 1) of the odd ones."""
    mask = [k + first + (WIDTH if other else 0) for k in range(0, WIDTH, 2) for other in (0, 1)]
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_INDEX, WIDTH), mask))


def turned(builder: Any, a: Any, b: Any, c: Any, d: Any) -> list[Any]:
    """For each lane its four numbers, beside each other."""
    pairs = [
        (_interleaved(builder, a, b, first), _interleaved(builder, c, d, first)) for first in (0, 1)
    ]
    tiles = []
    for k in range(WIDTH):
        left, right = pairs[k % 2]
        at = k - k % 2
        mask = [at, at + 1, WIDTH + at, WIDTH + at + 1]
        tiles.append(
            builder.shuffle_vector(left, right, ir.Constant(ir.VectorType(_INDEX, TILE), mask))
        )
    return tiles


@intrinsic
def scatter_tile(
    typing: Any, array: Any, start: Any, stride: Any, a: Any, b: Any, c: Any, d: Any
) -> Any:
    """Four numbers of each state beside each other: those of lane k from start + k stride on."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data, place = data_of(context, builder, sig.args[0], args[0]), args[1]
        for tile in turned(builder, *args[3:]):
            where = builder.bitcast(builder.gep(data, [place]), TILE_TYPE.as_pointer())
            builder.store(tile, where, align=8)
            place = builder.add(place, args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, WIDE, WIDE, WIDE, WIDE), generate


@kernel
def load(rows, first, x):
    """x = the states from row `first` on of an array (N, n); gives their guard: zero,
    and NaN in the lanes of states of which some number is not finite."""
    n = rows.shape[1]
    nan_guard = 0.0 * gathered(rows, first * n, n)
    for k in range(n):
        x[k] = gathered(rows, first * n + k, n)
        nan_guard += 0.0 * x[k]
    return nan_guard


@kernel
def load_positions(rows, first, work):
    """work.q, likewise; NaN in all lanes where a quaternion of some state is not one."""
    nan_guard = load(rows, first, work.q)
    for k in range(len(work.quaternions)):
        start = work.quaternions[k]
        square = 0.0 * nan_guard
        for i in range(start, start + 4):
            square += work.q[i] * work.q[i]
        if not (square > MIN_SQUARE and square < MAX_SQUARE):
            nan_guard += np.nan
    return nan_guard


@kernel
def tile_at(t, n):
    """Where tile t of n numbers begins: the last one overlaps the one before it."""
    return min(TILE * t, n - TILE)


@kernel
def tiles_of(n):
    return (n + TILE - 1) // TILE


@kernel
def store_tile(out, place, stride, a, b, c, d):
    """Four numbers of each state. Like all that follows, it gives their guard, as `load` does."""
    scatter_tile(out, place, stride, a, b, c, d)
    return 0.0 * a + 0.0 * b + 0.0 * c + 0.0 * d


@kernel
def store_one(out, place, stride, a):
    scatter(out, place, stride, a)
    return 0.0 * a


@kernel
def store_numbers(x, out, start, stride):
    """The numbers of each state from start + k stride on, of an array of any shape."""
    n = len(x)
    nan_guard = 0.0 * x[0]
    if n < TILE:
        for k in range(n):
            nan_guard += store_one(out, start + k, stride, x[k])
    else:
        for t in range(tiles_of(n)):
            k = tile_at(t, n)
            nan_guard += store_tile(out, start + k, stride, x[k], x[k + 1], x[k + 2], x[k + 3])
    return nan_guard


@kernel
def store(x, rows, first):
    """Rows of an array (N, n) = x, a state each."""
    n = rows.shape[1]
    return store_numbers(x, rows, first * n, n)


@kernel
def is_finite(nan_guard):
    """Whether the states of a chunk have finite results."""
    return nan_guard < 1.0
