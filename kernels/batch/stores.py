"""How the matrices of a batch are stored, by how many bytes all of them have together:

CACHED        plain stores
NONTEMPORAL   past the caches, which need not fetch the lines that are written over
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torqued.kernels.batch.transposition import TILE, data_of
from torqued.kernels.compilation.jit import kernel

CACHED, NONTEMPORAL = 0, 1

#: Bytes from which on matrices are stored past the caches.
LARGE = 8 * 1024 * 1024

NUMBER = 8


@intrinsic
def address_of(typing: Any, array: Any) -> Any:
    """Where an array's numbers begin."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_of(context, builder, sig.args[0], args[0])
        return builder.ptrtoint(data, ir.IntType(64))

    return types.intp(array), generate


@kernel
def store_mode_of(work, count):
    """How matrices are stored that have so many numbers together."""
    n = len(work.body_of)
    # Tiles are stored whole: with an odd number of columns each state would begin elsewhere.
    if NUMBER * count >= LARGE and n >= TILE and n * n % TILE == 0:
        return NONTEMPORAL
    return CACHED
