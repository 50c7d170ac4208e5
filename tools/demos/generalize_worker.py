"""One robot in a process of its own: `python -m torqued.tools.demos.generalize_worker …`.

Each line that it prints is one run as JSON, so that the parent sees the progress.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from torqued.common.errors import TorquedError
from torqued.tools.demos.generalize_robots import ROWS, Row
from torqued.tools.demos.results import plain

#: Processes at most: each simulates one robot at a time.
PROCESSES = 2

Run = dict[str, Any]


class WorkerError(TorquedError):
    """A process ended without its result."""


def each_run(rows: list[Row], laws: tuple[str, ...], quick: bool) -> Iterator[tuple[Row, Run]]:
    """All runs as they are ready."""
    ready: SimpleQueue[tuple[Row, Run] | Row | BaseException] = SimpleQueue()
    started: list[subprocess.Popen[str]] = []

    def work(row: Row) -> None:
        try:
            for run in runs_of(row, laws, quick, started):
                ready.put((row, run))
            ready.put(row)
        except BaseException as error:  # raised in the waiting thread
            ready.put(error)

    with ThreadPoolExecutor(min(PROCESSES, os.cpu_count() or 1)) as pool:
        try:
            for row in rows:
                pool.submit(work, row)
            left = len(rows)
            while left:
                item = ready.get()
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, Row):
                    left -= 1
                else:
                    yield item
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:
                process.kill()


def runs_of(
    row: Row, laws: tuple[str, ...], quick: bool, started: list[subprocess.Popen[str]]
) -> Iterator[Run]:
    """Of one robot, from a process that is started for it."""
    number, depth = ROWS.index(row), "quick" if quick else "full"
    command = [sys.executable, "-m", __name__, str(number), ",".join(laws), depth]
    # One thread each: matrices here are small, and the other core has another robot.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    started.append(process)
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            yield {name: number_of(value) for name, value in json.loads(line).items()}
    if process.wait() != 0:
        raise WorkerError(f"{row.label}: process exited with {process.returncode}")


def number_of(value: Any) -> Any:
    """JSON has no NaN: nothing stands for it."""
    return float("nan") if value is None else value


def main(number: str, laws: str, depth: str) -> None:
    from torqued.tools.demos.generalize_cases import QUICK, Budget, robot_runs
    from torqued.tools.demos.generalize_loop import quiet

    quiet()
    budget = QUICK if depth == "quick" else Budget()
    for outcome in robot_runs(ROWS[int(number)], tuple(laws.split(",")), budget):
        print(json.dumps(plain(outcome)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
