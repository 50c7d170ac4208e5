"""`torqued ping`: check whether a daemon is running and ready."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

from torqued.tools.cli.options import add_request, as_json, connect

HELP = "check whether a daemon is ready"
EXAMPLE = "  torqued ping --robot panda"


add_arguments = add_request


def run(args: argparse.Namespace) -> int:
    with connect(args) as client:
        start = time.perf_counter()
        reply = client.ping()
        milliseconds = (time.perf_counter() - start) * 1e3
        if args.json:
            print(as_json(reply.as_dict()))
        else:
            state = progress(reply.ready, reply.kernels)
            print(f"{reply.name}: {state} ({milliseconds:.1f} ms, {client.endpoint})")
        return 0 if reply.ready else 1


def progress(ready: bool, kernels: Mapping[str, Any]) -> str:
    """Readiness of a daemon and the progress of its kernels."""
    done, total, name = kernels["done"], kernels["total"], kernels["kernel"]
    if ready and done == total:
        return "ready"
    state = "ready" if ready else "not ready yet"
    return f"{state}, {done} of {total} kernels ready{name and f'; now {name}'}"
