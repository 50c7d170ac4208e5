"""How kernels are compiled: options, the on-disk cache, and direct entry points.

`@kernel` marks a function that is compiled into the kernels that call it, `@routine` one that is
called by them: for what is large or called from several places. `@entry(types…)` also fixes the
types of its arguments, so that Python can call the compiled code directly (`bind`) and
`compile_all` can fill the cache before anything runs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
from numba import njit

from torqued.common.errors import TorquedError
from torqued.kernels.compilation.cache import KernelCache
from torqued.kernels.compilation.cache_folder import cache_root, prepare_folder
from torqued.kernels.compilation.forecast import has_reader, notice
from torqued.kernels.compilation.libraries import EntryCompiler, KernelCompiler
from torqued.kernels.compilation.numba_internals import config
from torqued.kernels.compilation.target_cpu import choose_processor

Function = TypeVar("Function", bound=Callable[..., Any])

#: Fused and reordered arithmetic, but NaN and infinity keep their meaning ("nnan", "ninf" absent).
ARITHMETIC = {"contract", "reassoc", "nsz", "arcp"}

#: What kernels are compiled for.
PROCESSOR = choose_processor()

#: Every function that Python enters directly: (dispatcher, argument types).
ENTRIES: dict[str, tuple[Any, tuple[Any, ...]]] = {}


def _toolchain() -> str:
    """What compiled code depends on beside its sources."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"python{python}-numba{numba.__version__}-llvmlite{llvmlite.__version__}"


def _prepare_cache() -> tuple[Path | None, str]:
    """The folder for compiled code and why there is none, when there is none."""
    folder = cache_root() / f"kernels-{_toolchain()}"
    problem = prepare_folder(folder)
    return (None, problem) if problem else (folder, "")


CACHE_FOLDER, CACHE_PROBLEM = _prepare_cache()


class MissingKernelError(TorquedError):
    """A kernel has to be compiled first, where there is no time for that; `kernel` names it."""

    def __init__(self, kernel: str) -> None:
        super().__init__(f"kernel {kernel!r} is not compiled yet")
        self.kernel = kernel


class _Patience(threading.local):
    """Whether a thread may compile, and without a notice."""

    none = False
    quiet = False


_PATIENCE = _Patience()


@contextmanager
def without_compiling() -> Iterator[None]:
    """In here, this thread has `MissingKernelError` in place of seconds of compilation."""
    before, _PATIENCE.none = _PATIENCE.none, True
    try:
        yield
    finally:
        _PATIENCE.none = before


@contextmanager
def quietly() -> Iterator[None]:
    """In here, this thread compiles without a notice on the terminal."""
    before, _PATIENCE.quiet = _PATIENCE.quiet, True
    try:
        yield
    finally:
        _PATIENCE.quiet = before


def _compile(
    function: Function,
    arithmetic: set[str] = ARITHMETIC,
    inline: bool = False,
    from_python: bool = False,
) -> Any:
    """njit with the product's options and cache.

    Wrappers for Python take long to compile where arguments are tuples of many arrays, so that
    only entries get them.
    """
    dispatcher = njit(
        function,
        error_model="numpy",
        nogil=True,
        fastmath=arithmetic,
        forceinline=inline,
        no_cpython_wrapper=not from_python,
        no_cfunc_wrapper=not from_python,
        pipeline_class=EntryCompiler if from_python else KernelCompiler,
    )
    if CACHE_FOLDER is not None and not config.DISABLE_JIT:
        dispatcher._cache = KernelCache(function, CACHE_FOLDER)
    return dispatcher


def kernel(function: Function) -> Function:
    """A function for other kernels, compiled into each of them."""
    return _compile(function, inline=True)  # type: ignore[no-any-return]


def exact_kernel(function: Function) -> Function:
    """A kernel whose operations keep the order in which they are written."""
    return _compile(function, {"contract"}, inline=True)  # type: ignore[no-any-return]


def routine(function: Function) -> Function:
    """A function for other kernels, compiled once and called by them."""
    return _compile(function)  # type: ignore[no-any-return]


def entry(*types: Any) -> Callable[[Function], Function]:
    """A function that Python enters, with the types of its arguments; its name is its own."""

    def decorate(function: Function) -> Function:
        name = function.__name__
        if name in ENTRIES and ENTRIES[name][0].__module__ != function.__module__:
            other = ENTRIES[name][0].__module__
            raise TypeError(
                f"entry {name!r} of {function.__module__}: {other} has one of that name"
            )
        dispatcher = _compile(function, from_python=True)
        ENTRIES[name] = (dispatcher, types)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def bind(function: Function) -> Function:
    """The compiled code of an entry, called without numba's argument dispatch.

    Dispatch inspects each argument at each call (0.3 to 1 µs for records). The caller of the
    bound function promises the types that the entry declares instead.
    """
    if config.DISABLE_JIT:
        return function
    return _compiled(function.__name__).entry_point  # type: ignore[no-any-return]


def _compiled(name: str) -> Any:
    """What numba has made of an entry, now or before."""
    dispatcher, types = ENTRIES[name]
    if types not in dispatcher.overloads:
        shown = has_reader() and not _PATIENCE.quiet
        missing = (shown or _PATIENCE.none) and not is_cached(name)
        if missing and _PATIENCE.none:
            raise MissingKernelError(name)
        with notice(name) if missing else nullcontext():
            dispatcher.compile(types)
    return dispatcher.overloads[types]


def is_cached(name: str) -> bool:
    """Whether an entry's compiled code is in the cache."""
    dispatcher, types = ENTRIES[name]
    cache = getattr(dispatcher, "_cache", None)  # plain functions have none
    return isinstance(cache, KernelCache) and cache.has(types, dispatcher.targetctx.codegen())


def address_of(name: str) -> int:
    """Address of an entry as a C function, for compiled code that calls it through a pointer."""
    result = _compiled(name)
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
