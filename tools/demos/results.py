"""Results of an experiment: checks that decide its exit code, a table, a JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


#: s, of a run.
MAX_SECONDS = 3600.0


@dataclass(frozen=True)
class Check:
    """A claim, what was found, and whether it holds."""

    claim: str
    found: str
    holds: bool


def at_most(claim: str, value: float, bound: float, unit: str = "") -> Check:
    """NaN never holds."""
    return Check(f"{claim} ≤ {bound:g}{unit}", f"{value:.3g}{unit}", bool(value <= bound))


def at_least(claim: str, value: float, bound: float, unit: str = "") -> Check:
    return Check(f"{claim} ≥ {bound:g}{unit}", f"{value:.3g}{unit}", bool(value >= bound))


def duration(given: float | None, usual: float, least: float) -> float:
    """s, what `--seconds` says or the usual time."""
    seconds = usual if given is None else given
    if not least <= seconds <= MAX_SECONDS:
        raise InputError(f"--seconds is {seconds:g}, expected {least:g} to {MAX_SECONDS:g}")
    return seconds


def print_rows(console: Console, title: str, rows: list[dict[str, str]]) -> None:
    """A table; columns are the keys of the first row."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for k, name in enumerate(rows[0]):
        table.add_column(name, justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


def conclude(console: Console, checks: list[Check]) -> int:
    """Print what holds; the exit code."""
    for check in checks:
        mark = "[green]holds [/green]" if check.holds else "[red]FAILED[/red]"
        console.print(f"{mark}  {check.claim}: {check.found}")
    return 0 if all(check.holds for check in checks) else 1


def write_json(path: Path | None, results: Any) -> None:
    if path is not None:
        path.write_text(json.dumps(plain(results), indent=2, ensure_ascii=False) + "\n")


def plain(value: Any) -> Any:
    """Numbers and lists for JSON; what JSON has no number for as null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
