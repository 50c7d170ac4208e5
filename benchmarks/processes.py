"""Processes that a benchmark starts for itself, each stopped at the end of its `with` block."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from torqued.benchmarks import echo
from torqued.client import Client, TimeoutError
from torqued.client.endpoints import request_endpoint
from torqued.client.requests.results import Result
from torqued.common.errors import TorquedError

#: The robot that requests are about.
ROBOT = "chain20"
#: Seconds to become ready: an empty cache is filled meanwhile.
MAX_START = 400.0
MAX_STOP = 20.0


class NotStarted(TorquedError):
    """A process that ended before it was ready, with what it said."""


@dataclass(frozen=True)
class Running:
    """A daemon that is ready."""

    endpoint: str
    process: int  # its id
    started: float  # s, from its start until it was ready


def processor_time(process: int) -> float:
    """s that a process has computed, in user and kernel; proc(5)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def process(
    command: Sequence[str], log: Path, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its output in a file."""
    with log.open("wb") as file:
        child = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=os.environ | environment
        )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(MAX_STOP)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextlib.contextmanager
def daemon(
    folder: Path,
    *options: str,
    endpoint: str | None = None,
    robot: str = ROBOT,
    complete: bool = True,
    **environment: str,
) -> Iterator[Running]:
    """`torqued serve` with its sockets in a folder, ready, or with all of its kernels.

    `endpoint`: where options move it.
    """
    endpoint = endpoint or request_endpoint(robot, folder)
    command = [
        *(sys.executable, "-m", "torqued.tools.cli.main", "serve"),
        *("--robot", robot, "--name", robot, "--folder", str(folder), *options),
    ]
    log = folder / "daemon.log"
    start = time.monotonic()
    # Sessions are without states while others are measured.
    environment = {"TORQUED_ABANDON_AFTER": "3600", **environment}
    with process(command, log, **environment) as child:
        wait_until(endpoint, child, log, lambda told: bool(told.ready))
        ready = time.monotonic() - start
        if complete:
            wait_until(endpoint, child, log, has_all_kernels)
        yield Running(endpoint, child.pid, ready)


def has_all_kernels(told: Result) -> bool:
    """Whether the daemon has loaded what follows when it is ready."""
    return bool(told.kernels["done"] == told.kernels["total"])


def wait_until(
    endpoint: str,
    child: subprocess.Popen[bytes],
    log: Path,
    condition: Callable[[Result], bool],
) -> None:
    """Until what `ping` tells is so."""
    deadline = time.monotonic() + MAX_START
    with Client(endpoint, timeout=0.1, retries=0) as client:
        while time.monotonic() < deadline and child.poll() is None:
            with contextlib.suppress(TimeoutError):
                if condition(client.ping()):
                    return
            time.sleep(0.01)
    said = log.read_text(errors="replace").strip().splitlines() or ["nothing"]
    raise NotStarted(f"the daemon was not ready, it said last: {said[-1]}")


@contextlib.contextmanager
def echo_process(folder: Path, endpoint: str, reply: int) -> Iterator[None]:
    """A bare echo with replies of that many bytes, in a Python process of its own."""
    command = [sys.executable, str(echo.__file__), endpoint, str(reply)]
    with process(command, folder / "echo.log"):
        yield
