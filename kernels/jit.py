"""How kernels are compiled: options, the on-disk cache, and direct entry points.

`@kernel` marks a function that is compiled when another kernel calls it. `@entry(types…)` also
fixes its argument types, so that Python can call the compiled code directly (`bind`) and
`compile_all` can fill the cache before anything runs.

Numba notices a changed source file only for the function defined in it, not for the functions
it calls. The cache (cache.py) therefore lives in a folder named after a hash of all kernel sources
and of numba's version: code and machine code cannot drift apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
from numba import njit
from numba.core import config

from torqued.kernels.cache import KernelCache, cache_root, prepare_folder
from torqued.kernels.processor import choose_processor

Function = TypeVar("Function", bound=Callable[..., Any])

#: Fused and reordered arithmetic, but NaN and infinity keep their meaning ("nnan", "ninf" absent).
ARITHMETIC = {"contract", "reassoc", "nsz", "arcp"}

#: What kernels are compiled for.
PROCESSOR = choose_processor()

#: Every function that Python enters directly: (dispatcher, argument types).
ENTRIES: dict[str, tuple[Any, tuple[Any, ...]]] = {}


#: What a file with compiled functions, or with records for them, has in it.
COMPILED_SOURCES = (b"@kernel", b"@exact_kernel", b"@routine", b"@entry", b"@law", b"from numba")


def _sources_digest(folder: Path | None = None) -> str:
    """Changes with everything that machine code depends on: kernels, records, this file."""
    digest = hashlib.sha256(f"numba {numba.__version__} llvmlite {llvmlite.__version__}".encode())
    for source in sorted((folder or Path(__file__).parent).rglob("*.py")):
        text = source.read_bytes()
        if any(mark in text for mark in COMPILED_SOURCES):
            digest.update(source.name.encode())
            digest.update(text)
    return digest.hexdigest()[:16]


def _prepare_cache() -> tuple[Path | None, str]:
    """The folder for compiled code and why there is none, when there is none."""
    folder = cache_root() / f"kernels-{_sources_digest()}"
    problem = prepare_folder(folder)
    return (None, problem) if problem else (folder, "")


CACHE_FOLDER, CACHE_PROBLEM = _prepare_cache()


def _compile(
    function: Function,
    arithmetic: set[str] = ARITHMETIC,
    inline: bool = False,
    folder: Path | None = CACHE_FOLDER,
    wrapped: bool = True,
) -> Any:
    """njit with the product's options and cache; without wrappers Python cannot call it."""
    dispatcher = njit(
        function,
        error_model="numpy",
        nogil=True,
        fastmath=arithmetic,
        forceinline=inline,
        no_cpython_wrapper=not wrapped,
        no_cfunc_wrapper=not wrapped,
    )
    if folder is not None and not config.DISABLE_JIT:
        dispatcher._cache = KernelCache(function, folder)
    return dispatcher


def kernel(function: Function) -> Function:
    """A function for other kernels to call."""
    return _compile(function, inline=True)  # type: ignore[no-any-return]


def exact_kernel(function: Function) -> Function:
    """A kernel whose operations keep the order in which they are written."""
    return _compile(function, {"contract"}, inline=True)  # type: ignore[no-any-return]


def entry(*types: Any) -> Callable[[Function], Function]:
    """A kernel that Python enters, with the types of its arguments."""
    return _entry(types, CACHE_FOLDER)


def _entry(types: tuple[Any, ...], folder: Path | None) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        dispatcher = _compile(function, folder=folder)
        ENTRIES[function.__name__] = (dispatcher, types)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def decorators(sources: Path) -> tuple[Any, Any, Any]:
    """`kernel`, `entry`, `routine` for another package, whose sources its code follows as well.

    A routine is a kernel that is called, not copied into its callers: for what is large or called
    from several places. Neither gets wrappers for Python, which take long to compile where
    arguments are tuples of many arrays.
    """
    folder = None
    if CACHE_FOLDER is not None:
        folder = CACHE_FOLDER / f"{sources.name}-{_sources_digest(sources)}"
        if prepare_folder(folder):  # of other sources than a read-only cache was filled for
            folder = None

    def other_kernel(function: Function) -> Function:
        return _compile(  # type: ignore[no-any-return]
            function, inline=True, folder=folder, wrapped=False
        )

    def routine(function: Function) -> Function:
        return _compile(function, folder=folder, wrapped=False)  # type: ignore[no-any-return]

    def other_entry(*types: Any) -> Callable[[Function], Function]:
        return _entry(types, folder)

    return other_kernel, other_entry, routine


def bind(function: Function) -> Function:
    """The compiled code of an entry, called without numba's argument dispatch.

    Dispatch inspects each argument at each call (0.3 to 1 µs for records). The caller of the
    bound function promises the types that the entry declares instead.
    """
    if config.DISABLE_JIT:
        return function
    dispatcher, types = ENTRIES[function.__name__]
    dispatcher.compile(types)
    return dispatcher.overloads[types].entry_point  # type: ignore[no-any-return]


def is_cached(name: str) -> bool:
    """Whether an entry's compiled code is in the cache."""
    dispatcher, types = ENTRIES[name]
    cache = getattr(dispatcher, "_cache", None)  # plain functions have none
    return isinstance(cache, KernelCache) and cache.has(types, dispatcher.targetctx.codegen())


def address_of(name: str) -> int:
    """Address of an entry as a C function, for compiled code that calls it through a pointer."""
    dispatcher, types = ENTRIES[name]
    dispatcher.compile(types)
    result = dispatcher.overloads[types]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
