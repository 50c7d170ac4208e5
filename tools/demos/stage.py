"""What experiments in lock step have in common: a daemon to work with, and a bar to watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torqued.client import Client
from torqued.kernels.model.description import Description
from torqued.tools.demos.daemon import PATIENT, demo

if TYPE_CHECKING:
    from rich.console import Console

RATE = 1000.0  # Hz, of the daemon's loop


def console_of() -> Console:
    """Where an experiment prints, with kernels ready."""
    from rich.console import Console

    from torqued.tools.cli.compile import compile_with_progress

    console = Console(highlight=False, soft_wrap=True)
    compile_with_progress(console)
    return console


@contextmanager
def served(description: Description, base: str = "fixed") -> Iterator[Client]:
    """A client of a daemon for that robot."""
    with demo() as place:
        place.serve(description, base, RATE, PATIENT)
        yield place.client()


@contextmanager
def bar(console: Console, what: str, steps: int) -> Iterator[Callable[[], None]]:
    """To be called after each step."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn(what),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("", total=steps)
        yield lambda: progress.advance(task)
