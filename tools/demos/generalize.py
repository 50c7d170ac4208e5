"""Every law with default gains on many robots, clean and with realistic disturbances.

Robots are MuJoCo's, in lock step with a `Controller` in the same process, or with a daemon where
sessions are what is tried (generalize_lab.py). A law gets no gains and
only its required options (the frame that is moved, contacts, tasks). Each robot is a task for one
of two processes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

from rich.console import Console

from torqued.common.errors import TorquedError
from torqued.kernels.model.description import Array
from torqued.tools.cli.console import Bar
from torqued.tools.demos import generalize_stability as stability
from torqued.tools.demos import results
from torqued.tools.demos.daemon import ProcessError, served
from torqued.tools.demos.generalize_cases import (
    QUICK,
    Budget,
    Case,
    Outcome,
    arm_runs,
    standing_runs,
)
from torqued.tools.demos.generalize_claims import judge_all
from torqued.tools.demos.generalize_lab import lab_runs
from torqued.tools.demos.generalize_loop import (
    BARE,
    CLEAN,
    CONDITIONS,
    FILE,
    LAB,
    LOADED,
    ROUGH,
    quiet,
)
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


def robot_runs(row: Row, laws: tuple[str, ...], budget: Budget) -> list[dict[str, Any]]:
    """All runs of one robot."""
    clean = Case(row, CLEAN)
    others = (BARE, FILE) if row.mjcf else CONDITIONS[1:]
    cases = [Case(row, condition, clean) for condition in others]
    where = (
        stability.stances(clean.robot, clean.stance, budget.poses)
        if clean.stance
        else stability.poses(clean.robot, budget.poses)
    )
    found: list[Outcome] = []
    with nullcontext() if row.mjcf else served(cases[-1].described, row.base) as client:
        for law in (law for law in clean.laws if law in laws):
            outcome, worst = pose_scan(clean, law, where)
            if not row.mjcf:
                found.append(outcome)
            for case in cases if row.mjcf else [clean, *cases]:
                try:
                    if case.condition in (LAB, LOADED):
                        pass
                    elif row.kind == "arm":
                        found += arm_runs(case, law, worst, budget)
                    else:
                        found += standing_runs(case, law, budget)
                    if client is not None:
                        found += lab_runs(case, law, client, budget)
                except TorquedError as error:
                    refused = case.outcome(law, "open")
                    refused.refused = str(error)
                    found.append(refused)
    return list(map(asdict, found))


def pose_scan(case: Case, law: str, where: list[stability.Pose]) -> tuple[Outcome, Array]:
    """Stability at rest in all poses, with the delay of the rough condition, and the worst pose."""
    outcome = case.outcome(law, "poses")
    try:
        controller, _ = case.controller(law)
        scan = stability.scan(controller, case.frame, where, ROUGH.delay)
    except TorquedError as error:
        outcome.refused = str(error)
        return outcome, where[0].q
    outcome.unstable = scan.unstable + scan.refused
    outcome.poses, outcome.cut, outcome.growth = scan.poses, scan.cut, scan.growth
    return outcome, scan.worst


def run(args: argparse.Namespace) -> int:
    rows, laws = chosen(args.robots, args.quick, args.menagerie), chosen_laws(args.laws)
    console = results.ready_console()
    if args.menagerie is None:
        console.print("without --menagerie DIR: no robots of MuJoCo's own files")
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
