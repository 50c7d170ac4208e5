"""Fields of requests that are words, lists of words or maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.kernels import InputError

Fields = Mapping[str, Any]


def texts(fields: Fields, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """A field that is a list of texts."""
    value = fields.get(name, default)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name}: {value!r}, expected a list of texts", name, None, "texts")
    return tuple(value)


def text(fields: Fields, name: str, default: str) -> str:
    """A field that is a text."""
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name}: {value!r}, expected a text", name, None, "a text")
    return value


def mapping(fields: Fields, name: str) -> Mapping[str, Any]:
    """A field that is a map, empty where it is absent."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name}: {value!r}, expected a map", name, None, "a map")
    return value
