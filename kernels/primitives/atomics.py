"""Words of memory that other threads or processes write and read at the same time.

Addresses are whole numbers, as everywhere in compiled code. Loads acquire, stores release: what was
written before a store is seen by threads that loaded what was stored. `fence` orders everything
before it against everything after it, a store before a load included, which neither of the two
does.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD, _LONG = ir.IntType(32), ir.IntType(64)


def _loader(width: Any, kind: Any) -> Any:
    @intrinsic
    def load(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.inttoptr(args[0], width.as_pointer())
            return builder.load_atomic(place, "acquire", width.width // 8)

        return kind(address), generate

    return load


def _storer(width: Any, kind: Any) -> Any:
    @intrinsic
    def store(typing: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.inttoptr(args[0], width.as_pointer())
            builder.store_atomic(args[1], place, "release", width.width // 8)
            return context.get_dummy_value()

        return types.void(address, kind), generate

    return store


#: An unsigned number of 4 bytes at an address, and one of 8.
load_word, load_long = _loader(_WORD, types.uint32), _loader(_LONG, types.uint64)
#: store(address, value)
store_word, store_long = _storer(_WORD, types.uint32), _storer(_LONG, types.uint64)


@intrinsic
def fence(typing: Any) -> Any:
    """Nothing passes: neither what the compiler nor what the processor would reorder."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


def _swapper(width: Any, kind: Any) -> Any:
    @intrinsic
    def swap(typing: Any, address: Any, expected: Any, wanted: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.inttoptr(args[0], width.as_pointer())
            found = builder.cmpxchg(place, args[1], args[2], "seq_cst", "seq_cst")
            return builder.extract_value(found, 0)

        return kind(address, kind, kind), generate

    return swap


#: swap(address, expected, wanted): store `wanted` where `expected` is found, in one step; gives
#: what was found.
swap_long = _swapper(_LONG, types.uint64)
