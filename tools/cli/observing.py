"""Options of the commands that read a daemon's ring, and what they mean."""

from __future__ import annotations

import argparse
from pathlib import Path

from torqued.common.errors import InputError


def add_observing(parser: argparse.ArgumentParser) -> None:
    """--robot, --folder, --seconds."""
    parser.add_argument(
        "--robot",
        metavar="NAME",
        help="name of the daemon (default: $TORQUED_NAME, or the only one that runs)",
    )
    parser.add_argument("--folder", type=Path, help="of its sockets (default: as `serve` has it)")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="how long (default: until Ctrl-C)"
    )


def host_and_port(text: str) -> tuple[str, int]:
    """From `HOST:PORT`; port 0 is any that is free."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--listen is {text!r}, expected HOST:PORT such as 127.0.0.1:9464")
    return host.strip("[]"), int(port)
