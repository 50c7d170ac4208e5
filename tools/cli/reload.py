"""`torqued reload`: make a daemon load its robot again, without a restart."""

from __future__ import annotations

import argparse

from torqued.tools.cli.options import add_request, as_json, connect

HELP = "reload a daemon's robot files; refused while sessions are open"
EXAMPLE = "  torqued reload --robot panda"


add_arguments = add_request


def run(args: argparse.Namespace) -> int:
    with connect(args) as client:
        reply = client.reload()
    if args.json:
        print(as_json(reply.as_dict()))
        return 0
    print(f"{reply.name}: {reply.base} base, {reply.nv} degrees of freedom")
    for warning in reply.warnings:
        print(f"warning: {warning}")
    if reply.restart:
        print(f"changed, but effective only after a restart: {', '.join(reply.restart)}")
    return 0
