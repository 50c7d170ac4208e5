"""Options of the commands that talk to a daemon, and the client that they mean."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torqued.client import Client


def add_connection(parser: argparse.ArgumentParser) -> None:
    """--robot or --endpoint, keys for TCP, and --timeout."""
    parser.add_argument(
        "--robot",
        metavar="NAME",
        help="name of the daemon (default: $TORQUED_NAME, or the only one that there is)",
    )
    parser.add_argument("--endpoint", help="its request endpoint, in place of its name")
    parser.add_argument(
        "--key", metavar="FILE", help="for TCP: a client's key (default: $TORQUED_KEY)"
    )
    parser.add_argument(
        "--server-key",
        metavar="FILE",
        help="the daemon's public key (default: $TORQUED_SERVER_KEY, or the one in the key's file)",
    )
    parser.add_argument(
        "--timeout", type=float, default=1.0, metavar="S", help="seconds per try (default: 1)"
    )


def connect(args: argparse.Namespace) -> Client:
    """The client of the daemon that the options mean."""
    from torqued.client import Client, TorquedError
    from torqued.client.endpoints import default_folder, request_endpoint

    if args.endpoint:
        keys = {"key": args.key, "server_key": args.server_key}
        return Client(args.endpoint, args.timeout, **keys)
    name = args.robot or os.environ.get("TORQUED_NAME")
    if name:
        return Client(request_endpoint(name), args.timeout)
    names = daemons(default_folder())
    if len(names) != 1:
        found = f"there are {', '.join(names)}" if names else "there is none"
        raise TorquedError(
            f"which daemon? {found} in {default_folder()}; name one with --robot or --endpoint"
        )
    return Client(request_endpoint(names[0]), args.timeout)


def daemons(folder: Path) -> list[str]:
    """Names of the daemons with sockets in a folder."""
    suffix = ".control.sock"
    return sorted(path.name.removesuffix(suffix) for path in folder.glob(f"*{suffix}"))


def as_json(value: Any) -> str:
    """A reply for machines; arrays as nested lists, what JSON has no number for as null."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value
