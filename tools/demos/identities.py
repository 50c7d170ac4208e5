"""The dynamics of a robot, the identities they must obey, and what they cost."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from torqued.kernels import Robot
from torqued.kernels.model import catalog
from torqued.kernels.model.description import Array
from torqued.tools.cli import compile
from torqued.tools.demos.results import print_rows

#: Largest relative residual that still counts as rounding.
TOLERANCE = 1e-10
#: Rows and columns of a matrix that fit on a terminal.
SHOWN = 9


@dataclass(frozen=True)
class Check:
    """An identity: two independent computations of one quantity."""

    identity: str
    left: Array
    right: Array

    @property
    def residual(self) -> float:
        """Largest difference, relative to the largest entry."""
        scale = max(float(np.abs(self.left).max(initial=0.0)), 1e-300)
        return float(np.abs(self.left - self.right).max(initial=0.0)) / scale

    @property
    def holds(self) -> bool:
        return self.residual <= TOLERANCE


def run(args: argparse.Namespace) -> int:
    console = Console()
    name = args.robot or ("panda" if "panda" in catalog.urdf_files() else "chain20")
    robot = catalog.load(name, args.base)
    compile.compile_with_progress(console)

    q, v = robot.random_state(np.random.default_rng(args.seed))
    size = f"{robot.nq} coordinates, {robot.nv} velocities"
    console.print(f"{name}: {size}, at a random state", style="bold", markup=False)
    console.print(*matrix_table("M", "mass matrix", robot.mass_matrix(q)), sep="\n")
    C = robot.coriolis_matrix(q, v)
    console.print(*matrix_table("C", "Coriolis matrix from Christoffel symbols", C), sep="\n")
    checks = list(identities(robot, q, v))
    print_rows(console, "\nChecks at this state", [row_of(check) for check in checks])
    title = "\nTimings from Python, with input checks"
    print_rows(console, title, timings(robot, q, v))
    return 0 if all(check.holds for check in checks) else 1


def identities(robot: Robot, q: Array, v: Array) -> Iterator[Check]:
    """The checks, each side from different kernels."""
    C = robot.coriolis_matrix(q, v)
    rest = np.zeros(robot.nv)
    yield Check("Ṁ = C + Cᵀ", robot.mass_matrix_rate(q, v), C + C.T)
    velocity_terms = robot.inverse_dynamics(q, v, rest) - robot.gravity(q)
    yield Check("C v = RNEA(q, v, 0) − g", velocity_terms, C @ v)
    yield Check("Σₖ Γᵢⱼₖ vₖ = Cᵢⱼ", C, robot.christoffel(q) @ v)
    a = np.linspace(-1.0, 1.0, robot.nv)
    tau = robot.inverse_dynamics(q, v, a)
    yield Check("M a + C v + g = RNEA(q, v, a)", tau, robot.mass_matrix(q) @ a + robot.bias(q, v))
    yield Check("ABA(q, v, RNEA(q, v, a)) = a", a, robot.forward_dynamics(q, v, tau))


def row_of(check: Check) -> dict[str, str]:
    verdict = "[green]holds[/green]" if check.holds else "[red]BROKEN[/red]"
    residual = f"{check.residual:.1e}"
    return {
        "identity": check.identity,
        "relative residual": residual,
        f"≤ {TOLERANCE:.0e}": verdict,
    }


def timings(robot: Robot, q: Array, v: Array) -> list[dict[str, str]]:
    a = np.ones(robot.nv)
    calls: dict[str, tuple[str, Callable[[], object]]] = {
        "M": ("mass_matrix", lambda: robot.mass_matrix(q)),
        "C": ("coriolis_matrix", lambda: robot.coriolis_matrix(q, v)),
        "Γ": ("christoffel", lambda: robot.christoffel(q)),
        "τ by RNEA": ("inverse_dynamics", lambda: robot.inverse_dynamics(q, v, a)),
        "v̇ by ABA": ("forward_dynamics", lambda: robot.forward_dynamics(q, v, a)),
    }
    return [
        {"quantity": quantity, "method": method, "median, µs": f"{microseconds(call):.1f}"}
        for quantity, (method, call) in calls.items()
    ]


def microseconds(call: Callable[[], object], seconds: float = 0.2) -> float:
    """Median time of one call."""
    samples: list[int] = []
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter_ns()
        call()
        samples.append(time.perf_counter_ns() - start)
    return statistics.median(samples) / 1e3


def matrix_table(symbol: str, meaning: str, matrix: Array) -> tuple[str, Table]:
    """Title and entries of a matrix, or of its corner when it is too large for a terminal."""
    size = len(matrix)
    corner = f", its first {SHOWN} rows and columns" if size > SHOWN else ""
    table = Table(show_header=False, box=None)
    for _ in range(min(size, SHOWN)):
        table.add_column(justify="right")
    for row in matrix[:SHOWN, :SHOWN]:
        table.add_row(*(f"{value:z.3f}" for value in row))  # z: no minus before zero
    return f"\n{symbol}: {meaning}, {size} × {size}{corner}", table
