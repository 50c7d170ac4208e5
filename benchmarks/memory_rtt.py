"""Rows of `torqued bench rtt` about shared memory, each beside its own floor, in turns.

memory_arrival_python   state to torque on arrival, Python client, against a bare futex
                        ping-pong of a Python client with a compiled server
memory_arrival_spin     the same with `spin`, against the same
memory_arrival_cpp      the same with the C++ client, against a ping-pong of two C++ processes
memory_over_socket      state to torque on arrival against a session over a socket, as it was
memory_dynamics         M and C by a stream on arrival, against a bare ZeroMQ echo of the bytes of
                        the request for them
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from torqued.benchmarks import budget, futex_echo
from torqued.benchmarks.compiled_peer import Peer, compile_peer, running
from torqued.benchmarks.latency import Comparison, Samples
from torqued.benchmarks.processes import NotStarted, daemon, process
from torqued.client import Client

PERIOD = 1e-3  # s
WARM_UP = 20  # exchanges of each block that are not counted
LAW, ROBOT = "passivity", "panda"
#: s without states that a session bears before its fallback takes over: while others are measured.
HOLD = 10.0
#: s of spinning in the row with it: longer than from one state to the next.
SPIN = 2e-3

#: Name in the figures → title of the row.
ROWS = {
    "memory_arrival_python": "state to torque, Python",
    "memory_arrival_spin": f"the same, spin {1e3 * SPIN:g} ms",
    "memory_arrival_cpp": "state to torque, C++",
    "memory_over_socket": "the same against a socket",
    "memory_dynamics": "stream of M and C",
}

Report = Callable[[str, str], None]
#: Times in µs of so many exchanges.
Measure = Callable[[int], list[float]]


def compare(
    name: str, ours: Measure, floor: Measure, blocks: int, count: int, report: Report
) -> Comparison:
    """Blocks of both in turns; who begins changes from one to the next."""
    times: dict[Measure, list[float]] = {ours: [], floor: []}
    order = [ours, floor]
    for block in range(1, blocks + 1):
        report(ROWS[name], f"block {block} of {blocks}")
        for measure in order:
            times[measure] += measure(count + WARM_UP)[WARM_UP:]
        order.reverse()
    mine, bare = (Samples(np.array(times[measure])) for measure in (ours, floor))
    return Comparison(ROWS[name], mine, bare, 0.5, budget.IN_MEMORY.get(name))


def paced(exchange: Callable[[], object]) -> Measure:
    """Exchanges of this process, begun a period apart, from a random phase of the loop on."""

    def measure(count: int) -> list[float]:
        times = []
        deadline = time.monotonic() + random.random() * PERIOD
        for _ in range(count):
            deadline += PERIOD
            time.sleep(max(0.0, deadline - time.monotonic()))
            start = time.perf_counter_ns()
            exchange()
            times.append((time.perf_counter_ns() - start) * 1e-3)
        return times

    return measure


def require_law(step: Callable[[], list[str]]) -> None:
    """Refuse to measure anything but the law, which is not computed where the fallback acts.

    `step` answers a fresh state with its status. FALLBACK once may be a state that came late.
    """
    for _ in range(WARM_UP):
        status = step()
        if "FALLBACK" not in status:
            return
    raise NotStarted(f"{LAW}: the session has fallen back ({', '.join(status)})")


def compiled(peer: Peer) -> Measure:
    """The same of a C++ process."""
    return lambda count: peer.measure(count, PERIOD)


@contextmanager
def ping_pong(folder: Path) -> Iterator[Measure]:
    """A bare futex ping-pong with a compiled server in another process."""
    file = folder / "words"
    file.write_bytes(bytes(futex_echo.SIZE))
    command = [sys.executable, str(futex_echo.__file__), str(file)]
    with process(command, folder / "futex.log"), futex_echo.asking(file) as exchange:
        exchange()  # waits until the server is compiled
        yield paced(exchange)


def sessions(
    blocks: int, count: int, report: Report
) -> tuple[dict[str, Comparison], dict[str, str]]:
    """Rows of sessions, and why some could not be measured."""
    rows: dict[str, Comparison] = {}
    refused: dict[str, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="torqued-rtt-")))
        served = stack.enter_context(daemon(folder, robot=ROBOT))
        client = stack.enter_context(Client(served.endpoint, timeout=10.0, retries=0))
        robot = client.hello()
        q, v = robot.neutral, np.zeros(robot.nv)

        def stepping(**options: Any) -> Measure:
            session = stack.enter_context(client.session(LAW, hold=HOLD, **options))
            measure = paced(lambda: session.step(q, v, timeout=10.0).tau)

            def checked(count: int) -> list[float]:
                session.step(q, v, timeout=10.0)
                session.resume()  # it may have been without states for long while others ran
                times = measure(count)
                require_law(lambda: session.step(q, v, timeout=10.0).status_names)
                return times

            return checked

        floor = stack.enter_context(ping_pong(folder))
        on_arrival = stepping(transport="memory", clock="state")
        for name, other in (("memory_arrival_python", floor), ("memory_over_socket", stepping())):
            rows[name] = compare(name, on_arrival, other, blocks, count, report)
        try:
            program = compile_peer(folder)
        except NotStarted as error:
            refused["memory_arrival_cpp"] = f"{ROWS['memory_arrival_cpp']}: not measured, {error}"
        else:
            mine = stack.enter_context(running(program, "session", served.endpoint))
            bare = stack.enter_context(running(program, "futex"))
            rows["memory_arrival_cpp"] = compare(
                "memory_arrival_cpp", compiled(mine), compiled(bare), blocks, count, report
            )
        spinning = stepping(transport="memory", clock="state", spin=SPIN)
        rows["memory_arrival_spin"] = compare(
            "memory_arrival_spin", spinning, floor, blocks, count, report
        )
    return rows, refused
