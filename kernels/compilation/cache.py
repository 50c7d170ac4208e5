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
import stat
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from torqued.kernels.compilation.sources import digest


def cache_root() -> Path:
    """Where compiled kernels are kept: $TORQUED_CACHE_DIR, else the user's cache folder."""
    configured = os.environ.get("TORQUED_CACHE_DIR")
    if configured:
        return Path(configured)
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "torqued"


def prepare_folder(folder: Path) -> str:
    """Make a folder for compiled code; why it must not be used, or nothing.

    The cache is executable code: a folder that others can write to is refused.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in (folder.parent, folder):
            info = place.stat()
            if info.st_uid not in (os.getuid(), 0):
                return f"cache folder {place} belongs to user {info.st_uid}, not to this one"
            if info.st_mode & stat.S_IWOTH and not info.st_mode & stat.S_ISVTX:
                return f"cache folder {place} is writable by everyone"
        if not os.access(folder, os.R_OK | os.X_OK):
            return f"cache folder {folder} cannot be used: it is not readable"
    except OSError as error:
        return f"cache folder {folder} cannot be used: {error.strerror}"
    return ""


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
        path = self.path(key)
        draft = path.with_suffix(f".{os.getpid()}.draft")
        draft.write_bytes(dumps(data))
        draft.replace(path)  # a reader never sees half a file

    def load(self, key: Any) -> Any:
        try:
            return pickle.loads(self.path(key).read_bytes())
        except FileNotFoundError:
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

        self._impl_class = Implementation
        self._writable = os.access(folder, os.W_OK)
        super().__init__(function)
        self._cache_file = _Files(Path(self._cache_path), self._impl.filename_base)

    def has(self, signature: Any, codegen: Any) -> bool:
        """Whether there is code for these argument types and this processor."""
        return self._cache_file.path(self._index_key(signature, codegen)).exists()

    def _save_overload(self, signature: Any, data: Any) -> None:
        if self._writable:
            super()._save_overload(signature, data)
