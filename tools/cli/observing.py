"""Options of the commands that read a daemon's ring."""

from __future__ import annotations

import argparse
from pathlib import Path

from torqued.common.errors import InputError


def add_observing(parser: argparse.ArgumentParser) -> None:
    """--robot, --folder, --seconds."""
    parser.add_argument(
        "--robot",
        metavar="NAME",
        help="daemon name (default: $TORQUED_NAME, or the only one running)",
    )
    parser.add_argument(
        "--folder", type=Path, help="socket directory (default: that of `torqued serve`)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="duration in seconds (default: until Ctrl-C)",
    )


def host_and_port(text: str) -> tuple[str, int]:
    """From `HOST:PORT`; port 0 means any free port."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--listen is {text!r}, expected HOST:PORT such as 127.0.0.1:9464")
    return host.strip("[]"), int(port)
