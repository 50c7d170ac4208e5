"""Tables of TOML into dataclasses, whose fields are the keys: every fault in one report.

What is wrong is `...` in an instance; a file with faults is refused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.constraints.types import Loop
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sandbox import evaluated
from torqued.kernels.formats.toml_program import answer
from torqued.kernels.input_checks import shown
from torqued.kernels.model.description import Array

#: Kinds of constraints, by the key `type` of their tables.
CONSTRAINTS: dict[str, type] = {"contact": Contact, "loop": Loop}

#: Characters of a text that no key makes expensive; of a longer one, seconds.
SHORT, CPU_SECONDS = 10_000, 3

#: Of a number: whole ones of TOML have no end.
LARGEST = sys.float_info.max


class Wrong(Exception):
    """A value of another kind; the text says what is expected."""


def toml_table(text: str, source: str) -> dict[str, Any]:
    """The table of a TOML text; a long one is parsed in a process of few rights."""
    if len(text) <= SHORT:
        found = answer({"text": text})
        if "problems" in found:
            raise ModelError(source, found["problems"])
    else:
        file = RobotFile(text, source)
        found = evaluated(file, "torqued.kernels.formats.toml_program", {}, CPU_SECONDS)
    table: dict[str, Any] = found["table"]
    return table


@cache
def hints(kind: Any) -> dict[str, tuple[Any, Any]]:
    """Key → the type of its value, and its default or MISSING."""
    types = get_type_hints(kind, localns={item.__name__: item for item in CONSTRAINTS.values()})
    return {
        field.name: (
            types[field.name],
            field.default if field.default_factory is MISSING else field.default_factory(),
        )
        for field in fields(kind)
        if field.name != "source"  # which no file says
    }


class Records:
    """Reads tables, and collects what is wrong with them in `problems`."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def read(self, kind: Any, table: Any, where: str = "the file") -> Any:
        """An instance of a dataclass."""
        if not isinstance(table, dict):
            raise Wrong("a table")
        values, keys = {}, hints(kind)
        for key in table:
            if key not in keys:
                words = ", ".join(sorted(keys))
                self.problems.append(f"{where}: key {key!r} is unknown, allowed: {words}")
        for key, (hint, usual) in keys.items():
            if key in table:
                values[key] = self.field(where, key, hint, table[key], usual)
            elif usual is MISSING:
                values[key] = ...
                self.problems.append(f"{where}: {key!r} is missing")
        return kind(**values)

    def field(self, where: str, key: str, hint: Any, value: Any, usual: Any = None) -> Any:
        """The value of a key. An array has the shape of the usual one, whose 0 rows stand for any
        number of them."""
        place = key if where == "the file" else f"{where}: {key!r}"
        try:
            return self._value(place, hint, value, usual)
        except Wrong as wrong:
            self.problems.append(f"{where}: {key!r} is {shown(value)}, expected {wrong}")
            return ...

    def _value(self, where: str, hint: Any, value: Any, usual: Any = None) -> Any:
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        origin = get_origin(hint)
        if hint is Any:
            return _plain(value)
        if hint is str:
            return _text(value)
        if hint is bool:
            return _flag(value)
        if hint is float:
            endless = value in (math.inf, -math.inf) and usual in (math.inf, -math.inf)
            return value if endless else _number(value)
        if hint == Array:
            return _numbers(value, np.shape(usual) or (3,))
        if is_dataclass(hint):
            return self.read(hint, value, where)
        if origin is Mapping and isinstance(value, dict):
            return {key: self.field(where, key, kinds[1], item) for key, item in value.items()}
        if origin is tuple and isinstance(value, list):
            each = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
            if len(each) == len(value):
                return tuple(self._item(where, k, each[k], item) for k, item in enumerate(value))
            raise Wrong(f"{len(each)} values")
        if origin in (Mapping, tuple):
            raise Wrong("a table" if origin is Mapping else "an array")
        if len(kinds) == 1:
            return self._value(where, kinds[0], value)
        kind = value.pop("type", None) if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in CONSTRAINTS:
            raise Wrong("a table with the type 'contact' or 'loop'")
        return self.read(CONSTRAINTS[kind], value, where)

    def _item(self, where: str, k: int, hint: Any, value: Any) -> Any:
        """Named in messages for the link or joint that it is."""
        name = value.get("name") if isinstance(value, dict) else None
        place = f"{name!r}" if isinstance(name, str) and name else f"number {k + 1}"
        return self._value(f"{where.removesuffix('s')} {place}", hint, value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Wrong("a text")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise Wrong("true or false")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= LARGEST:
        raise Wrong("a finite number")
    return float(value)


def _numbers(value: Any, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(_plain(value))
    except (ValueError, Wrong):  # of no shape, or with something else than numbers and texts
        array = np.empty(0)
    rows = array.shape[:1] if shape[0] == 0 else shape[:1]
    if array.shape != rows + shape[1:] or array.dtype != np.float64:
        raise Wrong(f"{' × '.join(str(size or 'k') for size in shape)} finite numbers")
    return array


def _plain(value: Any) -> Any:
    """Arrays as tuples, numbers as float64, and texts."""
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value if isinstance(value, str) else _number(value)
