"""`kernel` and `entry` for the compiled parts of the server; see torqued.kernels.jit."""

from __future__ import annotations

from pathlib import Path

from torqued.kernels.jit import decorators

_kernel, entry = decorators(Path(__file__).parent)


def kernel(function):
    d = _kernel(function)
    d.targetoptions.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return d


def routine(function):
    """Called, not copied into its callers."""
    d = kernel(function)
    d.targetoptions.update(forceinline=False)
    return d
