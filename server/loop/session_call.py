"""How the loop and the arrival threads serve a session: through the address of compiled code.

`serve_session` of session_tick.py is most of a tick. It is compiled once, by itself; both find its
address in the loop's record.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def call_session(typing: Any, function: Any, handle: Any, loop: Any, session: Any) -> Any:
    """Call the C function at an address with a workspace's handle and two records' addresses."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word, word, word]).as_pointer()
        records = [builder.ptrtoint(record, word) for record in args[2:]]
        return builder.call(builder.inttoptr(args[0], kind), [args[1], *records])

    return types.int64(types.uint64, types.int64, loop, session), generate
