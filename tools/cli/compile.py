"""`torqued compile`: fill the cache of compiled kernels, showing progress."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torqued.common.durations import about

if TYPE_CHECKING:
    from rich.console import Console

    from torqued.kernels.compilation.entries import CompileSummary, Report

HELP = "compile all kernels into the cache, so that later starts are fast"
EXAMPLE = "  torqued compile"

#: Seconds between lines of progress where there is no terminal.
LOG_INTERVAL = 10.0
#: Signals that end the process at once while kernels compile.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
    from torqued.kernels.compilation.cache_folder import KEPT_DAYS, cache_root, prune
    from torqued.tools.cli.console import make_console

    console = make_console()
    summary = compile_with_progress(console)
    console.print(
        f"{summary.kernels} kernels ready in {summary.seconds:.1f} s, "
        f"{summary.from_cache} of them from the cache"
    )
    console.print(f"cache: {summary.cache}", markup=False)
    removed = prune(cache_root())
    if removed:
        console.print(f"removed {removed} files not used for {KEPT_DAYS} days")
    return 0


def interrupted(number: int) -> int:
    """The exit code of a program that a signal ended."""
    print("interrupted; finished kernels stay in the cache", file=sys.stderr)
    return 128 + number


def compile_with_progress(
    console: Console,
    prepare: Callable[[Report], CompileSummary] | None = None,
    leave: Callable[[int], int] = interrupted,
    say: Callable[[str], None] | None = None,
) -> CompileSummary:
    """Compile every kernel, or load it from the cache; `prepare` may do more than that.

    A terminal shows a bar that disappears at the end; a log gets a line when kernels have to be
    compiled and occasional ones after that, through `say`. Ctrl-C ends the process at once, with
    the exit code from `leave`.
    """
    from torqued.kernels.compilation.entries import compile_all
    from torqued.kernels.control import controller  # noqa: F401  (registers what it compiles)
    from torqued.server.loop import arrival_loop, servo_loop, session_tick  # noqa: F401  (likewise)
    from torqued.tools.cli.console import Bar

    warn_if_not_cached()
    bar = Bar(console, "", None)
    next_line = time.monotonic() + LOG_INTERVAL

    def report(name: str, done: int, total: int, left: float) -> None:
        nonlocal next_line
        doing = "compiling kernels once for this machine" if left else "loading kernels"
        bar.reach(done, description=doing, total=total, left=left, refresh=True)
        is_due = time.monotonic() > next_line or (left > 0.0 and done == 0)
        if not console.is_terminal and is_due:
            next_line = time.monotonic() + LOG_INTERVAL
            time_left = f"{about(left)} left, " if left else ""
            (say or console.print)(f"{doing}; {time_left}{done} of {total} ready")

    def end(number: int) -> int:
        bar.stop()
        return leave(number)

    with exit_on_signals(end), bar:
        return (prepare or compile_all)(report)


def warn_if_not_cached() -> None:
    """Warn before minutes of compiling that the next start has to compile too, and why."""
    from torqued.kernels.compilation.jit import CACHE_FOLDER, CACHE_PROBLEM, ENTRIES, is_cached

    if CACHE_FOLDER is not None and os.access(CACHE_FOLDER, os.W_OK):
        return
    missing = sum(not is_cached(name) for name in ENTRIES)
    if missing:
        problem = CACHE_PROBLEM or f"cache directory {CACHE_FOLDER} is not writable"
        print(
            f"torqued: warning: {problem}: {missing} kernels are compiled now, which takes "
            "minutes, and again at the next start; set $TORQUED_CACHE_DIR to another directory",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def exit_on_signals(leave: Callable[[int], int]) -> Iterator[None]:
    """On a signal the process exits without waiting for the main thread.

    Python runs a signal's handler between two instructions of the main thread, but LLVM compiles
    for seconds. The signal's number goes to a file descriptor at once (`signal.set_wakeup_fd`),
    and another thread reads it there and exits with the code `leave(number)`. Only signals with a
    handler when the block begins count, as SIGINT in every Python program.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def watch() -> None:
        while number := os.read(reader, 1):
            if number[0] in ENDING:
                os._exit(leave(number[0]))

    watcher = threading.Thread(target=watch, name="signals", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)
        watcher.join()
        os.close(reader)
