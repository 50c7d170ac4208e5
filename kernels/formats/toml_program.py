"""Parses a TOML text in the process of `sandbox.py`: keys of many parts take memory without end."""

from __future__ import annotations

import json
import tomllib
from typing import Any


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Its table, dates as texts; or what is wrong."""
    try:
        return {"table": json.loads(json.dumps(tomllib.loads(request["text"]), default=str))}
    except (ValueError, RecursionError) as error:
        return {"problems": [f"cannot be read as TOML: {error}"]}
