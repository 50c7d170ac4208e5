"""Where compiled code is kept: by content alone.

Numba's own caches go by the path and the time stamp of a source file, and insist on writing. Here
a file's name has a digest of all sources that it depends on (sources.py), so that a copy of the
same sources finds the same code: another checkout, an installed wheel, an image whose files are
read-only.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

from torqued.kernels.compilation import cache_file, libraries
from torqued.kernels.compilation.numba_internals import (
    CompileResultCacheImpl,
    FunctionCache,
    _CacheLocator,
    dumps,
)
from torqued.kernels.compilation.sources import digest


class _Locator(_CacheLocator):  # type: ignore[misc]
    """A folder per module; a digest of the sources in place of a time stamp."""

    def __init__(self, folder: Path, function: Any) -> None:
        self._folder = folder / function.__module__
        self._py_file = function.__code__.co_filename  # numba names it in its warnings
        self._disambiguator = f"{function.__code__.co_firstlineno}-{digest(function.__module__)}"

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return self._disambiguator


class _Files:
    """One file per compiled function, named after what it was compiled for.

    Numba's own keep an index beside numbered files: two processes that compile the same function
    for different types at once could take the same number.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._base = folder, base

    def path(self, key: Any) -> Path:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        return self._folder / f"{self._base}.{digest}.nbc"

    def save(self, key: Any, data: Any) -> None:
        cache_file.write(self.path(key), dumps(data))

    def load(self, key: Any) -> Any:
        """What was saved; None where there is nothing, or nothing that can be trusted."""
        try:
            return pickle.loads(cache_file.read(self.path(key)))
        except FileNotFoundError:
            return None
        except cache_file.UnusableFileError as error:
            cache_file.warn_once("load", f"{error}; it and others like it are compiled again")
            return None


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, in a given folder."""

    def __init__(self, function: Any, folder: Path) -> None:
        class Locator(_Locator):
            @classmethod
            def from_function(cls, py_func: Any, py_file: str) -> _Locator:
                return cls(folder, py_func)

        class Implementation(CompileResultCacheImpl):  # type: ignore[misc]
            _locator_classes = (Locator,)

            def rebuild(self, target_context: Any, payload: Any) -> Any:
                if libraries.is_inlined(payload):
                    return libraries.rebuild(target_context, payload)
                return super().rebuild(target_context, payload)

        self._impl_class = Implementation
        self._writable = os.access(folder, os.W_OK)
        super().__init__(function)
        self._cache_file = _Files(Path(self._cache_path), self._impl.filename_base)

    def has(self, signature: Any, codegen: Any) -> bool:
        """Whether there is code for these argument types and this processor."""
        return cache_file.is_whole(self._cache_file.path(self._index_key(signature, codegen)))

    def _save_overload(self, signature: Any, data: Any) -> None:
        """Numba's own; but kernels run as well where there is no room for them on the disk."""
        if not self._writable:
            return
        try:
            super()._save_overload(signature, data)
        except OSError as error:
            cache_file.warn_once(
                "save",
                f"compiled code cannot be kept in {self._cache_path}: {error.strerror}; "
                "the next start will compile it again",
            )
