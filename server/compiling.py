"""Decorators for the compiled parts of the server; see torqued.kernels.jit."""

from __future__ import annotations

from pathlib import Path

from numba import types

from torqued.kernels.jit import decorators
from torqued.kernels.layout import WORK

kernel, entry, routine = decorators(Path(__file__).parent)

#: What the loop calls through its address: takes a workspace's handle and the address of a
#: session's record, returns status bits. Each is compiled by itself, and the loop without them.
law = entry(WORK, types.uint64)
