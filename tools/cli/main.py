"""Entry point of the `torqued` command: parse, run one command, report errors in one line.

A command is a module with `HELP`, `EXAMPLE`, `add_arguments(parser)` and `run(args)`, which
returns the exit code. Modules import what is heavy, or optional, inside `run`: help stays fast
and works in an installation without the server extra.

Exit codes: 0 done, 1 ran and found something wrong, 2 could not run, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Protocol, TextIO, cast

from torqued.common.errors import TorquedError


class Command(Protocol):
    HELP: str  # one line for the list of commands
    EXAMPLE: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


#: Modules of this folder, in the order of the help.
NAMES = (
    *("serve", "ping", "call", "stats", "top", "reload", "keys"),
    *("record", "replay", "plot", "excite", "identify", "dash", "metrics", "stream", "foxglove"),
    *("demo", "models", "batch", "compile", "bench"),
)
COMMANDS: dict[str, Command] = {
    name: cast(Command, importlib.import_module(f"torqued.tools.cli.{name}")) for name in NAMES
}

#: Import name of an optional dependency → the extras that bring it, the smallest first.
EXTRAS: dict[str, tuple[str, ...]] = {
    "numba": ("server",),
    "llvmlite": ("server",),
    "defusedxml": ("server",),
    "pydantic": ("server",),
    "rich": ("server",),
    "daqp": ("server",),
    "pinocchio": ("bench",),
    "matplotlib": ("bench", "demo", "record", "dash"),
    "mujoco": ("demo",),
    "mcap": ("record", "dash"),
    "lz4": ("record", "dash"),
    "viser": ("dash",),
    "yourdfpy": ("dash",),
    "trimesh": ("dash",),
    "prometheus_client": ("observe",),
    "foxglove": ("observe",),
    "distributed": ("cluster",),
    "pyarrow": ("cluster",),
}
#: Command → its own extra, if it has one.
OWN_EXTRA = {
    **dict.fromkeys(("record", "replay", "plot", "identify", "models"), "record"),
    **dict.fromkeys(("metrics", "foxglove"), "observe"),
    **{name: name for name in ("bench", "dash", "demo")},
    "batch": "cluster",
}


def extra_for(command: str, module: str) -> str | None:
    """The extra to install for a missing module; None if no extra brings it."""
    extras = EXTRAS.get(module.partition(".")[0], ())
    own = OWN_EXTRA.get(command)
    return own if own in extras else next(iter(extras), None)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torqued",
        description="Robot dynamics and control as a realtime service.",
        epilog="Run `torqued COMMAND --help` for options and an example.",
    )
    version = importlib.metadata.version("torqued")
    parser.add_argument("--version", action="version", version=f"torqued {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.HELP,
            description=command.HELP[0].upper() + command.HELP[1:] + ".",
            epilog=f"example:\n{command.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
    return parser


#: Options that take a key, and how long that is.
KEY_OPTIONS, KEY_LENGTH = ("--public", "--server-key", "--key"), 40


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(with_keys(sys.argv[1:] if argv is None else argv))
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return run(COMMANDS[args.command], args)
    except ModuleNotFoundError as error:
        extra = extra_for(args.command, error.name or "")
        if extra is None:
            raise
        return _fail(
            f"`torqued {args.command}` needs {error.name}, which is not installed; "
            f"install the {extra!r} extra: pip install 'torqued[{extra}]'"
        )
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, has closed its pipe; the interpreter must not flush into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def with_keys(argv: Sequence[str]) -> list[str]:
    """Join options and keys with "=": one key in 85 begins with "-"."""
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1] in KEY_OPTIONS and len(word) == KEY_LENGTH:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def run(command: Command, args: argparse.Namespace) -> int:
    """Run a command; print torqued's own errors and warnings in one line each."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = command.run(args)
            sys.stdout.flush()
            return code
    except TorquedError as error:
        return _fail(str(error))


def _fail(message: str) -> int:
    print(f"torqued: error: {message}", file=sys.stderr)
    return 2


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A model's faults as sentences for the user; other warnings as Python prints them."""
    from torqued.common.errors import ModelWarning

    text = warnings.formatwarning(message, category, filename, lineno, line)
    if issubclass(category, ModelWarning):
        from torqued.server.logs import written_as

        if written_as() == "json":  # plain text must not mix with JSON lines
            logging.getLogger("torqued").warning("%s", message, extra={"event": "model_warning"})
            return
        text = f"torqued: warning: {message}\n"
    (file or sys.stderr).write(text)


if __name__ == "__main__":
    sys.exit(main())
