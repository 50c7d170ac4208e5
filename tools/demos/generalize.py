"""Every law with default gains on many robots, clean and with realistic disturbances.

Robots are MuJoCo's, in lock step with a `Controller` in this process. A law gets no gains and no
options but what it cannot do without (the frame that is moved, contacts, tasks). Each robot is a
piece of work for one of two processes.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from torqued.tools.demos import results
from torqued.tools.demos.generalize_cases import QUICK, Budget, count
from torqued.tools.demos.generalize_claims import judge_all
from torqued.tools.demos.generalize_robots import Row, chosen, chosen_laws
from torqued.tools.demos.generalize_worker import each_run
from torqued.tools.demos.stage import bar, console_of

if TYPE_CHECKING:
    from rich.console import Console


def perform(
    rows: list[Row], laws: tuple[str, ...], quick: bool, console: Console
) -> list[dict[str, Any]]:
    """All runs, in the order of the rows."""
    found: dict[Row, list[dict[str, Any]]] = {row: [] for row in rows}
    with bar(console, "runs", sum(count(row, laws) for row in rows)) as progress:
        for row, outcome in each_run(rows, laws, quick):
            found[row].append(outcome)
            progress()
    return [outcome for row in rows for outcome in found[row]]


def run(args: argparse.Namespace) -> int:
    rows, laws = chosen(args.robots, args.quick), chosen_laws(args.laws)
    console = console_of()
    budget = QUICK if args.quick else Budget()
    console.print(f"{len(rows)} robots, laws {', '.join(laws)}; {budget.poses} poses of each arm")
    runs = perform(rows, laws, args.quick, console)
    checks = judge_all(runs)
    results.write_json(
        args.json,
        {
            "claims": {name: check.holds for name, check in checks.items()},
            "found": {name: f"{check.claim}: {check.found}" for name, check in checks.items()},
            "runs": runs,
        },
    )
    from torqued.tools.demos.generalize_picture import draw

    console.print(f"picture: {draw(runs, checks, args.plot)}", markup=False)
    return results.conclude(console, list(checks.values()))
