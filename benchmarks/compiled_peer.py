"""The C++ contenders of `bench rtt`: compiled for the run, where that is possible."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torqued.benchmarks.processes import NotStarted

SOURCE = Path(__file__).parent / "cpp" / "latency.cpp"
HEADERS = Path(__file__).parents[1] / "client" / "cpp"
#: s for the compiler, and for a block of exchanges.
COMPILE_TIMEOUT = 600.0


def compile_peer(folder: Path) -> Path:
    """The program; `NotStarted` says why there is none."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise NotStarted("g++ is not installed")
    if not (HEADERS / "torqued.hpp").is_file() or not SOURCE.is_file():
        raise NotStarted("the C++ sources are not installed with the package: run it in a checkout")
    program = folder / "latency"
    done = subprocess.run(
        [compiler, "-std=c++17", "-O2", f"-I{HEADERS}", SOURCE, "-o", program, "-lzmq"],
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT,
    )
    if done.returncode != 0:
        raise NotStarted(f"it does not compile: {done.stderr.splitlines()[0]}")
    return program


class Peer:
    """A running program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def measure(self, count: int, period: float) -> list[float]:
        """Times of exchanges in µs, begun `period` s apart."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{count} {round(1e9 * period)}\n")
        self._process.stdin.flush()
        times = [1e-3 * int(time) for time in self._process.stdout.readline().split()]
        if len(times) != count:
            raise NotStarted("the C++ contender has ended")
        return times


@contextmanager
def running(program: Path, *arguments: str) -> Iterator[Peer]:
    with subprocess.Popen(
        [program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Peer(process)
        finally:
            process.kill()
