"""Four numbers side by side in one register, for the loops over pairs of motion columns.

Numba's compiler does not turn straight-line code on tuples into vector instructions, and its
loop vectorizer does not pay for loops as short as the depth of a robot. These few operations say
so directly. The carrier is a tuple of four floats; without compilation they are plain Python.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torqued.kernels.compilation.numba_internals import cgutils, config

LANES = 4

FOUR = types.UniTuple(types.float64, LANES)
TILE = types.UniTuple(FOUR, LANES)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLAGS = ("contract", "reassoc", "nsz", "arcp")


def _address(context: Any, builder: Any, array_type: Any, array: Any, start: Any) -> Any:
    """Where the four numbers from place `start` of a contiguous array begin."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), _VECTOR.as_pointer())


def _to_tuple(builder: Any, vector: Any) -> Any:
    lanes = [builder.extract_element(vector, ir.IntType(32)(k)) for k in range(LANES)]
    return cgutils.pack_array(builder, lanes)


def _to_vector(builder: Any, carrier: Any) -> Any:
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for k in range(LANES):
        lane = builder.extract_value(carrier, k)
        vector = builder.insert_element(vector, lane, ir.IntType(32)(k))
    return vector


def _spread(builder: Any, scalar: Any) -> Any:
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for k in range(LANES):
        vector = builder.insert_element(vector, scalar, ir.IntType(32)(k))
    return vector


@intrinsic
def _load4(typing: Any, array: Any, start: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], args[0], args[1])
        return _to_tuple(builder, builder.load(address, align=8))

    return FOUR(array, types.intp), generate


@intrinsic
def _store4(typing: Any, array: Any, start: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(_to_vector(builder, args[2]), address, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, FOUR), generate


@intrinsic
def _scale4(typing: Any, x: Any, s: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(
            _to_vector(builder, args[0]), _spread(builder, args[1]), flags=_FLAGS
        )
        return _to_tuple(builder, product)

    return FOUR(FOUR, types.float64), generate


@intrinsic
def _add_scaled4(typing: Any, y: Any, x: Any, s: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(
            _to_vector(builder, args[1]), _spread(builder, args[2]), flags=_FLAGS
        )
        return _to_tuple(builder, builder.fadd(_to_vector(builder, args[0]), product, flags=_FLAGS))

    return FOUR(FOUR, FOUR, types.float64), generate


def _shuffled(builder: Any, x: Any, y: Any, *lanes: int) -> Any:
    """Lanes of x, and from 4 on of y."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(lanes))
    return builder.shuffle_vector(x, y, mask)


@intrinsic
def _keep4(typing: Any, x: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = ir.VectorType(ir.IntType(64), LANES)
        one = builder.insert_element(ir.Constant(words, ir.Undefined), args[1], ir.IntType(32)(0))
        counts = _shuffled(builder, one, one, 0, 0, 0, 0)
        kept = builder.icmp_signed("<", ir.Constant(words, list(range(LANES))), counts)
        zeros = ir.Constant(_VECTOR, [0.0] * LANES)
        return _to_tuple(builder, builder.select(kept, _to_vector(builder, args[0]), zeros))

    return FOUR(FOUR, types.intp), generate


@intrinsic
def _transpose4(typing: Any, tile: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, b, c, d = (_to_vector(builder, builder.extract_value(args[0], k)) for k in range(LANES))
        even = [_shuffled(builder, x, y, 0, 4, 2, 6) for x, y in ((a, b), (c, d))]
        odd = [_shuffled(builder, x, y, 1, 5, 3, 7) for x, y in ((a, b), (c, d))]
        rows = [
            _shuffled(builder, *pair, *lanes)
            for lanes in ((0, 1, 4, 5), (2, 3, 6, 7))
            for pair in (even, odd)
        ]
        return cgutils.pack_array(builder, [_to_tuple(builder, row) for row in rows])

    return TILE(TILE), generate


def _plain_load4(array: Any, start: int) -> Any:
    return tuple(array.reshape(-1)[start : start + LANES])


def _plain_store4(array: Any, start: int, x: Any) -> None:
    array.reshape(-1)[start : start + LANES] = x


def _plain_scale4(x: Any, s: float) -> Any:
    return tuple(a * s for a in x)


def _plain_add_scaled4(y: Any, x: Any, s: float) -> Any:
    return tuple(a + b * s for a, b in zip(y, x, strict=True))


def _plain_keep4(x: Any, count: int) -> Any:
    return tuple(a if k < count else 0.0 for k, a in enumerate(x))


def _plain_transpose4(tile: Any) -> Any:
    return tuple(zip(*tile, strict=True))


if config.DISABLE_JIT:
    keep4, transpose4 = _plain_keep4, _plain_transpose4
    load4, store4 = _plain_load4, _plain_store4
    scale4, add_scaled4 = _plain_scale4, _plain_add_scaled4
else:
    load4, store4 = _load4, _store4  # four from place `start` of an array, row after row
    scale4 = _scale4  # s x
    add_scaled4 = _add_scaled4  # y + s x
    keep4 = _keep4  # x in its first `count` lanes, zero in the others
    transpose4 = _transpose4  # four rows of four, turned around
