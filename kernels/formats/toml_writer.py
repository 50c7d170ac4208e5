"""A `Description` as TOML text in full: reading it gives an equal one, to the bit.

Keys are the fields of the classes in `description.py`; those with their default are left out.
`toml_reader.py` has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass
from typing import Any

from torqued.kernels.formats.screws_writer import number_word, text_word
from torqued.kernels.formats.toml_records import CONSTRAINTS, hints
from torqued.kernels.model.description import Description

#: The key `type` of tables.
TYPES = {kind: name for name, kind in CONSTRAINTS.items()}


def to_toml(description: Description) -> str:
    """The description as TOML text."""
    record = _record(description)
    lists = {key: record.pop(key) for key in ("links", "joints", "locked") if record.get(key)}
    tables = {key: record.pop(key, {}) for key in ("postures", "constraints")}
    lines = ['format = "description"', *_lines(record)]
    for key, items in lists.items():
        for item in items:
            lines += ["", f"[[{key}]]", *_lines(_record(item))]
    for key, table in tables.items():
        if table:
            lines += ["", f"[{key}]", *_lines(table)]
    return "\n".join(lines) + "\n"


def as_table(value: Any) -> Any:
    """A description, or what is in one, as tables, lists, numbers and texts."""
    if is_dataclass(value):
        value = _record(value)
    if isinstance(value, Mapping):
        return {key: as_table(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_table(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_word(value)}" for key, value in table.items()]


def _record(item: Any) -> dict[str, Any]:
    """Fields and their values, but for defaults; those of equal words are equal to the bit."""
    kind: Any = type(item)
    found: dict[str, Any] = {"type": TYPES[kind]} if kind in TYPES else {}
    for key, (_, usual) in hints(kind).items():
        if usual is MISSING or _word(getattr(item, key)) != _word(usual):
            found[key] = getattr(item, key)
    return found


def _key(key: str) -> str:
    return key if key.isascii() and key.isidentifier() else text_word(key)


def _word(value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None:
        return ""
    if isinstance(value, str):
        return text_word(value)
    if is_dataclass(value):
        value = _record(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_lines(value))} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_word, value))}]"
    return number_word(value)
