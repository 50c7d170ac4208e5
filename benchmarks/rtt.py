"""`torqued bench rtt`: the round trip of a request, beside a bare ZeroMQ echo of the same bytes.

Ours is all that a user's call does: `client.dynamics(q, v, want=("M", "C"))`, from numpy arrays to
numpy arrays. The echo is a DEALER and a ROUTER that exchange finished bytes of the same length
between two Python processes. Both take turns in short blocks, so that what disturbs the machine
meets both.
"""

from __future__ import annotations

import argparse
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import zmq

from torqued.benchmarks import budget, memory_rtt
from torqued.benchmarks.command import (
    add_common_arguments,
    make_console,
    progress,
    require_places,
    write_json,
)
from torqued.benchmarks.latency import Comparison, Samples, sheet, summary
from torqued.benchmarks.machine import WIRE_PACKAGES, this_machine
from torqued.benchmarks.processes import NotStarted, daemon, echo_process
from torqued.client import Client, codec
from torqued.client.endpoints import request_endpoint

if TYPE_CHECKING:
    from torqued.benchmarks.sheet import Sheet

WANT = ("M", "C")
PERIOD = 1e-3  # s, between requests that are paced
DAEMON_PORTS = 3  # in a row: requests, control, telemetry
WARM_UP = 20  # requests of each block that are not counted

#: Name in the figures → title of the rows.
TRANSPORTS = {"ipc": "ipc", "tcp": "tcp"}
PACES = {"paced": "paced at 1 kHz", "back_to_back": "back to back"}

NOTES = (
    "One request: M and C of a chain of 20 joints, 383 bytes there and 6463 back. torqued is the "
    "client's whole call, encoding and decoding included; the echo sends and receives bytes.",
)

MEMORY_NOTES = (
    "State to torque: `passivity` of the Panda, states 1 ms apart, answered as they arrive. "
    "Floors: a bare futex ping-pong between processes of the same languages; for M and C, a stream "
    "of the same chain, the bare ZeroMQ echo; a session over a socket where the row "
    "says so.",
)

Exchange = Callable[[], object]


@dataclass(frozen=True)
class Effort:
    """Blocks of each contender, and requests in a block by how they are spaced."""

    blocks: int
    requests: dict[str, int]


FULL = Effort(30, {"paced": 300, "back_to_back": 1500})
QUICK = Effort(2, {"paced": 40, "back_to_back": 100})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)


def run(args: argparse.Namespace) -> int:
    console = make_console()
    require_places(args)
    machine = this_machine(WIRE_PACKAGES)
    effort = QUICK if args.quick else FULL
    figures: dict[str, list[Comparison]] = {}
    refused: dict[str, str] = {}  # by transport, why it was not measured
    memory: dict[str, Comparison] = {}
    parts = len(TRANSPORTS) * len(PACES) + len(memory_rtt.ROWS)
    with progress(console, parts * effort.blocks) as report:
        memory, reasons = memory_rtt.sessions(effort.blocks, effort.requests["paced"], report)
        refused.update(reasons)
        for transport in TRANSPORTS:
            try:
                with contenders(transport) as (ours, echo, in_memory):
                    figures[transport] = [
                        compare(transport, pace, ours, echo, effort, report) for pace in PACES
                    ]
                    if in_memory:
                        memory["memory_dynamics"] = memory_rtt.compare(
                            "memory_dynamics",
                            memory_rtt.paced(in_memory),
                            memory_rtt.paced(echo),
                            effort.blocks,
                            effort.requests["paced"],
                            report,
                        )
            except NotStarted as error:
                if transport == "ipc":
                    raise
                refused[transport] = f"{transport}: not measured, {error}"
    rows = [comparison for part in figures.values() for comparison in part]
    console.print(f"{machine}\n", markup=False)
    table(rows).print(console)
    sheet("Shared memory, µs", "floor", list(memory.values()), MEMORY_NOTES).print(console)
    for reason in refused.values():
        console.print(reason, markup=False)
    rows += memory.values()
    console.print(summary(rows), markup=False, style="bold")
    if args.quick:
        console.print("a quick run: its figures are only rough")
    written = []
    if args.json:
        written.append(
            write_json(
                args.json,
                to_json(figures, refused)
                | memory_json(memory, refused)
                | {"machine": machine.to_json()},
            )
        )
    if args.plot:
        from torqued.benchmarks.latency_plots import draw

        titles = {"ours": "torqued", "peer": "echo or floor"}
        written.append(draw(rows, titles, "round trip, µs", args.plot / "rtt.png"))
    for path in written:
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    return 0 if args.quick or all(row.holds for row in rows) else 1


def table(rows: list[Comparison]) -> Sheet:
    return sheet("Round trip of a request, µs", "echo", rows, NOTES)


def memory_json(
    memory: dict[str, Comparison], refused: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """Rows in shared memory by name; those that were not measured have the reason."""
    return {
        name: memory[name].to_json("floor") if name in memory else {"not_measured": refused[name]}
        for name in memory_rtt.ROWS
    }


def to_json(figures: dict[str, list[Comparison]], refused: dict[str, str]) -> dict[str, Any]:
    """`paced` and `back_to_back` over ipc at the top, those over tcp below `tcp`."""
    parts: dict[str, dict[str, Any]] = {
        transport: {
            pace: comparison.to_json("echo")
            for pace, comparison in zip(PACES, comparisons, strict=True)
        }
        for transport, comparisons in figures.items()
    }
    return {**parts["ipc"], "tcp": parts.get("tcp") or {"not_measured": refused["tcp"]}}


@contextmanager
def contenders(transport: str) -> Iterator[tuple[Exchange, Exchange, Exchange | None]]:
    """One request to a daemon and one exchange with an echo, each a process of its own.

    And over ipc one step of a stream of the same quantities through shared memory.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="torqued-rtt-")))
        if transport == "ipc":
            running = stack.enter_context(daemon(folder))
            beside = request_endpoint("echo", folder)
        else:
            address = f"tcp://127.0.0.1:{free_ports(DAEMON_PORTS)}"
            running = stack.enter_context(
                daemon(folder, "--listen", address, "--plain-tcp", endpoint=address)
            )
            beside = f"tcp://127.0.0.1:{free_ports(1)}"
        client = stack.enter_context(Client(running.endpoint, timeout=10.0, retries=0))
        hello = client.hello()
        q, v = np.array(hello.neutral) + 0.1, np.linspace(-1.0, 1.0, hello.nv)

        def ours() -> object:
            return client.dynamics(q, v, want=WANT)

        in_memory: Exchange | None = None
        if transport == "ipc":
            stream = stack.enter_context(client.stream(WANT, transport="memory"))

            def in_memory() -> object:
                output = stream.step(q, v, timeout=10.0)
                return output.M, output.C

        request = codec.request(1000, "dynamics", {"q": q, "v": v, "want": WANT})
        reply = reply_size(running.endpoint, request)
        stack.enter_context(echo_process(folder, beside, reply))
        dealer = stack.enter_context(bare_socket(beside))

        def echo() -> object:
            dealer.send(request)
            return dealer.recv()

        yield ours, echo, in_memory


def free_ports(count: int) -> int:
    """The first of so many free ports in a row."""
    while True:
        with ExitStack() as probes:
            first = 0
            try:
                for k in range(count):
                    probe = probes.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", first + k if k else 0))
                    first = first or probe.getsockname()[1]
            except (OSError, OverflowError):
                continue
            return first


@contextmanager
def bare_socket(endpoint: str) -> Iterator[zmq.Socket[bytes]]:
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        dealer.rcvtimeo = 10_000
        dealer.connect(endpoint)
        yield dealer


def reply_size(endpoint: str, request: bytes) -> int:
    """Bytes of the daemon's reply."""
    with bare_socket(endpoint) as dealer:
        dealer.send(request)
        return len(dealer.recv())


def compare(
    transport: str,
    pace: str,
    ours: Exchange,
    echo: Exchange,
    effort: Effort,
    report: Callable[[str, str], None],
) -> Comparison:
    """Blocks of both in turns; who begins changes from one to the next."""
    period = PERIOD if pace == "paced" else 0.0
    times: dict[Exchange, list[float]] = {ours: [], echo: []}
    order = [ours, echo]
    for block in range(1, effort.blocks + 1):
        report(f"{transport}, {PACES[pace]}", f"block {block} of {effort.blocks}")
        for exchange in order:
            times[exchange] += measure(exchange, effort.requests[pace], period)
        order.reverse()
    ceiling = budget.ROUND_TRIP.get(pace) if transport == "ipc" else None
    mine, bare = (Samples(np.array(times[exchange])) for exchange in (ours, echo))
    return Comparison(f"{transport}, {PACES[pace]}", mine, bare, 0.5, ceiling)


def measure(exchange: Exchange, requests: int, period: float) -> list[float]:
    """Times of exchanges in µs, begun at absolute deadlines `period` s apart where it is not 0."""
    for _ in range(WARM_UP):
        exchange()
    times = []
    deadline = time.monotonic()
    for _ in range(requests):
        deadline += period
        if period:
            time.sleep(max(0.0, deadline - time.monotonic()))
        start = time.perf_counter_ns()
        exchange()
        times.append((time.perf_counter_ns() - start) * 1e-3)
    return times
