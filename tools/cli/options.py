"""Options that commands share, the daemon and client that they mean, and JSON and text tables."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.common.errors import InputError, TorquedError

if TYPE_CHECKING:
    from torqued.client import Client
    from torqued.tools.viewers.following import Following


def add_daemon(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--robot",
        metavar="NAME",
        help="daemon name (default: $TORQUED_NAME, or the only one running)",
    )


def add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", type=Path, help="socket directory (default: that of `torqued serve`)"
    )


def add_connection(parser: argparse.ArgumentParser) -> None:
    """--robot and --folder, or --endpoint, keys for TCP, and --timeout."""
    add_daemon(parser)
    add_folder(parser)
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


def add_request(parser: argparse.ArgumentParser) -> None:
    """The connection, and --json: of the commands that make one request."""
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="print the reply as JSON")


def add_observing(parser: argparse.ArgumentParser) -> None:
    """--robot, --folder, --seconds: of the commands that read a daemon's ring."""
    add_daemon(parser)
    add_folder(parser)
    add_seconds(parser)


def add_seconds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="duration in seconds (default: until Ctrl-C)",
    )


def add_listen(parser: argparse.ArgumentParser, port: int) -> None:
    parser.add_argument(
        "--listen",
        default=f"127.0.0.1:{port}",
        metavar="HOST:PORT",
        help="address to serve (default: %(default)s, this machine only)",
    )


def add_session(parser: argparse.ArgumentParser, default: str = "default: all sessions") -> None:
    parser.add_argument("--session", type=int, metavar="N", help=f"session number ({default})")


def output_file(text: str) -> Path:
    """A path whose folder exists: a long search must not end without its result."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: expected a file in a folder that exists")
    return path


def add_out_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("."),
        metavar="FOLDER",
        help="output directory (default: current directory)",
    )


def add_robot(parser: argparse.ArgumentParser) -> None:
    """--robot or --config, --base, --locked and --arg."""
    parser.add_argument(
        *("--robot", "--model", "--urdf"),
        dest="robot",
        metavar="NAME|FILE",
        help="robot name as listed by `torqued models`, or a file: URDF, xacro, MJCF, Lua or TOML",
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="TOML file as in configs/")
    add_base(parser)


def add_base(parser: argparse.ArgumentParser) -> None:
    """--base, --locked and --arg: what a robot's file does not say."""
    parser.add_argument(
        "--base",
        choices=("fixed", "floating"),
        help="base of the robot (default: as in `torqued models`, as the file says, or fixed where "
        "the file leaves no doubt)",
    )
    parser.add_argument(
        "--locked",
        metavar="JOINTS",
        help="comma-separated joints to hold, NAME (at 0) or NAME=POSITION; '' for none "
        "(default: the gripper of a named arm)",
    )
    parser.add_argument(
        "--arg",
        action="append",
        metavar="NAME=VALUE",
        help="argument of a xacro file; may be repeated",
    )


def robot_settings(args: argparse.Namespace) -> dict[str, Any]:
    """What the options of `add_robot` set in the configuration."""
    changes = {
        "base": args.base,
        "locked": locked_joints(args.locked),
        "arguments": xacro_arguments(args.arg),
    }
    given = {key: value for key, value in changes.items() if value is not None}
    if args.config and (args.robot or given):
        names = "--robot, --base, --locked and --arg"
        raise InputError(f"--config names the robot already: remove {names}")
    if not args.robot and not args.config:
        raise InputError("no robot given: use --robot or --config")
    return {"robot": {"model": args.robot} | given} if args.robot else {}


def xacro_arguments(given: Sequence[str] | None) -> dict[str, str] | None:
    """Values of `--arg` by their names."""
    pairs = [text.partition("=") for text in given or ()]
    for name, equals, value in pairs:
        if not name or not equals:
            raise InputError(f"--arg {name}{equals}{value}: expected NAME=VALUE")
    return {name: value for name, _, value in pairs} or None


def locked_joints(text: str | None) -> dict[str, float | None] | None:
    """Joints of `--locked` and their positions, None where there is the name only."""
    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    try:
        return {name.strip(): float(value) if equals else None for name, equals, value in parts}
    except ValueError as error:
        raise InputError(f"--locked {text}: {error}, expected NAME or NAME=POSITION") from None


def host_and_port(text: str) -> tuple[str, int]:
    """From `HOST:PORT`; port 0 means any free port."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--listen is {text!r}, expected HOST:PORT such as 127.0.0.1:9464")
    return host.strip("[]"), int(port)


def daemon_name(args: argparse.Namespace) -> str:
    """Name of the daemon that the options mean."""
    from torqued.client.discovery import describe_running, running
    from torqued.client.endpoints import default_folder

    name = args.robot or os.environ.get("TORQUED_NAME")
    if name:
        return str(name)
    folder = args.folder or default_folder()
    names = running(folder)
    if not names:
        raise TorquedError(
            f"no daemon is running in {folder}; "
            "start one with `torqued serve --robot panda`"
            + (", or name one with --endpoint" if "endpoint" in args else "")
        )
    if len(names) > 1:
        raise TorquedError(f"several {describe_running(folder)}; choose one with --robot")
    return names[0]


def connect(args: argparse.Namespace) -> Client:
    """The client for the options of `add_connection`; raises at once if no daemon runs."""
    from torqued.client import Client
    from torqued.client.discovery import endpoint_of

    if args.endpoint:
        keys = {"key": args.key, "server_key": args.server_key}
        return Client(args.endpoint, args.timeout, **keys)
    return Client(endpoint_of(daemon_name(args), args.folder), args.timeout)


def follow(args: argparse.Namespace) -> Following:
    """The records of the daemon that the options of `add_observing` mean."""
    from torqued.tools.recording.reader import Reader
    from torqued.tools.viewers.following import Following

    return Following(Reader(daemon_name(args), args.folder), args.seconds)


def as_json(value: Any, indent: int | None = None) -> str:
    """A reply as JSON; arrays as nested lists, NaN and infinity as null."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent)


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


def table(rows: Sequence[Sequence[str]], words: int = 0, indent: str = "") -> list[str]:
    """Lines with right-aligned columns, except for the first `words`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        indent
        + "  ".join(
            cell.ljust(width) if k < words else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
