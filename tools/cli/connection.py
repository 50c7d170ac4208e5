"""Options of the commands that talk to a daemon, and the client for them."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torqued.client import Client


def add_connection(parser: argparse.ArgumentParser) -> None:
    """--robot or --endpoint, keys for TCP, and --timeout."""
    parser.add_argument(
        "--robot",
        metavar="NAME",
        help="daemon name (default: $TORQUED_NAME, or the only one running)",
    )
    parser.add_argument("--endpoint", help="request endpoint of the daemon, instead of its name")
    parser.add_argument("--key", metavar="FILE", help="client key for TCP (default: $TORQUED_KEY)")
    parser.add_argument(
        "--server-key",
        metavar="FILE",
        help="public key of the daemon (default: $TORQUED_SERVER_KEY, or the one in the key file)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=1.0,
        metavar="S",
        help="timeout per attempt, in seconds (default: 1)",
    )


def connect(args: argparse.Namespace) -> Client:
    """The client for these options; raises at once if no daemon runs."""
    from torqued.client import Client, TorquedError
    from torqued.client.discovery import describe_running, endpoint_of, running
    from torqued.client.endpoints import default_folder

    if args.endpoint:
        keys = {"key": args.key, "server_key": args.server_key}
        return Client(args.endpoint, args.timeout, **keys)
    name = args.robot or os.environ.get("TORQUED_NAME")
    if name:
        return Client(endpoint_of(name), args.timeout)
    names = running()
    if not names:
        raise TorquedError(
            f"no daemon is running in {default_folder()}; "
            "start one with `torqued serve --robot panda`, or name one with --endpoint"
        )
    if len(names) > 1:
        raise TorquedError(f"several {describe_running()}; choose one with --robot")
    return Client(endpoint_of(names[0]), args.timeout)


def as_json(value: Any) -> str:
    """A reply as JSON; arrays as nested lists, NaN and infinity as null."""
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
