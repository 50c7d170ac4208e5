"""A number for several states at once: a vector register that kernels take for a float.

Numba compiles a kernel for the types that it is called with. Where arrays and workspace hold `Wide`
numbers, a state in each lane, + − × ÷ become vector instructions, and the same source computes
`WIDTH` states in little more than the time of one. What depends on the model (masses, kinds of
joints, the tree) stays a plain number and meets them by being spread over all lanes.

A comparison holds where it holds in every lane. Sums of a `Wide` number and a float are `Wide`, so
constants such as ZERO6 become so where a kernel needs it.

There is nothing wide without the compiler: plain Python computes state by state.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import from_dtype, types
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model

from torqued.kernels.compilation.jit import PROCESSOR
from torqued.kernels.compilation.numba_internals import cgutils
from torqued.kernels.compilation.target_cpu import KINDS


def _width() -> int:
    """Lanes of the widest registers for floats: those of AVX-512 hold eight."""
    if PROCESSOR in KINDS:
        return 8 if "avx512f" in KINDS[PROCESSOR] else 4
    return 8 if get_host_cpu_features().get("avx512f", False) else 4


#: States that are computed at once.
WIDTH = _width()

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_WORDS = ir.VectorType(ir.IntType(64), WIDTH)
_INDEX = ir.IntType(32)


class WideType(types.Type):  # type: ignore[misc]
    """The type of such a number for numba."""

    bitwidth = 64 * WIDTH

    def __init__(self) -> None:
        super().__init__(name=f"wide{WIDTH}")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None


WIDE = WideType()


@register_model(WideType)
class _WideModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _spread(builder: Any, scalar: Any, vector: Any = _VECTOR) -> Any:
    """The same number in every lane."""
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, scalar, _INDEX(0))
    everywhere = ir.Constant(ir.VectorType(_INDEX, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, nothing, everywhere)


@lower_cast(types.Float, WideType)
@lower_cast(types.Integer, WideType)
def _from_number(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return _spread(builder, context.cast(builder, value, given, types.float64))


def _as_wide(given: Any) -> Any:
    """The type that an operand is taken as, or None."""
    if isinstance(given, WideType):
        return given
    return types.float64 if isinstance(given, types.Float | types.Integer) else None


def _vectors(builder: Any, kinds: Any, values: Any) -> list[Any]:
    return [
        value if isinstance(kind, WideType) else _spread(builder, value)
        for kind, value in zip(kinds, values, strict=True)
    ]


def _declare(function: Any, result: Any, generate: Any) -> None:
    """An operator on two numbers of which at least one is wide; `generate(builder, x, y)`."""

    @infer_global(function)
    class _Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            taken = [_as_wide(arg) for arg in args]
            if len(taken) == 2 and WIDE in taken and None not in taken:
                return signature(result, *taken)
            return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return generate(builder, *_vectors(builder, sig.args, args))

    for kinds in ((WIDE, WIDE), (WIDE, types.float64), (types.float64, WIDE)):
        lower_builtin(function, *kinds)(lower)


def _arithmetic(name: str) -> Any:
    # Without flags: each kernel's own (`kernel`, `exact_kernel`) are put in afterwards.
    return lambda builder, x, y: getattr(builder, name)(x, y)


def _comparison(sign: str) -> Any:
    def generate(builder: Any, x: Any, y: Any) -> Any:
        return _in_every_lane(builder, builder.fcmp_ordered(sign, x, y))

    return generate


def _in_every_lane(builder: Any, mask: Any) -> Any:
    bits = ir.IntType(WIDTH)
    return builder.icmp_unsigned("==", builder.bitcast(mask, bits), bits((1 << WIDTH) - 1))


for _functions, _name in (
    ((operator.add, operator.iadd), "fadd"),
    ((operator.sub, operator.isub), "fsub"),
    ((operator.mul, operator.imul), "fmul"),
    ((operator.truediv, operator.itruediv), "fdiv"),
):
    for _function in _functions:
        _declare(_function, WIDE, _arithmetic(_name))

for _function, _name in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">")):
    _declare(_function, types.boolean, _comparison(_name))


def _declare_unary(function: Any, generate: Any) -> None:
    @infer_global(function)
    class _Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(WIDE, WIDE) if args == (WIDE,) else None

    @lower_builtin(function, WIDE)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return generate(builder, args[0])


def _magnitude(builder: Any, x: Any) -> Any:
    """All bits but the sign's."""
    rest = _words(0x7FFFFFFFFFFFFFFF)
    return builder.bitcast(builder.and_(builder.bitcast(x, _WORDS), rest), _VECTOR)


_declare_unary(operator.neg, lambda builder, x: builder.fneg(x))
_declare_unary(abs, _magnitude)


@intrinsic
def lane(typing: Any, x: Any, k: Any) -> Any:
    """The number in lane k."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], _INDEX))

    return types.float64(WIDE, types.intp), generate


@intrinsic
def with_lane(typing: Any, x: Any, k: Any, value: Any) -> Any:
    """x with another number in lane k."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], _INDEX))

    return WIDE(WIDE, types.intp, types.float64), generate


def _wide_at(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    """Where the numbers from place `start` of an array of floats begin."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), _VECTOR.as_pointer())


def _first_lanes(builder: Any, count: Any) -> Any:
    """A mask of that many lanes."""
    counts = _spread(builder, count, _WORDS)
    return builder.icmp_signed("<", ir.Constant(_WORDS, list(range(WIDTH))), counts)


def _masked(builder: Any, what: str, kind: Any, *args: Any) -> Any:
    """A call of llvm.masked.load or .store."""
    signature = ir.FunctionType(kind, [arg.type for arg in args])
    name = f"llvm.masked.{what}.v{WIDTH}f64.p0"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), args)


@intrinsic
def load_first(typing: Any, array: Any, start: Any, count: Any) -> Any:
    """The first `count` numbers of an array of floats from place `start` on, at most WIDTH of them,
    and zeros in the lanes that are left."""
    if not is_row_of_floats(array):
        return None

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _wide_at(context, builder, sig.args[0], args[0], args[1])
        zeros = ir.Constant(_VECTOR, [0.0] * WIDTH)
        lanes = _first_lanes(builder, args[2])
        return _masked(builder, "load", _VECTOR, place, _INDEX(8), lanes, zeros)

    return WIDE(array, types.intp, types.intp), generate


@intrinsic
def store_first(typing: Any, array: Any, start: Any, count: Any, x: Any) -> Any:
    """The way back."""
    if not is_row_of_floats(array):
        return None

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _wide_at(context, builder, sig.args[0], args[0], args[1])
        lanes = _first_lanes(builder, args[2])
        _masked(builder, "store", ir.VoidType(), args[3], place, _INDEX(8), lanes)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, WIDE), generate


def is_row_of_floats(array: Any) -> bool:
    """Whether numbers lie beside each other in an array of that type."""
    return isinstance(array, types.Array) and array.layout == "C" and array.dtype == types.float64


@intrinsic
def in_quadrant(typing: Any, turns: Any, c: Any, s: Any) -> Any:
    """(cos, sin) of an angle from those of its remainder, by the count of quarter turns.

    `turns` is that count plus 1.5 · 2^52: its last bits are those of the count.
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        turns, c, s = args
        count = builder.bitcast(turns, _WORDS)
        odd = builder.icmp_unsigned("!=", builder.and_(count, _words(1)), _words(0))
        next_one = builder.add(count, _words(1))
        turned = [
            _negated(builder, builder.select(odd, s, c), next_one),
            _negated(builder, builder.select(odd, c, s), count),
        ]
        return context.make_tuple(builder, sig.return_type, turned)

    return types.UniTuple(WIDE, 2)(WIDE, WIDE, WIDE), generate


def _words(value: int) -> Any:
    return ir.Constant(_WORDS, [value] * WIDTH)


def _negated(builder: Any, x: Any, count: Any) -> Any:
    """x, negated in the lanes where the second bit of a count is set."""
    sign = builder.shl(builder.and_(count, _words(2)), _words(62))
    return builder.bitcast(builder.xor(builder.bitcast(x, _WORDS), sign), _VECTOR)


#: One wide number in memory, for numpy.
NUMBER = np.dtype([("lanes", "f8", (WIDTH,))], align=True)


def widened(record: np.dtype[Any]) -> np.dtype[Any]:
    """A type of records with a wide number in the place of each float."""
    fields = []
    for name in record.names or ():
        base, shape = record[name].base, record[name].shape
        if base != np.float64:
            raise TypeError(f"{name}: {base}, but records of scratch memory are made of floats")
        fields.append((name, "f8", (*shape, WIDTH)))
    return np.dtype(fields, align=True)


class WideRecord(types.Record):  # type: ignore[misc]
    """Records of wide numbers for numba, laid out as numpy has them."""

    def __init__(self, layout: np.dtype[Any]) -> None:
        self._layout = layout
        fields = []
        for name, (part, offset, *_) in (layout.fields or {}).items():
            shape = part.shape[:-1]
            kind = types.NestedArray(WIDE, shape) if shape else WIDE
            fields.append((name, {"type": kind, "offset": offset}))
        super().__init__(fields, layout.itemsize, True)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._layout


register_model(WideRecord)(models.RecordModel)


def wide_element(dtype: np.dtype[Any]) -> Any:
    """What an element of an array is for numba, where `NUMBER` and records of it are wide."""
    if dtype == NUMBER:
        return WIDE
    fields = [dtype[name] for name in dtype.names or ()]
    if fields and all(
        field.base == np.float64 and field.shape[-1:] == (WIDTH,) for field in fields
    ):
        return WideRecord(dtype)
    return from_dtype(dtype)
