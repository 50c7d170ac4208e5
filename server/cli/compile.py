"""`torqued compile`: fill the cache of compiled kernels, showing progress."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

HELP = "compile every kernel into the cache, so that later starts are quick"
EXAMPLE = "  torqued compile"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    console = Console()
    start = time.perf_counter()
    count = compile_with_progress(console)
    console.print(f"{count} kernels ready in {time.perf_counter() - start:.1f} s")
    return 0


def compile_with_progress(console: Console) -> int:
    """Compile, or load from the cache, every kernel; return how many there are.

    The progress bar leaves no trace on the terminal once it is done.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from torqued.kernels.compiling import compile_all

    with Progress(
        TextColumn("compiling"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    ) as progress:
        bar = progress.add_task("", total=None)

        def report(name: str, done: int, total: int) -> None:
            progress.update(bar, description=name, completed=done, total=total)

        compile_all(report)
        return int(progress.tasks[bar].total or 0)
