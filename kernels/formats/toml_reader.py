"""A robot from TOML: by screws (`screws_reader.py`), or a `Description` in full.

format = "description"      # without it, the file is by screws
name = "arm"                # keys are the fields of the classes in `description.py`

[[links]]
name = "upper"
inertia = { mass = 2.0, com = [0.1, 0, 0], rotational = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] }

[[joints]]
name = "hip"
type = "universal"
parent = "base"
child = "upper"
placement = { position = [0, 0, 0.4] }
axis = [1, 0, 0]
limits = { lower = -1, upper = 1, velocity = inf }
motions = [["revolute", [0, 1, 0]]]

[postures]
home = { knee = [0.3] }

[constraints]               # fields of `Contact` and `Loop`
stance = [{ type = "contact", frame = "foot", kind = "point" }]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.screws_reader import read_screws
from torqued.kernels.formats.toml_records import (
    Records,
    Wrong,
    limit,
    number,
    numbers,
    text,
    toml_table,
)
from torqued.kernels.formats.toml_writer import CONSTRAINTS
from torqued.kernels.input_checks import shown
from torqued.kernels.model.description import Array, Description


def read_toml(file: RobotFile) -> Description:
    """The robot; everything that cannot be read in one `ModelError`."""
    table = toml_table(file.text, file.source)
    kind = table.pop("format", None)
    if kind is None:
        return read_screws(table, file.source)
    if kind != "description":
        problem = f"key 'format' is {shown(kind)}, expected 'description', or none for screws"
        raise ModelError(file.source, [problem])
    reader = _Reader()
    description: Description | None = reader.instance("the file", Description, table)
    if description is None:
        raise ModelError(file.source, reader.problems)
    return replace(description, source=file.source)


@cache
def _hints(kind: type) -> dict[str, tuple[Any, Any]]:
    """Field → its type, and its default or MISSING."""
    types = get_type_hints(kind, localns={item.__name__: item for item in CONSTRAINTS.values()})
    return {
        field.name: (
            types[field.name],
            field.default if field.default_factory is MISSING else field.default_factory(),
        )
        for field in fields(kind)
        if field.name != "source"
    }


class _Reader(Records):
    def instance(self, where: str, kind: Any, table: Any) -> Any:
        """Of a dataclass; None where the file has faults."""
        if not isinstance(table, dict):
            raise Wrong("a table")
        hints = _hints(kind)
        self.known(where, table, hints)
        values = {}
        for key, (hint, usual) in hints.items():
            if key in table:
                values[key] = self._field(where, key, hint, table[key], usual)
            elif usual is MISSING:
                self.problems.append(f"{where}: {key!r} is missing")
        return None if self.problems else kind(**values)

    def _field(self, where: str, key: str, hint: Any, value: Any, usual: Any = None) -> Any:
        place = key if where == "the file" else f"{where}: {key!r}"
        try:
            return self._value(place, hint, value, usual)
        except Wrong as wrong:
            self.problems.append(f"{where}: {key!r} is {shown(value)}, expected {wrong}")

    def _value(self, where: str, hint: Any, value: Any, usual: Any = None) -> Any:
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        if hint is Any:
            return _tuples(value)
        if hint == Array:
            return numbers(*((3,) if usual is None else np.shape(usual)))(value)
        if hint in (float, str):
            infinite = usual in (math.inf, -math.inf)
            return (text if hint is str else limit if infinite else number)(value)
        if is_dataclass(hint):
            return self.instance(where, hint, value)
        if get_origin(hint) is Mapping:
            if not isinstance(value, dict):
                raise Wrong("a table")
            return {key: self._field(where, key, kinds[1], item) for key, item in value.items()}
        if get_origin(hint) is tuple:
            several = kinds[-1] is Ellipsis
            if not isinstance(value, list) or not (several or len(value) == len(kinds)):
                raise Wrong("an array" if several else f"{len(kinds)} values")
            hints = kinds[:1] * len(value) if several else kinds
            return tuple(
                self._item(where, k, *pair) for k, pair in enumerate(zip(hints, value, strict=True))
            )
        if len(kinds) == 1:
            return self._value(where, kinds[0], value)
        kind = value.pop("type", None) if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in CONSTRAINTS:
            raise Wrong("a table with the type 'contact' or 'loop'")
        return self.instance(where, CONSTRAINTS[kind], value)

    def _item(self, where: str, k: int, hint: Any, value: Any) -> Any:
        """Named in messages for the link or joint that it is."""
        name = value.get("name") if isinstance(value, dict) else None
        place = f"{name!r}" if isinstance(name, str) and name else f"number {k + 1}"
        return self._value(f"{where.removesuffix('s')} {place}", hint, value)


def _tuples(value: Any) -> Any:
    """Arrays as tuples, numbers as float64."""
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    return value if isinstance(value, str) else number(value)
