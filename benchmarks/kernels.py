"""`torqued bench kernels`: the kernels beside Pinocchio, in the same run on the same robots.

robots.py, contacts.py → timing.py → results.py → report.py (tables), plots.py (figures), JSON
growth.py → timing.py ↗
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.benchmarks.command import (
    add_common_arguments,
    make_console,
    progress,
    require_places,
    write_json,
)

if TYPE_CHECKING:
    from rich.console import Console

    from torqued.benchmarks.growth import Sizes
    from torqued.benchmarks.results import Results
    from torqued.benchmarks.robots import Case
    from torqued.benchmarks.timing import Plan, Times

#: By robot and kernel, or by family and size: what each sweep has measured.
Parts = dict[tuple[str, Any], list[dict[str, "Times"]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="Markdown file whose block of tables is replaced",
    )
    parser.add_argument(
        "--robots",
        metavar="NAMES",
        help="comma-separated robots: panda, talos, a family such as chain20, or any name of "
        "`torqued models` (default: the six of the budget)",
    )
    parser.add_argument(
        "--no-growth",
        action="store_true",
        help="skip the growth of times with the number of joints",
    )


def run(args: argparse.Namespace) -> int:
    console = make_console()
    require_places(args)
    if args.markdown:
        from torqued.benchmarks.report import require_block

        require_block(args.markdown)
    results = measure_all(args, console)
    print_tables(console, results)
    if args.quick:
        console.print("a quick run: its figures are only rough")
    write(args, console, results)
    return 0


@dataclass(frozen=True)
class Effort:
    """How much to measure: sweeps over everything, and each time so long."""

    sweeps: int
    states: int
    plan: Plan  # for a kernel beside Pinocchio
    brief: Plan  # for a method of `Robot`, and for a point of a curve
    sizes: Sizes


def effort(quick: bool, with_growth: bool) -> Effort:
    from torqued.benchmarks.growth import QUICK_SIZES, SIZES
    from torqued.benchmarks.timing import Plan

    if quick:
        sizes = QUICK_SIZES if with_growth else {}
        return Effort(1, 2, Plan(seconds=0.0, passes=3), Plan(seconds=0.0, passes=2), sizes)
    sizes = SIZES if with_growth else {}
    return Effort(4, 8, Plan(seconds=0.3, passes=10), Plan(seconds=0.1, passes=3), sizes)


def measure_all(args: argparse.Namespace, console: Console) -> Results:
    from torqued.benchmarks import growth, robots
    from torqued.benchmarks.machine import this_machine
    from torqued.benchmarks.results import Figure, Results
    from torqued.benchmarks.timing import pooled
    from torqued.tools.cli.compile import compile_with_progress

    machine = this_machine()
    asked = [name.strip() for name in args.robots.split(",")] if args.robots else robots.ROBOTS
    names = list(dict.fromkeys(asked))
    for name in names:
        robots.require_known(name)
    ready = compile_with_progress(console)
    cached = "all" if ready.from_cache == ready.kernels else str(ready.from_cache)
    loading = f"{ready.kernels} ready in {ready.seconds:.1f} s, {cached} of them from the cache"

    work = effort(args.quick, with_growth=not args.no_growth)
    cases = [robots.load(name, work.states) for name in names]
    add_second_order(cases, console, compile_it=not args.quick)
    for case in cases:
        case.verify()
    families = {
        kind: {dofs: growth.load(kind, dofs, work.states) for dofs in sizes}
        for kind, sizes in work.sizes.items()
    }
    figures: Parts = {(case.name, kernel): [] for case in cases for kernel in case.kernels}
    points: Parts = {(kind, dofs): [] for kind, sizes in families.items() for dofs in sizes}
    with progress(console, work.sweeps * (len(figures) + len(points))) as report:
        for sweep in range(1, work.sweeps + 1):
            for case in cases:
                for kernel in case.kernels:
                    report(f"robots, sweep {sweep} of {work.sweeps}", f"{case.name} {kernel}")
                    figures[case.name, kernel].append(measure_kernel(case, kernel, work))
            for kind, sizes in families.items():
                for dofs, case in sizes.items():
                    report(f"growth, sweep {sweep} of {work.sweeps}", case.name)
                    points[kind, dofs].append(growth.measure_point(case, work.brief))
    return Results(
        machine,
        loading,
        [Figure(name, kernel, **pooled(parts)) for (name, kernel), parts in figures.items()],
        [
            growth.curve(kind, {dofs: pooled(points[kind, dofs]) for dofs in sizes})
            for kind, sizes in families.items()
        ],
    )


def add_second_order(cases: list[Case], console: Console, compile_it: bool) -> None:
    """A row more for each robot, where Pinocchio's C++ can be compiled; a word where it cannot."""
    from torqued.benchmarks import second_order

    try:
        with console.status("Pinocchio's second-order derivatives, in C++"):
            peer = second_order.library(compile_it)
        for case in cases:
            case.second_order = second_order.SecondOrderProblem(case, peer)
    except second_order.NoPeerError as error:
        for case in cases:
            case.second_order = None
        console.print(f"second_order is left out: {error}", markup=False, soft_wrap=True)


def measure_kernel(case: Case, kernel: str, work: Effort) -> dict[str, Times]:
    """The kernel against Pinocchio, and more briefly its method of `Robot`."""
    import pinocchio as pin

    from torqued.benchmarks.timing import measure

    contenders = {"ours": case.ours(kernel), "pinocchio": case.pinocchio(kernel)}
    if kernel in ("crba", "aba"):
        contenders["world"] = case.pinocchio(kernel, pin.Convention.WORLD)
    if kernel in case.contacts:
        for solver in ("direct", "null_space"):
            contenders[solver] = case.contacts[kernel].ours(solver)
    method = {"method": case.method(kernel)}
    return {**measure(contenders, work.plan), **measure(method, work.brief)}


def print_tables(console: Console, results: Results) -> None:
    from torqued.benchmarks.report import sheets, summary

    console.print(f"{results.machine}", markup=False)
    console.print(f"kernels: {results.loading}\n", markup=False)
    for sheet in sheets(results):
        sheet.print(console)
    console.print(summary(results), markup=False, style="bold")


def write(args: argparse.Namespace, console: Console, results: Results) -> None:
    from torqued.benchmarks import report

    written: list[Path] = []
    if args.json:
        written.append(write_json(args.json, results.to_json()))
    if args.markdown:
        report.replace_block(args.markdown, report.to_markdown(results))
        written.append(args.markdown)
    if args.plot:
        from torqued.benchmarks import plots

        written += plots.draw(results, args.plot)
    for path in written:
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
