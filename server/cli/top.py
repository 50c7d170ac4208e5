"""`torqued top`: a live view of a daemon, from what it publishes."""

from __future__ import annotations

import argparse
import time

from torqued.server.cli.connection import add_connection, connect
from torqued.server.cli.stats import view

HELP = "watch a daemon: its loop and its sessions, live"
EXAMPLE = "  torqued top --robot panda\n  torqued top --seconds 10"

#: Silence of the daemon, in seconds, after which the view says so.
SILENCE = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="how long (default: until Ctrl-C)"
    )


def run(args: argparse.Namespace) -> int:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    with connect(args) as client:
        stats = client.stats().as_dict()  # fails with a clear message where there is no daemon
        deadline = time.monotonic() + args.seconds
        with client.telemetry() as telemetry, Live(console=Console(), auto_refresh=False) as live:
            live.update(view(stats), refresh=True)
            try:
                while (left := deadline - time.monotonic()) > 0:
                    newest = telemetry.newest(min(SILENCE, left))
                    if newest is not None:
                        stats = newest
                        live.update(view(stats), refresh=True)
                    elif left > SILENCE:
                        silent = Text(f"no word from the daemon for {SILENCE:.0f} s", "red")
                        live.update(Group(view(stats), silent), refresh=True)
            except KeyboardInterrupt:
                pass
    return 0
