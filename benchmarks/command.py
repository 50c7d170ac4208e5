"""What the benchmarks' commands share: options, console, progress, files."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.common.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

#: Columns where there is no terminal that has some.
LOG_WIDTH = 110


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw the figures as PNG")
    parser.add_argument("--quick", action="store_true", help="rough figures in a few seconds")


def make_console() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, LOG_WIDTH)
    return console


def require_places(args: argparse.Namespace) -> None:
    """Find out before the measurement what would spoil its end."""
    if args.json and (args.json.is_dir() or not args.json.absolute().parent.is_dir()):
        raise InputError(f"--json {args.json}: not a file, or in a folder that does not exist")
    if args.plot:
        importlib.import_module("matplotlib")
        try:
            args.plot.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--plot {args.plot}: not a folder ({error.strerror})") from None


@contextmanager
def progress(console: Console, total: int) -> Iterator[Callable[[str, str], None]]:
    """Gives `report(what, detail)`, to be called before each of `total` parts.

    A terminal shows a bar that vanishes in the end; a log gets a line for every new `what`.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("measuring"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        # A thread that redraws would work during measurements; this redraws between them.
        auto_refresh=False,
    ) as bar:
        task = bar.add_task("", total=total)
        done, last = 0, ""

        def report(what: str, detail: str) -> None:
            nonlocal done, last
            if what != last and not console.is_terminal:
                console.print(f"measuring {what}", markup=False)
            bar.update(task, description=f"{what}, {detail}", completed=done)
            bar.refresh()
            done, last = done + 1, what

        yield report


def write_json(path: Path, figures: Mapping[str, Any]) -> Path:
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path
