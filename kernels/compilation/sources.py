"""What the machine code of a module depends on: its source, and those that it imports.

Numba notices a changed source file only for the function defined in it, not for the functions it
calls. So each compiled function is filed under a digest of its module's source and of everything
that this imports, directly or not: code and machine code cannot drift apart, and a changed law
does not have the dynamics compiled again.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from pathlib import Path

#: Imports at the top level of a module. Those for types alone, and inside of functions, are
#: indented: compiled code cannot depend on them.
_IMPORT = re.compile(r"^from (torqued(?:\.\w+)+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


@cache
def digest(module: str) -> str:
    """Changes with every source that the machine code of a module depends on."""
    whole = hashlib.sha256()
    for name in sorted(closure(module)):
        whole.update(name.encode())
        whole.update(_source(name))
    return whole.hexdigest()[:16]


def closure(module: str) -> set[str]:
    """The module, and all modules of torqued that it imports, directly or not."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imported(name))
    return found


@cache
def _imported(module: str) -> tuple[str, ...]:
    """The modules of torqued that a module names in its imports."""
    names: list[str] = []
    for package, imported in _IMPORT.findall(_source(module).decode()):
        for item in re.findall(r"\w+", re.sub(r"#[^\n]*| as \w+", "", imported)):
            names.append(f"{package}.{item}" if _file(f"{package}.{item}") else package)
    return tuple(dict.fromkeys(names))


@cache
def _source(module: str) -> bytes:
    path = _file(module)
    return path.read_bytes() if path else b""


@cache
def _file(module: str) -> Path | None:
    """The source of a module of torqued; of another's, what it was loaded from, if a file."""
    parts = module.split(".")
    if parts[0] != "torqued" or len(parts) < 2:
        loaded = getattr(sys.modules.get(module), "__file__", None)
        return Path(loaded) if loaded else None
    package = sys.modules.get(f"torqued.{parts[1]}")
    if package is None:
        return None
    place = Path(package.__path__[0], *parts[2:])
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None
