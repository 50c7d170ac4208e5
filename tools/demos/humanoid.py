"""A humanoid under the whole-body program: one foot, a hand on a pillar, pushes.

The first part is one session from standing to leaning on a pillar with one foot in the air, and
back (humanoid_story.py). The second one is pushes while standing, each a little harder, until it
falls (humanoid_pushes.py).
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.status import SOLVER
from torqued.kernels import Robot
from torqued.kernels.model.description import Array
from torqued.tools.cli.console import Bar
from torqued.tools.demos import humanoid_pushes, results
from torqued.tools.demos.daemon import served
from torqued.tools.demos.humanoid_pictures import draw_pushes, draw_story
from torqued.tools.demos.humanoid_robot import SOLE, TRUE_FRICTION, talos
from torqued.tools.demos.humanoid_story import PHASES, SECONDS, Story, loop
from torqued.tools.demos.lockstep import PERIOD, Log, run_together

if TYPE_CHECKING:
    from rich.console import Console

#: N: contacts that carry less have no friction to speak of.
CARRIES = 20.0
#: Axes of the world that soles and hand press along.
NORMALS = (2, 2, 0)
#: Claims, with room to what is measured.
MAX_COM_ERROR = 0.005  # m
MAX_TURN = 0.02  # rad, of the pelvis
MAX_SLIP = 0.003  # m
LEANS = 0.02  # m, of the center of mass beyond the toes
PRESSES = 15.0  # N, of the hand while it leans


@dataclass(frozen=True)
class Phase:
    """One part of the first run."""

    name: str
    begin: float  # s
    com_error: float  # m, largest
    turn: float  # rad, largest of the pelvis
    torque_share: float  # largest torque, relative to its limit
    friction_share: float  # largest, relative to what would slip
    solver_failures: int
    compute_p50: float  # µs
    compute_p99: float  # µs


def perform(seconds: float, progress: Any = lambda: None) -> tuple[Log, Story]:
    """The log of the first part, with `com_wanted` added."""
    with served(talos(), "floating") as client:
        one, story = loop(client)
        (log,) = run_together([one], seconds, progress)
    log["com_wanted"] = np.array([story.com(t)[0] for t in log["time"]])
    return log, story


def friction_share(log: Log) -> Array:
    """Tangential force relative to what would slip, (steps, contacts), of contacts that hold."""
    felt, axes = log["felt"], np.arange(3)
    normal = np.stack([felt[:, 0, 2], felt[:, 1, 2], -felt[:, 2, 0]], axis=1)
    across = np.stack(
        [np.linalg.norm(felt[:, k, axes != along], axis=1) for k, along in enumerate(NORMALS)],
        axis=1,
    )
    share = across / (TRUE_FRICTION * np.maximum(normal, CARRIES))
    held: Array = np.where((log["active"] > 0.0) & (normal > CARRIES), share, 0.0)
    return held


def slip(log: Log) -> float:
    """m, the farthest that a sole has moved along the floor while it held; a ball may roll."""
    farthest = 0.0
    for k in range(2):
        changes = np.flatnonzero(np.diff(log["active"][:, k].astype(int))) + 1
        for part in np.split(np.arange(len(log["time"])), changes):
            if log["active"][part[0], k]:
                places = log["places"][part, k, :2]
                moved = np.linalg.norm(places - places[0], axis=1)
                farthest = max(farthest, float(moved.max()))
    return farthest


def turns(q: Array) -> Array:
    """rad (steps,), how far the pelvis is turned from upright, where it began."""
    turned: Array = 2.0 * np.linalg.norm(q[:, 3:6], axis=1)
    return turned


def judge(log: Log) -> list[Phase]:
    limits = Robot.from_description(talos(), "floating").limits.effort
    error = np.linalg.norm(log["com"] - log["com_wanted"], axis=1)
    torque = (np.abs(log["tau"]) / limits).max(axis=1)
    friction = friction_share(log).max(axis=1)
    failed = log["status"].astype(int) & SOLVER != 0
    ends = [*list(PHASES.values())[1:], np.inf]
    found = []
    for (name, begin), end in zip(PHASES.items(), ends, strict=True):
        part = (log["time"] >= begin) & (log["time"] < end)
        if not part.any():
            break
        columns = error, turns(log["q"]), torque, friction
        numbers: list[Any] = [float(column[part].max()) for column in columns]
        numbers.append(int((failed & part).sum()))
        numbers += np.percentile(1e6 * log["compute"][part], (50, 99)).tolist()
        found.append(Phase(name, begin, *numbers))
    return found


def leaning(log: Log, story: Story) -> tuple[float, float, float]:
    """While hand and one foot hold: how far the center of mass is beyond the toes in the mean, m,
    the hand's mean force, N, and the largest force on the foot in the air, N."""
    begin, end = PHASES["hand and one foot"], PHASES["come back"]
    part = (log["time"] >= begin) & (log["time"] < end)
    beyond = float((log["com"][part, 0] - story.toes).mean())
    return beyond, float(-log["felt"][part, 2, 0].mean()), float(log["felt"][part, 1, 2].max())


def checks(phases: list[Phase], log: Log, story: Story) -> list[results.Check]:
    """Those of leaning only where the run came that far."""
    failures = sum(phase.solver_failures for phase in phases)
    error = max(phase.com_error for phase in phases)
    found = [
        results.at_most("error of the center of mass", 1e3 * error, 1e3 * MAX_COM_ERROR, " mm"),
        results.at_most("turn of the pelvis", max(p.turn for p in phases), MAX_TURN, " rad"),
        results.at_most("ticks without a solution", failures, 0),
        results.at_most("soles that hold slip by", 1e3 * slip(log), 1e3 * MAX_SLIP, " mm"),
    ]
    if log["time"][-1] < PHASES["come back"]:
        return found
    beyond, pressing, touching = leaning(log, story)
    return [
        *found,
        results.at_least(
            "on hand and foot, center of mass beyond the toes", 1e3 * beyond, 1e3 * LEANS, " mm"
        ),
        results.at_least("there, the hand presses with", pressing, PRESSES, " N"),
        results.at_most("and the foot in the air feels", touching, 0, " N"),
    ]


def run(args: argparse.Namespace) -> int:
    seconds = results.duration(args.seconds, SECONDS, 1.0)
    console = results.ready_console()
    console.print(
        f"talos, 36 degrees of freedom, soles of {200 * SOLE[0]:g} by {200 * SOLE[1]:g} cm; "
        f"one session of `wholebody`, {seconds:g} s"
    )
    with Bar(console, "simulating", round(seconds / PERIOD)) as bar:
        log, story = perform(seconds, bar.step)
    phases = judge(log)
    report(console, phases)
    console.print("pushes at the pelvis, each bisected until it falls")
    with Bar(console, "pushing", humanoid_pushes.STEPS) as bar:
        recovered = humanoid_pushes.search(bar.step)
    title = "Largest impulse that is recovered, N s"
    results.print_rows(console, title, humanoid_pushes.rows(recovered))
    pictures = [draw_story(log, story, args.plot), draw_pushes(recovered, args.plot)]
    written = {"phases": list(map(asdict, phases)), "pushes": list(map(asdict, recovered))}
    claims = checks(phases, log, story) + humanoid_pushes.checks(recovered)
    return results.conclude(console, args, written, pictures, claims)


def report(console: Console, phases: list[Phase]) -> None:
    rows = [
        {
            "phase": phase.name,
            "CoM, mm": f"{1e3 * phase.com_error:.1f}",
            "torque": f"{100 * phase.torque_share:.0f} %",
            "friction": f"{100 * phase.friction_share:.0f} %",
            "failed": str(phase.solver_failures),
            "p50, µs": f"{phase.compute_p50:.0f}",
            "p99": f"{phase.compute_p99:.0f}",
        }
        for phase in phases
    ]
    title = (
        "Largest error of the center of mass; torques and friction relative to their limits; ticks "
        "without a solution; time of a tick"
    )
    results.print_rows(console, title, rows)
