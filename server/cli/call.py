"""`torqued call`: one request from the command line, its reply for people or machines."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from torqued.server.cli.connection import add_connection, as_json, connect

if TYPE_CHECKING:
    from rich.console import Console

HELP = "make one request and print its reply"
EXAMPLE = """\
  torqued call hello
  torqued call dynamics --want M,C --q 0,0.3,0,-1.5,0,1.8,0,0 --v 0,0,0,0,0.1,0,0,0
  torqued call dynamics --robot chain20 --q neutral --want M --json
  torqued call log_level --level DEBUG"""

#: Rows and columns of a matrix that are printed in full.
SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", help="as docs/PROTOCOL.md names it")
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="print the reply as JSON")
    parser.add_argument(
        "fields",
        nargs=argparse.REMAINDER,
        metavar="--FIELD VALUE",
        help="fields of the request: numbers or words with commas between them, or JSON; "
        "--q neutral is the robot's neutral configuration",
    )


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from torqued.client import TorquedError

    fields, rest = split_fields(args.fields)
    # Options of the command may stand among the fields.
    own = argparse.ArgumentParser(prog="torqued call", add_help=False)
    add_connection(own)
    own.add_argument("--json", action="store_true")
    defaults = vars(own.parse_args(rest))
    for key, value in defaults.items():
        if value != own.get_default(key):
            setattr(args, key, value)
    with connect(args) as client:
        if fields.get("q") == "neutral":
            fields["q"] = client.hello().neutral
        endpoint = client.control_endpoint if args.operation in CONTROL else None
        if args.operation in ("open", "close"):
            raise TorquedError("sessions need a program; see examples/ and docs/PROTOCOL.md")
        reply = client.call(args.operation, endpoint, **fields).as_dict()
    if args.json:
        print(as_json(reply))
    else:
        show(Console(highlight=False, soft_wrap=True), reply)
    return 0


CONTROL = ("ping", "stats", "sessions", "reload", "log_level", "shutdown")
OWN = {"--json": 1} | dict.fromkeys(
    ("--robot", "--endpoint", "--key", "--server-key", "--timeout"), 2
)
#: Fields that are lists of words even when there is only one.
LISTS = ("want", "frames")


def split_fields(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Fields of the request, and the words that are options of the command."""
    from torqued.client import TorquedError

    fields: dict[str, Any] = {}
    rest: list[str] = []
    words = [part for word in words for part in _parted(word)]
    while words:
        name = words.pop(0)
        if name in OWN:
            rest += [name, *words[: OWN[name] - 1]]
            del words[: OWN[name] - 1]
            continue
        if not name.startswith("--") or not words:
            raise TorquedError(f"{name!r}: expected fields as in --q 0,0.3 or --want M,C")
        field = name.removeprefix("--")
        fields[field] = parse_value(field, words.pop(0))
    return fields, rest


def _parted(word: str) -> list[str]:
    """`--q=1,2` as two words."""
    return word.split("=", 1) if word.startswith("--") and "=" in word else [word]


def parse_value(field: str, text: str) -> Any:
    """`0,0.3` as numbers, `M,C` as words, `{"damping": 1}` as JSON, `0.1` as a number."""
    if field in LISTS:
        return [word.strip() for word in text.split(",") if word.strip()]
    if text[:1] in ("[", "{"):
        from torqued.client import TorquedError

        try:
            return json.loads(text)
        except ValueError as error:
            raise TorquedError(f"--{field}: not JSON: {error}") from None
    try:
        numbers = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        return text
    return numbers if "," in text else numbers[0] if numbers else text


def show(console: Console, reply: dict[str, Any], indent: str = "") -> None:
    """Matrices as tables, everything else as `name: value`."""
    from rich.padding import Padding

    for name, value in reply.items():
        dimensions = getattr(value, "ndim", -1)
        if dimensions == 2:
            rows, columns = value.shape
            cut = f", its first {SHOWN} rows and columns" if max(value.shape) > SHOWN else ""
            console.print(f"{indent}{name}: {rows} × {columns}{cut}", markup=False)
            console.print(Padding(matrix(value[:SHOWN, :SHOWN]), (0, 0, 0, 2)), soft_wrap=False)
        elif dimensions > 2:
            shape = " × ".join(map(str, value.shape))
            console.print(f"{indent}{name}: {shape}; its first part:", markup=False)
            show(console, {f"{name}[0]": value[0]}, indent + "  ")
        elif dimensions == 1:
            numbers = "  ".join(f"{x:z.6g}" for x in value.tolist())
            console.print(f"{indent}{name}: {numbers}", markup=False)
        elif isinstance(value, dict):
            console.print(f"{indent}{name}:", markup=False)
            show(console, value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for k, item in enumerate(value):
                console.print(f"{indent}{name}[{k}]:", markup=False)
                show(console, item, indent + "  ")
        else:
            spelled = ", ".join(map(str, value)) if isinstance(value, list) else value
            console.print(f"{indent}{name}: {spelled}", markup=False)


def matrix(values: Any) -> Any:
    """A table of numbers."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for _ in range(values.shape[1]):
        table.add_column(justify="right", no_wrap=True)
    for row in values.tolist():
        table.add_row(*(f"{x:z.4f}" for x in row))  # z: no minus before zero
    return table
