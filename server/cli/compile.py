"""`torqued compile`: fill the cache of compiled kernels, showing progress."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from torqued.kernels.compilation.entries import CompileSummary

HELP = "compile every kernel into the cache, so that later starts are quick"
EXAMPLE = "  torqued compile"

#: Told what is compiled: its name, how many are done, of how many.
Report = Callable[[str, int, int], None]

#: Seconds between lines of progress where there is no terminal.
LOG_INTERVAL = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from torqued.kernels.compilation.cache_folder import KEPT_DAYS, cache_root, prune

    console = Console(highlight=False, soft_wrap=True)
    summary = compile_with_progress(console)
    console.print(
        f"{summary.kernels} kernels ready in {summary.seconds:.1f} s, "
        f"{summary.from_cache} of them from the cache"
    )
    console.print(f"cache: {summary.cache}", markup=False)
    removed = prune(cache_root())
    if removed:
        console.print(f"removed {removed} files that nothing has used for {KEPT_DAYS} days")
    return 0


def compile_with_progress(
    console: Console, prepare: Callable[[Report], CompileSummary] | None = None
) -> CompileSummary:
    """Compile every kernel, or load it from the cache; `prepare` may do more than that.

    A terminal shows a bar that vanishes in the end; a log gets a line now and then.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from torqued.kernels.compilation.entries import compile_all
    from torqued.kernels.control import controller  # noqa: F401  (registers what it compiles)
    from torqued.server.loop import tick  # noqa: F401  (likewise)
    from torqued.server.requests import fast_path_loop  # noqa: F401  (likewise)

    with Progress(
        TextColumn("compiling"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task("", total=None)
        last_line = time.monotonic()

        def report(name: str, done: int, total: int) -> None:
            nonlocal last_line
            progress.update(bar, description=name, completed=done, total=total)
            if not console.is_terminal and time.monotonic() - last_line > LOG_INTERVAL:
                last_line = time.monotonic()
                console.print(f"compiling kernels: {done} of {total}")

        return (prepare or compile_all)(report)
