"""Sums over many rows in vector registers, for loops whose length the compiler does not know.

lanes.py carries four numbers as a tuple. Around a loop of unknown length, the compiler takes such
a tuple apart and puts it together again in every turn. Here the whole loop is stated, with
registers that stay what they are. Without compilation it is numpy.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torqued.kernels.compilation.numba_internals import cgutils, config
from torqued.kernels.primitives.lanes import LANES

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLAGS = ("contract", "reassoc", "nsz", "arcp")


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def _vector_at(builder: Any, data: Any, place: Any) -> Any:
    return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())


def _load_vector(builder: Any, data: Any, place: Any) -> Any:
    return builder.load(_vector_at(builder, data, place), align=8)


def _spread(builder: Any, scalar: Any) -> Any:
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for k in range(LANES):
        vector = builder.insert_element(vector, scalar, ir.IntType(32)(k))
    return vector


def _add_product(builder: Any, register: Any, x: Any, weight: Any) -> None:
    """register += weight x."""
    product = builder.fmul(x, weight, flags=_FLAGS)
    builder.store(builder.fadd(builder.load(register), product, flags=_FLAGS), register)


@intrinsic
def _multiply_tile(
    typing: Any, W: Any, X: Any, Y: Any, rows: Any, count: Any, i: Any, j: Any, to: Any, too: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [_data(context, builder, signature.args[k], args[k]) for k in (0, 1, 2, 3, 7, 8)]
        W_data, X_data, Y_data, rows_data, *outs = arrays
        count, i, j = args[4], args[5], args[6]
        shapes = [
            cgutils.unpack_tuple(
                builder, context.make_array(signature.args[k])(context, builder, args[k]).shape
            )
            for k in (0, 7)
        ]
        stride, width = shapes[0][1], shapes[1][1]
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        registers = [
            [cgutils.alloca_once(builder, _VECTOR) for _ in range(2)] for _ in range(LANES)
        ]
        for pair in registers:
            for register in pair:
                builder.store(zero, register)
        with cgutils.for_range(builder, count) as loop:
            row = builder.mul(builder.load(builder.gep(rows_data, [loop.index])), stride)
            x = _load_vector(builder, X_data, builder.add(row, j))
            y = _load_vector(builder, Y_data, builder.add(row, j))
            first = builder.add(row, i)
            for r, (of_x, of_y) in enumerate(registers):
                place = builder.add(first, ir.Constant(first.type, r))
                weight = _spread(builder, builder.load(builder.gep(W_data, [place])))
                _add_product(builder, of_x, x, weight)
                _add_product(builder, of_y, y, weight)
        place = builder.add(builder.mul(i, width), j)
        for pair in registers:
            for register, out in zip(pair, outs, strict=True):
                value = builder.fsub(zero, builder.load(register), flags=_FLAGS)
                builder.store(value, _vector_at(builder, out, place), align=8)
            place = builder.add(place, width)
        return context.get_dummy_value()

    return types.void(W, X, Y, rows, types.intp, types.intp, types.intp, to, too), generate


@intrinsic
def _subtract_rows(
    typing: Any, X: Any, target: Any, column: Any, weights: Any, k: Any, first: Any, last: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        X_data = _data(context, builder, signature.args[0], args[0])
        weights_data = _data(context, builder, signature.args[3], args[3])
        target, column, k, first, last = args[1], args[2], args[4], args[5], args[6]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, array.shape)[1]
        weights_array = context.make_array(signature.args[3])(context, builder, args[3])
        of_weights = cgutils.unpack_tuple(builder, weights_array.shape)[1]
        start = builder.add(builder.mul(target, stride), column)
        places = [start, builder.add(start, ir.Constant(start.type, LANES))]
        registers = [cgutils.alloca_once(builder, _VECTOR) for _ in places]
        for register, place in zip(registers, places, strict=True):
            builder.store(_load_vector(builder, X_data, place), register)
        weights_row = builder.mul(k, of_weights)
        with cgutils.for_range(builder, last, first) as loop:
            place = builder.add(builder.mul(loop.index, stride), column)
            weight = builder.load(builder.gep(weights_data, [builder.add(weights_row, loop.index)]))
            weight = _spread(builder, builder.fneg(weight))
            for shift, register in enumerate(registers):
                other = builder.add(place, ir.Constant(place.type, LANES * shift))
                _add_product(builder, register, _load_vector(builder, X_data, other), weight)
        for register, place in zip(registers, places, strict=True):
            builder.store(builder.load(register), _vector_at(builder, X_data, place), align=8)
        return context.get_dummy_value()

    size = types.intp
    return types.void(X, size, size, weights, size, size, size), generate


def _plain_multiply_tile(
    W: Any, X: Any, Y: Any, rows: Any, count: int, i: int, j: int, to: Any, too: Any
) -> None:
    k, tile = rows[:count], (slice(i, i + LANES), slice(j, j + LANES))
    to[tile] = -(W[k, i : i + LANES].T @ X[k, j : j + LANES])
    too[tile] = -(W[k, i : i + LANES].T @ Y[k, j : j + LANES])


def _plain_subtract_rows(
    X: Any, target: int, column: int, weights: Any, k: int, first: int, last: int
) -> None:
    part = slice(column, column + 2 * LANES)
    X[target, part] -= weights[k, first:last] @ X[first:last, part]


if config.DISABLE_JIT:
    multiply_tile, subtract_rows = _plain_multiply_tile, _plain_subtract_rows
else:
    # In rows i … i+3 and columns j … j+3 of both: to = −Wᵀ X and too = −Wᵀ Y, summed over the
    # first `count` of `rows`; all three have rows of one length.
    multiply_tile = _multiply_tile
    # X[target, column : column + 8] −= Σ weights[k, r] X[r, the same], over r from first to last.
    subtract_rows = _subtract_rows
