"""`torqued stats`: counters of a daemon and percentiles of its loop, once."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from torqued.tools.cli.options import add_request, as_json, connect, table
from torqued.tools.cli.ping import progress

HELP = "print a daemon's counters and the percentiles of its loop"
EXAMPLE = "  torqued stats --robot panda\n  torqued stats --json"

#: Columns of the table of sessions that count something.
COUNTERS = ("states", "bad_states", "outputs", "dropped", "stale", "clamped")


add_arguments = add_request


def run(args: argparse.Namespace) -> int:
    with connect(args) as client:
        reply = client.stats().as_dict()
    print(as_json(reply) if args.json else view(reply))
    return 0


def alarms(stats: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Reports of recorders that have an alarm; older daemons have none."""
    recorders = stats.get("observation", {}).get("recorders", [])
    return [recorder for recorder in recorders if recorder["alarm"]]


def view(stats: Mapping[str, Any]) -> str:
    """Statistics as text, for `stats` and `top`."""
    servo, worker = stats["servo"], stats["worker"]
    granted = ", ".join(stats["realtime"].values()) or "no realtime settings requested"
    working = "".join(
        f"; {job['operation']}: {job['done']} of {job['total']}" for job in worker["jobs"]
    )
    lines = [
        f"{stats['name']}: up {stats['uptime']:.0f} s, {stats['requests']} requests, "
        f"{stats['refused']} refused",
        f"loop: {servo['rate']:.0f} Hz, {servo['tick']} ticks, {servo['missed']} missed, {granted}",
        f"worker: {worker['state']}, {worker['queued']} jobs waiting, {worker['done']} done, "
        f"{worker['failed']} failed, died {worker['deaths']} times{working}",
    ]
    if why_not := stats.get("observation", {}).get("why_not"):
        lines.append(f"ring: none, so nothing to record: {why_not}")
    lines += [f"recorder {r['process']}: {r['alarm']}" for r in alarms(stats)]
    kernels = stats["kernels"]
    if not stats["ready"] or kernels["done"] < kernels["total"]:
        lines.append(progress(stats["ready"], kernels))
    times = [["µs", "p50", "p99", "max", "count"]]
    for name in ("lateness", "compute", "age"):
        row = servo[name]
        largest = f"{row['max_us']:.0f}" if "max_us" in row else "-"
        times.append(
            [name, f"{row['p50_us']:.0f}", f"{row['p99_us']:.0f}", largest, str(row["count"])]
        )
    lines += table(times, words=1)
    if stats["sessions"]:
        sessions = [["session", "law", "status", *COUNTERS]]
        for session in stats["sessions"]:
            status = " ".join(session["status"]) or "OK"
            counts = (str(session[name]) for name in COUNTERS)
            sessions.append([str(session["session"]), session["law"], status, *counts])
        lines += table(sessions, words=3)
    return "\n".join(lines)
