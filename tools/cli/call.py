"""`torqued call`: one request from the command line."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from torqued.common.errors import TorquedError
from torqued.tools.cli.options import add_request, as_json, connect, table

if TYPE_CHECKING:
    from torqued.client import Client

HELP = "make one request and print its reply"
EXAMPLE = """\
  torqued call hello
  torqued call dynamics --want M,C --q 0,0.3,0,-1.5,0,1.8,0,0 --v 0,0,0,0,0.1,0,0,0
  torqued call dynamics --robot chain20 --q neutral --want M --json
  torqued call kinematics --q neutral --v zero --frames panda_link7,panda_link8
  torqued call kinematics --q neutral --v zero --frames panda_link8 --order 2
  torqued call log_level --level DEBUG"""

#: Rows and columns of a matrix that are printed in full.
SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", help="operation, as named in docs/PROTOCOL.md")
    add_request(parser)
    fields = parser.add_argument(
        "fields",
        nargs=argparse.REMAINDER,
        metavar="--FIELD VALUE",
        help="fields of the request: comma-separated numbers or words, or JSON; `neutral` is the "
        "robot's neutral configuration for q, and zero for v, a, jerk, tau, w and b",
    )
    fields.required = False  # the daemon checks them: operations differ
    # --help may stand among the fields.
    parser.set_defaults(explain=parser.print_help)


def run(args: argparse.Namespace) -> int:
    if {"--help", "-h"} & set(args.fields):
        args.explain()
        return 0
    fields = fields_of(without_options(args.fields, args))
    if args.operation in ("open", "tune", "payload", "close"):
        raise TorquedError("sessions need a program: see examples/ and docs/PROTOCOL.md")
    with connect(args) as client:
        put_numbers(client, fields)
        reply = client.call(args.operation, **fields).as_dict()
    print(as_json(reply) if args.json else "\n".join(shown(reply)))
    return 0


def put_numbers(client: Client, fields: dict[str, Any]) -> None:
    """Replace the words `neutral` and `zero` by the robot's numbers."""
    words = {key for key in (*POSITIONS, *RATES) if fields.get(key) in ("neutral", "zero")}
    if not words:
        return
    robot = client.hello()
    for key in words:
        fields[key] = robot.neutral if key in POSITIONS else [0.0] * robot.nv


#: Fields with a number per coordinate, and with one per degree of freedom.
POSITIONS, RATES = ("q",), ("v", "a", "jerk", "snap", "tau", "w", "b")
#: Fields that are lists of words even when there is only one.
LISTS = ("want", "frames", "actuated")
#: Fields that are whole numbers.
WHOLE = ("order", "iterations", "session", "every", "restarts", "seed")


def without_options(words: list[str], args: argparse.Namespace) -> list[str]:
    """The words that are not options of the command; those that are, set in `args`."""
    own = argparse.ArgumentParser(prog="torqued call", add_help=False, allow_abbrev=False)
    add_request(own)
    return own.parse_known_args(words, args)[1]


def fields_of(words: list[str]) -> dict[str, Any]:
    """Fields of the request, from `--q 1,2` or `--q=1,2`."""
    fields: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, given, value = word.partition("=")
        text = value if given else next(rest, None)
        if not name.startswith("--") or text is None:
            raise TorquedError(f"{name!r}: expected fields such as --q 0,0.3 or --want M,C")
        field = name.removeprefix("--")
        fields[field] = parse_value(field, text)
    return fields


def parse_value(field: str, text: str) -> Any:
    """`0,0.3` as numbers, `M,C` as words, `{"damping": 1}` as JSON, `0.1` as a number,
    `true` and `false` as what they say."""
    if text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise TorquedError(f"--{field}: invalid JSON: {error}") from None
    if text in ("true", "false"):
        return text == "true"
    if field in LISTS:
        return [word.strip() for word in text.split(",") if word.strip()]
    try:
        numbers = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        return text
    if field in WHOLE and len(numbers) == 1 and numbers[0].is_integer():
        return int(numbers[0])
    return numbers if "," in text else numbers[0] if numbers else text


def shown(reply: dict[str, Any], indent: str = "") -> list[str]:
    """Lines for people: matrices as tables, everything else as `name: value`."""
    lines: list[str] = []
    for name, value in reply.items():
        dimensions = getattr(value, "ndim", -1)
        if dimensions == 2:
            rows, columns = value.shape
            cut = f", first {SHOWN} rows and columns" if max(value.shape) > SHOWN else ""
            lines.append(f"{indent}{name}: {rows} × {columns}{cut}")
            lines += matrix(value[:SHOWN, :SHOWN], indent + "  ")
        elif dimensions > 2:
            shape = " × ".join(map(str, value.shape))
            lines.append(f"{indent}{name}: {shape}; first part:")
            lines += shown({f"{name}[0]": value[0]}, indent + "  ")
        elif dimensions == 1:
            lines.append(f"{indent}{name}: " + "  ".join(f"{x:z.6g}" for x in value.tolist()))
        elif isinstance(value, dict):
            lines.append(f"{indent}{name}:")
            lines += shown(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for k, item in enumerate(value):
                lines.append(f"{indent}{name}[{k}]:")
                lines += shown(item, indent + "  ")
        else:
            spelled = ", ".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"{indent}{name}: {spelled}")
    return lines


def matrix(values: Any, indent: str) -> list[str]:
    """A table of numbers."""
    if not values.size:
        return []
    return table([[f"{x:z.4f}" for x in row] for row in values.tolist()], indent=indent)
