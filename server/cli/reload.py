"""`torqued reload`: have a daemon load its robot anew, without a restart."""

from __future__ import annotations

import argparse

from torqued.server.cli.connection import add_connection, as_json, connect

HELP = "have a daemon load its robot's files anew; refused while sessions are open"
EXAMPLE = "  torqued reload --robot panda"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="print the reply as JSON")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    with connect(args) as client:
        reply = client.reload()
    if args.json:
        print(as_json(reply.as_dict()))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{reply.name}: {reply.base} base, {reply.nv} degrees of freedom", markup=False)
    for warning in reply.warnings:
        console.print(f"warning: {warning}", markup=False)
    if reply.restart:
        console.print(f"changed, but only after a restart: {', '.join(reply.restart)}")
    return 0
