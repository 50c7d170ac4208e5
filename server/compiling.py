"""`kernel`, `entry` and `routine` for the compiled parts of the server; see torqued.kernels.jit."""

from __future__ import annotations

from pathlib import Path

from torqued.kernels.jit import decorators

kernel, entry, routine = decorators(Path(__file__).parent)
