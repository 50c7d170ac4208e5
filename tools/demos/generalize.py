"""Every law with default gains on many robots, clean and with realistic disturbances.

Robots are MuJoCo's, in lock step with a `Controller` in the same process. A law gets no gains and
only its required options (the frame that is moved, contacts, tasks). Each robot is a task for one
of two processes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from rich.console import Console

from torqued.tools.cli.console import Bar
from torqued.tools.demos import results
from torqued.tools.demos.daemon import ProcessError
from torqued.tools.demos.generalize_cases import QUICK, Budget, robot_runs
from torqued.tools.demos.generalize_claims import judge_all
from torqued.tools.demos.generalize_loop import quiet
from torqued.tools.demos.generalize_picture import draw
from torqued.tools.demos.generalize_robots import Row, chosen, chosen_laws

#: Each simulates one robot at a time.
PROCESSES = 2


def perform(
    rows: list[Row], laws: tuple[str, ...], budget: Budget, console: Console
) -> list[dict[str, Any]]:
    """All runs, in the order of the rows."""
    # One thread of BLAS per process: matrices are small, and the other core has another robot.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    workers = min(PROCESSES, os.cpu_count() or 1)
    context = multiprocessing.get_context("spawn")
    with (
        Bar(console, "robots", len(rows)) as bar,
        ProcessPoolExecutor(workers, context, initializer=quiet) as pool,
    ):
        tasks = [pool.submit(robot_runs, row, laws, budget) for row in rows]
        try:
            for task in as_completed(tasks):
                task.result()
                bar.step()
        except BrokenProcessPool as error:
            raise ProcessError(f"a process of the simulation died: {error}") from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
            raise
    return [run for task in tasks for run in task.result()]


def run(args: argparse.Namespace) -> int:
    rows, laws = chosen(args.robots, args.quick), chosen_laws(args.laws)
    console = results.ready_console()
    budget = QUICK if args.quick else Budget()
    console.print(f"{len(rows)} robots, laws {', '.join(laws)}; {budget.poses} poses of each arm")
    runs = perform(rows, laws, budget, console)
    checks = judge_all(runs)
    found = {
        "claims": {name: check.holds for name, check in checks.items()},
        "found": {name: f"{check.claim}: {check.found}" for name, check in checks.items()},
        "runs": runs,
    }
    picture = draw(runs, checks, args.plot)
    return results.conclude(console, args, found, [picture], list(checks.values()))
