"""A robot that floats freely: how fast errors fall with the time step, and what drifts.

Nothing acts on it, so that energy and spatial momentum stay what they are in truth. torqued's
schemes are beside MuJoCo's integrators on the same robot, from the same state.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.integration.schemes import METHODS
from torqued.kernels.integration.simulation import Acting
from torqued.kernels.model.description import Array
from torqued.kernels.model.families import family
from torqued.tools.demos import results
from torqued.tools.demos.pictures import COLOURS, new_figure, plain, save
from torqued.tools.demos.results import Check, at_least, at_most

if TYPE_CHECKING:
    from pathlib import Path

#: MuJoCo's integrators, by the names of its documentation.
MUJOCO = {"MuJoCo Euler": "mjINT_EULER", "MuJoCo RK4": "mjINT_RK4"}
#: s, over which orders are measured, and numbers of steps in it.
SPAN, COUNTS = 0.4, (10, 20, 40, 80)
#: s, time step of the long run.
STEP = 5e-3


@dataclass(frozen=True)
class Record:
    """One integrator: errors at the end of `SPAN`, and drifts over the long run."""

    name: str
    errors: list[float]  # rad, rad/s, m, m/s, the largest; one for each of `COUNTS`
    time: Array  # s
    momentum: Array  # relative drift
    energy: Array

    @property
    def order(self) -> float:
        """Between the two finest time steps that are above rounding."""
        good = [error for error in self.errors if error > 1e-13]
        return float(np.log2(good[-2] / good[-1])) if len(good) > 1 else float("nan")


def run(args: argparse.Namespace) -> int:
    seconds = results.duration(args.seconds, 5.0, 0.1)
    console = results.ready_console()
    records = measure(seconds)
    title = f"A free-floating biped, {seconds:g} s in steps of {STEP:g} s"
    results.print_rows(console, title, rows(records))
    written = {record.name: as_json(record) for record in records}
    return results.conclude(console, args, written, [draw(records, args.plot)], checks(records))


def measure(seconds: float) -> list[Record]:
    """torqued's schemes, then MuJoCo's."""
    description = family("biped", 6)
    robot = Robot.from_description(description, "floating", gravity=(0.0, 0.0, 0.0))
    start = robot.random_state(np.random.default_rng(1))
    exact = robot.simulate(*start, seconds=SPAN, dt=SPAN / 1600, every=1600)

    def error(q: Array, v: Array) -> float:
        there = robot.difference(exact.q[-1], q)
        return float(max(np.abs(there).max(), np.abs(v - exact.v[-1]).max()))

    records = []
    for name in METHODS:
        errors = []
        for count in COUNTS:
            end = robot.simulate(*start, seconds=SPAN, dt=SPAN / count, method=name, every=count)
            errors.append(error(end.q[-1], end.v[-1]))
        long = robot.simulate(*start, seconds=seconds, dt=STEP, method=name, every=5)
        records.append(record(robot, name, errors, long.time, long.q, long.v))
    return records + measure_mujoco(robot, start, seconds, error)


def measure_mujoco(
    robot: Robot,
    start: tuple[Array, Array],
    seconds: float,
    error: Callable[[Array, Array], float],
) -> list[Record]:
    import mujoco

    from torqued.tools.demos.plant import Plant

    records = []
    for name, integrator in MUJOCO.items():

        def plant(step: float, integrator: str = integrator) -> Plant:
            made = Plant(family("biped", 6), "floating", substep=step)
            made.model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
            made.model.opt.gravity[:] = 0.0
            made.reset(*start)
            return made

        errors, still = [], np.zeros(robot.nv)
        for count in COUNTS:
            there = plant(SPAN / count)
            there.step(still, SPAN)
            errors.append(error(there.q, there.v))
        there = plant(STEP)
        states = [(0.0, there.q, there.v)]
        for k in range(round(seconds / STEP) // 5):
            there.step(still, 5 * STEP)
            states.append((5 * STEP * (k + 1), there.q, there.v))
        time, q, v = (np.array(part) for part in zip(*states, strict=True))
        records.append(record(robot, name, errors, time, q, v))
    return records


def record(robot: Robot, name: str, errors: list[float], time: Array, q: Array, v: Array) -> Record:
    states = list(zip(q, v, strict=True))
    momenta = np.array([Acting(robot, ()).momentum(*state) for state in states])
    energies = np.array([sum(robot.energy(*state)) for state in states])
    drift = np.abs(momenta - momenta[0]).max(axis=1) / np.abs(momenta[0]).max()
    return Record(name, errors, time, drift, np.abs(energies / energies[0] - 1.0))


def rows(records: list[Record]) -> list[dict[str, str]]:
    return [
        {
            "integrator": each.name,
            "order": f"{each.order:.2f}",
            f"error at {SPAN / COUNTS[-1] * 1e3:g} ms": f"{each.errors[-1]:.1e}",
            "momentum drift": f"{each.momentum.max():.1e}",
            "energy drift": f"{each.energy.max():.1e}",
        }
        for each in records
    ]


def as_json(each: Record) -> dict[str, object]:
    drifts = {"momentum_drift": each.momentum.max(), "energy_drift": each.energy.max()}
    return {"order": each.order, "errors": each.errors, **drifts}


def checks(records: list[Record]) -> list[Check]:
    found = {each.name: each for each in records}
    orders = [
        at_least(f"order of {name}", found[name].order, method.order - 0.2)
        for name, method in METHODS.items()
    ]
    kept = at_most("momentum drift of momentum", float(found["momentum"].momentum.max()), 1e-13)
    return [*orders, kept]


def draw(records: list[Record], folder: Path) -> Path:
    figure = new_figure(11.0, 3.8)
    convergence, momentum, energy = figure.subplots(1, 3)
    floor = 1e-17
    for each, colour in zip(records, COLOURS, strict=False):
        line = "--" if each.name in MUJOCO else "-"
        steps = [SPAN / count * 1e3 for count in COUNTS]
        convergence.loglog(steps, each.errors, line, color=colour, marker="o", ms=4)
        momentum.semilogy(each.time, each.momentum + floor, line, color=colour, label=each.name)
        energy.semilogy(each.time, each.energy + floor, line, color=colour)
    plain(convergence, f"Error after {SPAN:g} s", "time step, ms", "rad, m, per s")
    plain(momentum, "Drift of spatial momentum", "s", "relative")
    plain(energy, "Drift of energy", "s", "relative")
    figure.legend(loc="outside lower center", ncols=len(records), frameon=False)
    return save(figure, folder, "integrators")
