"""`torqued bench record`: as many sessions as a daemon has, of a large robot, recorded at 1 kHz.

A daemon, a recorder and a client are processes of their own, as on a robot. The client sends each
session another state in each tick, through shared memory. The file is then read by the `mcap`
package: of each session every tick has to be in it, from the first to the last.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.benchmarks import budget
from torqued.benchmarks.command import make_console, progress, require_places, write_json
from torqued.benchmarks.machine import WIRE_PACKAGES, this_machine
from torqued.benchmarks.processes import NotStarted, daemon, processor_time
from torqued.client import Client
from torqued.server.loop.loop_records import MAX_SESSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torqued.client.sessions.session import Session

#: 38 joints. The law's records have references and all parts of its torque.
ROBOT, LAW = "tree38", "pd_plus"
RATE = 1000.0  # Hz
SECONDS, QUICK = 30.0, 1.0
#: States that are sent, in turns.
STATES = 256
#: Seconds that the recorder has to begin, and to end.
PATIENCE = 120.0


@dataclass(frozen=True)
class Recorded:
    """What was recorded of what, and what that took."""

    seconds: float
    ticks: int  # of the loop
    missed: int  # deadlines
    sent: int  # states, by the client
    share: float  # of one processor, that the recorder took
    client_share: float
    recorded: int  # ticks of all sessions in the file, those while sessions were opened included
    lost: int  # that the recorder counted
    gaps: int  # ticks that the file lacks, by their numbers
    compute_us: tuple[float, float]  # of all sessions together, p50 and p99
    lateness_us: tuple[float, float]
    megabytes: float  # of the file

    @property
    def is_in_time(self) -> bool:
        return self.ticks >= budget.RECORDED_RATE * self.seconds * RATE

    def missed_budgets(self) -> list[str]:
        found = {
            "ticks lost": self.lost == 0 and self.gaps == 0,
            "rate of the loop": self.is_in_time,
            "processor time of the recorder": self.share <= budget.RECORDER_SHARE,
        }
        return [name for name, holds in found.items() if not holds]

    def __str__(self) -> str:
        own = 1e6 * self.share * self.seconds / max(1, self.ticks * MAX_SESSIONS)
        return (
            f"{MAX_SESSIONS} sessions of {ROBOT} ({LAW}), {self.seconds:.1f} s at {RATE:.0f} Hz\n"
            f"loop: {self.ticks} ticks, {self.missed} missed; at p50 and p99 "
            f"{_both(self.compute_us)} µs of computing, {_both(self.lateness_us)} µs late\n"
            f"recorder: {self.recorded} ticks, {self.lost} lost, {self.gaps} lacking in the file; "
            f"{100 * self.share:.0f} % of one processor (at most "
            f"{100 * budget.RECORDER_SHARE:.0f}), {own:.1f} µs a tick; {self.megabytes:.0f} MB, "
            f"{1e6 * self.megabytes / max(1, self.recorded):.0f} bytes a tick\n"
            f"client: {self.sent} states, {100 * self.client_share:.0f} % of one processor"
        )


def _both(percentiles: tuple[float, float]) -> str:
    return " and ".join(f"{us:.0f}" for us in percentiles)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help=f"duration in seconds (default: {SECONDS:.0f})",
    )
    parser.add_argument("--quick", action="store_true", help="one second, rough figures")
    parser.set_defaults(plot=None)


def run(args: argparse.Namespace) -> int:
    console = make_console()
    require_places(args)
    machine = this_machine(WIRE_PACKAGES)
    seconds = QUICK if args.quick else args.seconds
    with (
        tempfile.TemporaryDirectory(prefix="torqued-record-") as folder,
        progress(console, 2) as report,
    ):
        found = measure(Path(folder), seconds, report)
    missed = found.missed_budgets()
    console.print(f"{machine}\n\n{found}", markup=False, soft_wrap=True)
    verdict = f"missed by {', '.join(missed)}" if missed else "kept"
    console.print(f"budget: {verdict}", markup=False, style="bold")
    if args.quick:
        console.print("a quick run: its figures are only rough")
    if args.json:
        write_json(args.json, {"record": asdict(found), "machine": machine.to_json()})
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    return 1 if missed and not args.quick else 0


def measure(folder: Path, seconds: float, report: Callable[[str, str], None]) -> Recorded:
    sockets, out = folder / "sockets", folder / "recorded"
    sockets.mkdir(mode=0o700)
    most = str(MAX_SESSIONS)
    with (
        daemon(sockets, robot=ROBOT, TORQUED_SESSIONS_PER_CLIENT=most) as running,
        recording(sockets, out) as recorder,
    ):
        report("recording", f"{seconds:g} s")
        with Client(running.endpoint, timeout=10.0) as client:
            driven = drive(client, recorder.pid, seconds)
            ended_in_order(recorder)
    report("reading", "the file")
    (path,) = out.glob("*.mcap")
    return Recorded(**driven, **contents(path), megabytes=1e-6 * path.stat().st_size)


@contextmanager
def recording(sockets: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`torqued record`, once it has begun."""
    command = [sys.executable, "-m", "torqued.tools.cli.main", "record", "--robot", ROBOT]
    log = sockets / "recorder.log"
    with log.open("wb") as file:
        child = subprocess.Popen(
            [*command, "--folder", str(sockets), "--out", str(out)],
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not list(out.glob("*.mcap")):
            if child.poll() is not None or time.monotonic() > deadline:
                raise NotStarted(f"the recorder has not begun: {log.read_text()}")
            time.sleep(0.05)
        yield child
    finally:
        child.kill()
        child.wait()


def ended_in_order(recorder: subprocess.Popen[bytes]) -> None:
    """With all in the file that was in the ring."""
    recorder.send_signal(signal.SIGTERM)
    recorder.wait(PATIENCE)


def drive(client: Client, recorder: int, seconds: float) -> dict[str, Any]:
    """States for all sessions, one for each tick; what loop, client and recorder did meanwhile."""
    robot, rng = client.hello(), np.random.default_rng(0)
    q = robot.neutral + rng.uniform(-0.05, 0.05, (STATES, robot.nq))
    v = rng.uniform(-0.1, 0.1, (STATES, robot.nv))
    with ExitStack() as stack:
        sessions: list[Session] = [
            stack.enter_context(client.session(LAW, transport="memory"))
            for _ in range(MAX_SESSIONS)
        ]
        before, spent = client.stats().servo, processor_time(recorder)
        started, own, sent = time.monotonic(), time.process_time(), 0
        due = started
        while due < started + seconds:
            for k, session in enumerate(sessions):
                session.send(q[(sent + k) % STATES], v[(sent + k) % STATES])
            sent += 1
            due = max(due + 1.0 / RATE, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
        passed = time.monotonic() - started
        spent, own = processor_time(recorder) - spent, time.process_time() - own
        after = client.stats().servo
    return {
        "seconds": passed,
        "ticks": after["tick"] - before["tick"],
        "missed": after["missed"] - before["missed"],
        "sent": sent * len(sessions),
        "share": spent / passed,
        "client_share": own / passed,
    }


def contents(path: Path) -> dict[str, Any]:
    """Ticks of sessions in a file, those that its recorder lost, and those that are not there."""
    from mcap.records import Channel, Message
    from mcap.stream_reader import StreamReader

    from torqued.tools.recording.messages import LOOP_MESSAGE, LOST_MESSAGE

    topics: dict[int, str] = {}
    numbers: dict[str, list[int]] = {}  # of a session's ticks, from 0 on
    others: dict[str, list[bytes]] = {"/loop": [], "/lost": []}
    with path.open("rb") as file:
        for record in StreamReader(file, validate_crcs=True).records:
            if isinstance(record, Channel):
                topics[record.id] = record.topic
            elif isinstance(record, Message):
                topic = topics[record.channel_id]
                if topic in others:
                    others[topic].append(record.data)
                elif topic.removeprefix("/sessions/").isdecimal():
                    numbers.setdefault(topic, []).append(record.sequence)
    loop = LOOP_MESSAGE.decode(b"".join(others["/loop"]))
    loop = loop[loop["served"] == MAX_SESSIONS]
    lost = LOST_MESSAGE.decode(b"".join(others["/lost"]))
    return {
        "recorded": sum(map(len, numbers.values())),
        "lost": int(lost["lost"][lost["session"] != 0].sum()),
        "gaps": sum(max(found) + 1 - len(set(found)) for found in numbers.values()),
        "compute_us": percentiles(loop["compute"]),
        "lateness_us": percentiles(loop["lateness"]),
    }


def percentiles(nanoseconds: Any) -> tuple[float, float]:
    """p50 and p99, µs."""
    p50, p99 = 1e-3 * np.quantile(nanoseconds, (0.5, 0.99))
    return float(p50), float(p99)
