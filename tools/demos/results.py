"""What experiments print and write: tables, a JSON file, checks that decide the exit code."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from torqued.common.errors import InputError
from torqued.tools.cli.compile import compile_with_progress
from torqued.tools.cli.console import make_console
from torqued.tools.cli.options import as_json

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


def ready_console() -> Console:
    """Where an experiment prints, with all kernels compiled."""
    console = make_console()
    compile_with_progress(console)
    return console


def print_rows(console: Console, title: str, rows: list[dict[str, str]]) -> None:
    """A table; columns are the keys of the first row."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for k, name in enumerate(rows[0]):
        table.add_column(name, justify="left" if k == 0 else "right")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


def conclude(
    console: Console,
    args: argparse.Namespace,
    found: Any,
    pictures: list[Path],
    checks: list[Check],
) -> int:
    """Write what was found as JSON, print where pictures are and what holds; the exit code."""
    if args.json is not None:
        args.json.write_text(as_json(found, indent=2) + "\n")
    for path in pictures:
        console.print(f"picture: {path}", markup=False)
    for check in checks:
        mark = "[green]holds [/green]" if check.holds else "[red]FAILED[/red]"
        console.print(f"{mark}  {check.claim}: {check.found}")
    return 0 if all(check.holds for check in checks) else 1
