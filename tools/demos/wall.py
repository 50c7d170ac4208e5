"""Pressing on a stiff wall through Cartesian impedance, over stiffness and delay.

The hand comes to a wall and presses with the same force, whatever the stiffness: a soft spring is
pulled far into the wall, a stiff one a little. Torques come late by whole milliseconds. A contact
settles, or it rattles. Where nothing is late, the law's own storage is checked against the work of
MuJoCo's contact forces: the controller must never be a source of energy.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from torqued.client import Client
from torqued.kernels import Robot
from torqued.kernels.charts.rotation import quaternion_of
from torqued.kernels.model.description import Array
from torqued.tools.cli.console import Bar
from torqued.tools.demos import pictures, results
from torqued.tools.demos.daemon import served
from torqued.tools.demos.lockstep import (
    LAW_ALONE,
    PERIOD,
    Log,
    Loop,
    energy_balance,
    run_together,
    step_powers,
)
from torqued.tools.demos.models import PANDA_READY, panda
from torqued.tools.demos.plant import Plant, Toucher, Wall
from torqued.tools.demos.trajectories import quintic

SECONDS = 1.6
STIFFNESSES = (200.0, 500.0, 1000.0, 2500.0, 5000.0)  # N/m
DELAYS = (0, 1, 2, 3, 5, 8)  # ms
#: Loops that run side by side: a client may have eight sessions by default.
TOGETHER = 6
FORCE = 10.0  # N, that the spring presses with in the end
FRAME, RADIUS = "panda_hand_tcp", 0.02  # a ball at the hand's tip touches the wall, m
GAP = 0.01  # m, between ball and wall at the start
ROTATIONAL = 40.0  # N m/rad
RATIO = 0.8  # of critical damping
#: s: to the wall, and into it.
APPROACH, PRESSING = 0.3, 0.7

#: A contact has settled where its force varies less than this, relative to `FORCE`, and is never
#: lost, in the last third.
STEADY = 0.1
#: Claims. Delays up to this one leave every stiffness stable.
SAFE_DELAY = 2  # ms
#: Energy that the law may seem to make, relative to all that flowed: the error of holding a torque
#: for a millisecond and of the trapezoidal rule.
NUMERICAL = 0.01


@dataclass(frozen=True)
class Pressed:
    """One run; forces in N, energies in J."""

    stiffness: float
    delay: int  # ms
    peak: float
    mean: float  # in the last third, as are the next two
    variation: float  # standard deviation
    lost: float  # share of time without contact
    made: float  # largest V(t) − V(s) − work of all else between s and t > s
    flowed: float

    @property
    def settled(self) -> bool:
        return self.variation <= STEADY * FORCE and self.lost == 0.0


class Place:
    """Where the hand is, and the wall in front of it."""

    def __init__(self) -> None:
        robot = Robot.from_description(panda())
        pose = robot.frame_pose(PANDA_READY, FRAME)
        J = robot.frame_jacobian(PANDA_READY, FRAME)
        self.inertia: Array = np.diag(np.linalg.inv(J @ robot.solve_mass(PANDA_READY, J.T)))
        self.start: Array = pose[:3, 3]
        self.orientation = quaternion_of(pose[:3, :3])
        surface = self.start + np.array([GAP + RADIUS, 0.0, 0.0])
        self.wall = Wall(surface, np.array([-1.0, 0.0, 0.0]))

    def gains(self, stiffness: float) -> dict[str, Any]:
        """Damping that suits the hand's inertia here."""
        critical = 2.0 * np.sqrt(np.repeat([ROTATIONAL, stiffness], 3) * self.inertia)
        turning, moving = RATIO * critical.reshape(2, 3)
        return {
            "stiffness": stiffness,
            "damping": moving,
            "rotational_stiffness": ROTATIONAL,
            "rotational_damping": turning,
        }

    def references(self, stiffness: float, t: float) -> dict[str, Array]:
        """Along x: to the wall and to rest, then into it."""
        x = np.zeros(3)
        moves = (GAP, 0.0, APPROACH), (FORCE / stiffness, APPROACH, PRESSING)
        for way, begin, lasts in moves:
            x += way * np.array(quintic((t - begin) / lasts)) / lasts ** np.arange(3)
        along = np.array([1.0, 0.0, 0.0])
        return {
            "position": self.start + x[0] * along,
            "orientation": self.orientation,
            "velocity": np.concatenate([np.zeros(3), x[1] * along]),
            "acceleration": np.concatenate([np.zeros(3), x[2] * along]),
            "posture": PANDA_READY,
        }


def loop(client: Client, place: Place, stiffness: float, delay: int) -> Loop:
    ball = Toucher(FRAME, radius=RADIUS)
    plant = Plant(panda(), walls=(place.wall,), touchers=(ball,), substep=2.5e-4)
    plant.reset(PANDA_READY, np.zeros(plant.robot.nv))
    given = place.gains(stiffness)
    session = client.session("impedance", frame=FRAME, gains=given, **LAW_ALONE)
    return Loop(plant, session, partial(place.references, stiffness), delay=delay)


def perform(
    seconds: float,
    progress: Any = lambda: None,
    stiffnesses: tuple[float, ...] = STIFFNESSES,
    delays: tuple[int, ...] = DELAYS,
) -> dict[tuple[float, int], Log]:
    """Logs by stiffness and delay."""
    cases = [(stiffness, delay) for stiffness in stiffnesses for delay in delays]
    place, logs = Place(), dict[tuple[float, int], Log]()
    with served(panda()) as client:
        for first in range(0, len(cases), TOGETHER):
            some = cases[first : first + TOGETHER]
            loops = [loop(client, place, *case) for case in some]
            logs |= dict(zip(some, run_together(loops, seconds, progress), strict=True))
            for one in loops:
                one.session.close()
    return logs


def judge(stiffness: float, delay: int, log: Log) -> Pressed:
    force = log["force"]
    last = force[2 * len(force) // 3 :]
    excess = np.concatenate([[0.0], excess_energy(log)])
    forces = force.max(), last.mean(), last.std(), (last == 0.0).mean()
    made = (excess - np.minimum.accumulate(excess)).max()
    flowed = energy_balance(log)[1]
    return Pressed(stiffness, delay, *(float(x) for x in (*forces, made, flowed)))


def excess_energy(log: Log) -> Array:
    """J after each step that the law's storage has gained beyond the work of all else."""
    change, terms = step_powers(log)
    gained: Array = np.cumsum(change - sum(terms.values()))
    return gained


def checks(found: list[Pressed]) -> list[results.Check]:
    prompt = [item for item in found if item.delay <= SAFE_DELAY]
    rigid = [item for item in found if item.delay == 0]
    settled = sum(item.settled for item in prompt)
    off = max(abs(item.mean - FORCE) / FORCE for item in prompt)
    return [
        results.Check(
            f"every contact with at most {SAFE_DELAY} ms of delay settles",
            f"{settled} of {len(prompt)}",
            settled == len(prompt),
        ),
        results.at_most("there, force off what the spring should press with", off, 0.1),
        results.at_most(
            "without delay, energy made by the controller, relative to what flowed",
            max(item.made / item.flowed for item in rigid),
            NUMERICAL,
        ),
    ]


def run(args: argparse.Namespace) -> int:
    seconds = results.duration(args.seconds, SECONDS, APPROACH + PRESSING + 0.5)
    console = results.ready_console()
    runs = len(STIFFNESSES) * len(DELAYS)
    console.print(
        f"panda pressing on a wall with {FORCE:g} N, {runs} runs of {seconds:g} s; "
        f"settled: force within {100 * STEADY:g} %, never lost"
    )
    steps = -(-runs // TOGETHER) * round(seconds / PERIOD)
    with Bar(console, "simulating", steps) as bar:
        logs = perform(seconds, bar.step)
    found = [judge(*case, log) for case, log in logs.items()]
    results.print_rows(
        console, "Contacts: peak force in N, or the variation where it rattles", rows(found)
    )
    written = [asdict(item) | {"settled": item.settled} for item in found]
    return results.conclude(console, args, written, [draw(found, logs, args.plot)], checks(found))


def rows(found: list[Pressed]) -> list[dict[str, str]]:
    """A row per stiffness, a column per delay."""
    by_case = {(item.stiffness, item.delay): item for item in found}

    def cell(item: Pressed) -> str:
        return f"{item.peak:.0f}" if item.settled else f"rattles ±{item.variation:.0f}"

    return [
        {"N/m": f"{stiffness:g}"}
        | {f"{delay} ms": cell(by_case[stiffness, delay]) for delay in DELAYS}
        for stiffness in STIFFNESSES
    ]


def draw(found: list[Pressed], logs: dict[tuple[float, int], Log], folder: Path) -> Path:
    figure = pictures.new_figure(9.0, 7.0)
    (where, energy), (force, rattle) = figure.subplots(2, 2)
    for item in found:
        place = (DELAYS.index(item.delay), STIFFNESSES.index(item.stiffness))
        colour = pictures.GREEN if item.settled else pictures.VERMILION
        where.scatter(*place, s=260, marker="s", color=colour)
        text = "" if item.settled else f"{item.variation:.0f}"
        where.text(*place, text, ha="center", va="center", fontsize=7, color="white")
    where.set_xticks(range(len(DELAYS)), [str(delay) for delay in DELAYS])
    where.set_yticks(range(len(STIFFNESSES)), [f"{k:g}" for k in STIFFNESSES])
    where.set_xlim(-0.6, len(DELAYS) - 0.4)
    where.set_ylim(-0.6, len(STIFFNESSES) - 0.4)
    pictures.plain(where, "settles (green), rattles (red, ± N)", "delay, ms", "stiffness, N/m")
    for k, stiffness in enumerate(STIFFNESSES):
        log, look = logs[stiffness, 0], {"color": pictures.COLOURS[k], "lw": 1.2}
        energy.plot(log["time"][1:], 1e3 * excess_energy(log), **look)
        force.plot(log["time"], log["force"], **look, label=f"{stiffness:g} N/m")
    energy.axhline(0.0, color=pictures.GREY, lw=1.0)
    pictures.plain(energy, "energy that the controller makes, no delay", "s", "mJ")
    pictures.plain(force, "contact force, no delay", "s", "N")
    force.axhline(FORCE, color="black", ls=":", lw=1.0)
    force.legend(frameon=False, fontsize=8)
    rattling = [item for item in found if not item.settled]
    if rattling:
        first = min(rattling, key=lambda item: (item.delay, item.stiffness))
        log = logs[first.stiffness, first.delay]
        rattle.plot(log["time"], log["force"], color=pictures.VERMILION, lw=0.6)
        title = f"contact force, {first.stiffness:g} N/m and {first.delay} ms late"
        pictures.plain(rattle, title, "s", "N")
    return pictures.save(figure, folder, "wall")
