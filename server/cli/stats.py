"""`torqued stats`: counters of a daemon and percentiles of its loop, once."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torqued.server.cli.connection import add_connection, as_json, connect
from torqued.server.cli.ping import progress

if TYPE_CHECKING:
    from rich.console import Group

HELP = "print counters of a daemon and percentiles of its loop"
EXAMPLE = "  torqued stats --robot panda\n  torqued stats --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    parser.add_argument("--json", action="store_true", help="print the reply as JSON")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    with connect(args) as client:
        reply = client.stats().as_dict()
    if args.json:
        print(as_json(reply))
    else:
        Console().print(view(reply))
    return 0


def view(stats: Mapping[str, Any]) -> Group:
    """Statistics as tables, for `stats` and `top`."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    servo, worker, job = stats["servo"], stats["worker"], stats["worker"]["job"]
    granted = ", ".join(stats["realtime"].values()) or "no realtime settings asked for"
    head = Text(
        f"{stats['name']}: up {stats['uptime']:.0f} s, {stats['requests']} requests, "
        f"{stats['refused']} refused\n"
        f"loop: {servo['rate']:.0f} Hz, {servo['tick']} ticks, {servo['missed']} missed, "
        f"{granted}\n"
        f"worker: {worker['state']}, {worker['queued']} jobs waiting, {worker['done']} done, "
        f"{worker['failed']} failed, died {worker['deaths']} times"
    )
    if job:
        head.append(f"; {job['operation']}: {job['done']} of {job['total']}")
    if not stats["ready"]:
        head.append(f"\n{progress(stats['kernels'])}")
    times = Table("µs", box=None, pad_edge=False)
    for column in ("p50", "p99", "max", "count"):
        times.add_column(column, justify="right")
    for name in ("lateness", "compute", "age"):
        row = servo[name]
        largest = f"{row['max_us']:.0f}" if "max_us" in row else "-"
        p50, p99 = f"{row['p50_us']:.0f}", f"{row['p99_us']:.0f}"
        times.add_row(name, p50, p99, largest, str(row["count"]))
    parts: list[Any] = [head, times]
    if stats["sessions"]:
        counters = ("states", "bad_states", "outputs", "dropped", "stale", "clamped")
        sessions = Table("session", "law", "status", box=None, pad_edge=False)
        for name in counters:
            sessions.add_column(name, justify="right")
        for session in stats["sessions"]:
            status = " ".join(session["status"]) or "OK"
            numbers = (str(session[name]) for name in counters)
            sessions.add_row(str(session["session"]), session["law"], status, *numbers)
        parts.append(sessions)
    return Group(*parts)
