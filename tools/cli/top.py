"""`torqued top`: a live view of a daemon, from its telemetry."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torqued.tools.cli.options import add_connection, add_seconds, connect
from torqued.tools.cli.stats import view

HELP = "watch a daemon's loop and sessions live"
EXAMPLE = "  torqued top --robot panda\n  torqued top --seconds 10"

#: Seconds without telemetry after which the view reports it.
SILENCE = 1.0

#: Terminal codes: alternate screen and back; clear from the top left corner.
OTHER_SCREEN, BACK, CLEAR = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H\x1b[J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    add_seconds(parser)


def run(args: argparse.Namespace) -> int:
    with connect(args) as client:
        stats = client.stats().as_dict()  # fails with a clear message if there is no daemon
        deadline = time.monotonic() + args.seconds
        with client.telemetry() as telemetry, screen() as show:
            show(view(stats))
            try:
                while (left := deadline - time.monotonic()) > 0:
                    try:
                        stats = telemetry.receive(min(SILENCE, left)).as_dict()
                        show(view(stats))
                    except TimeoutError:
                        if left > SILENCE:
                            show(f"{view(stats)}\nno reply from the daemon for {SILENCE:.0f} s")
            except KeyboardInterrupt:
                pass
    return 0


@contextmanager
def screen() -> Iterator[Callable[[str], None]]:
    """Yields a function that replaces the text on screen; the last text stays at the end.

    A file or a pipe gets only the last text.
    """
    last = ""
    terminal = sys.stdout.isatty()

    def show(text: str) -> None:
        nonlocal last
        last = text
        if terminal:
            print(CLEAR + text, end="", flush=True)

    if terminal:
        print(OTHER_SCREEN, end="", flush=True)
    try:
        yield show
    finally:
        print((BACK if terminal else "") + last, flush=True)
