"""Tables of TOML with known keys: every fault of a file is found before one report of all.

A kind of value is a function that returns the value as the reader needs it, and raises `Wrong`
with what it expects. What is wrong is None in the record; a file with such a value is refused.
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.input_checks import shown
from torqued.kernels.model.description import Array

#: What a key may hold: a function, or a table of keys, the first of which is needed.
Kind = Callable[[Any], Any] | Mapping[str, Any]

#: Of a number: whole ones of TOML have no end.
LARGEST = sys.float_info.max


class Wrong(Exception):
    """A value of another kind; the text says what is expected."""


def toml_table(text: str, source: str) -> dict[str, Any]:
    """The table of a TOML text."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(source, [f"cannot be read as TOML: {error}"]) from None


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise Wrong("a text")
    return value


def number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= LARGEST:
        raise Wrong("a finite number")
    return float(value)


def limit(value: Any) -> float:
    return value if value in (math.inf, -math.inf) else number(value)


def nested(value: Any, shape: tuple[int, ...]) -> Any:
    """Finite numbers in nested arrays of a shape, as nested tuples."""
    if not shape:
        return number(value)
    if not isinstance(value, list) or len(value) != shape[0]:
        raise Wrong
    return tuple(nested(item, shape[1:]) for item in value)


def numbers(*shape: int) -> Callable[[Any], Array]:
    """Of nested arrays of finite numbers."""

    def read(value: Any) -> Array:
        try:
            return np.array(nested(value, shape))
        except Wrong:
            raise Wrong(f"{' × '.join(map(str, shape))} finite numbers") from None

    return read


class Records:
    """Reads tables, and collects what is wrong with them in `problems`."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def known(self, where: str, table: Mapping[str, Any], allowed: Any) -> None:
        for key in table:
            if key not in allowed:
                words = ", ".join(sorted(allowed))
                self.problems.append(f"{where}: key {key!r} is unknown, allowed: {words}")

    def records(
        self, kind: str, value: Any, keys: Mapping[str, Kind], needed: tuple[str, ...]
    ) -> list[dict[str, Any]]:
        """An array of tables; each record has the keys that were given, and `where` it is."""
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.problems.append(f"{kind} is {shown(value)}, expected tables [[{kind}]]")
            return []
        found = []
        for k, item in enumerate(value):
            name = item.get("name")
            where = (
                f"{kind} {name!r}" if isinstance(name, str) and name else f"{kind} number {k + 1}"
            )
            found.append({"where": where, **self.record(where, item, keys, needed)})
        return found

    def record(
        self, where: str, item: Mapping[str, Any], keys: Mapping[str, Kind], needed: tuple[str, ...]
    ) -> dict[str, Any]:
        self.known(where, item, keys)
        for key in needed:
            if not item.get(key):
                self.problems.append(f"{where}: {key!r} is missing, expected a text")
        return {k: self.value(where, k, item[k], kind) for k, kind in keys.items() if k in item}

    def value(self, where: str, key: str, value: Any, kind: Kind) -> Any:
        try:
            if callable(kind):
                return kind(value)
            if not isinstance(value, dict):
                raise Wrong(f"a table of {', '.join(kind)}")
            return self.record(f"{where}: {key!r}", value, kind, tuple(kind)[:1])
        except Wrong as wrong:
            self.problems.append(f"{where}: {key!r} is {shown(value)}, expected {wrong}")
            return None
