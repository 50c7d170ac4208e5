"""Pushes found, and the pushed link named, from positions, velocities and torques alone.

The arm moves slowly under `passivity` while its links are pushed one after the other; velocities
are measured with noise. Beside it, untouched arms run under the same observer: whatever
they report is a false alarm.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from torqued.client import Client
from torqued.kernels.model.description import Array
from torqued.tools.cli.console import Bar
from torqued.tools.demos import pictures, results
from torqued.tools.demos.daemon import served
from torqued.tools.demos.lockstep import LAW_ALONE, PERIOD, Log, Loop, run_together
from torqued.tools.demos.models import PANDA_READY, panda
from torqued.tools.demos.plant import Plant, Push
from torqued.tools.demos.trajectories import Sines

SECONDS = 8.0
NOISE = 1e-3  # rad/s, standard deviation of measured velocities
GAIN = 25.0  # 1/s, of the observer
#: N m, of joints 1 to 4 and of the wrist: eight times what noise makes of them, and more.
THRESHOLD = np.array([0.5] * 4 + [0.15] * 3)
#: How long a push lasts and when the next one begins, s; the first begins after a pause.
LASTS, EVERY, PAUSE = 0.3, 0.6, 0.5
#: m from the joint's axis: about the radius of the arm's shell.
LEVER = 0.06
WEAKEST, STRONGEST = 10.0, 40.0  # N
#: Untouched arms.
QUIET = 4

SLOWLY = Sines(
    PANDA_READY,
    np.array([0.3, 0.2, 0.3, 0.2, 0.4, 0.3, 0.4]),
    np.array([0.12, 0.15, 0.10, 0.17, 0.20, 0.13, 0.18]),
)

#: Claims.
MAX_DELAY = 0.1  # s
NAMED = 1.0  # of all pushes


@dataclass(frozen=True)
class Planned:
    """A push at the shell of link k, about across to its joint's axis."""

    start: float
    link: int  # 1 … 7
    push: Push

    def active(self, t: float) -> bool:
        return self.start <= t + 1e-9 < self.start + LASTS


@dataclass(frozen=True)
class Felt:
    """What became of a push."""

    start: float
    link: int
    force: float  # N
    delay: float  # s until it was reported; infinite where it was not
    named: int  # the link that was named most of the time, 0 for none
    ended: bool  # the report ended before the next push


def plan(seconds: float, seed: int = 1) -> list[Planned]:
    """As many as fit; links in turn, random strength, place and direction.

    A force through a joint's axis moves nothing there, and no observer can see it in that joint:
    directions are within 30° of the one that the joint feels most.
    """
    rng = np.random.default_rng(seed)
    pushes: list[Planned] = []
    start = PAUSE
    while start + EVERY <= seconds:
        link = 2 + len(pushes) % 6
        around, tilt = rng.uniform(0, 2 * np.pi), rng.uniform(-np.pi / 6, np.pi / 6)
        outward = np.array([np.cos(around), np.sin(around), 0.0])
        across = np.cross([0.0, 0.0, 1.0], outward)
        direction = np.cos(tilt) * across + np.sin(tilt) * np.array([0.0, 0.0, 1.0])
        force = rng.uniform(WEAKEST, STRONGEST)
        pushes.append(
            Planned(start, link, Push(f"panda_link{link}", force * direction, LEVER * outward))
        )
        start += EVERY
    return pushes


def push_now(pushes: list[Planned], plant: Plant, t: float) -> None:
    """Directions are those of the link's axes at that time."""
    plant.pushes = []
    for planned in pushes:
        if planned.active(t):
            link = planned.push.link
            turn = plant.data.xmat[plant.body(link)].reshape(3, 3)
            plant.pushes.append(Push(link, turn @ planned.push.force, planned.push.at))


def references(t: float) -> dict[str, Array]:
    q, v, a = SLOWLY(t)
    return {"q_ref": q, "v_ref": v, "a_ref": a}


def loop(client: Client, pushes: list[Planned], seed: int) -> Loop:
    plant = Plant(panda())
    plant.reset(PANDA_READY, np.zeros(plant.robot.nv))
    observer = {"gain": GAIN, "threshold": THRESHOLD}
    # Stiff enough that no link turns away from under the push.
    stiff = {"bandwidth": 40.0, "damping_rate": 120.0}
    session = client.session("passivity", observer=observer, gains=stiff, **LAW_ALONE)
    events = partial(push_now, pushes)
    return Loop(plant, session, references, events, noise=NOISE, seed=seed)


def perform(
    seconds: float, progress: Any = lambda: None, quiet: int = QUIET
) -> tuple[list[Planned], list[Log]]:
    """The plan, and the logs of the pushed arm and of the quiet ones."""
    pushes = plan(seconds)
    with served(panda()) as client:
        loops = [loop(client, pushes, 0)]
        loops += [loop(client, [], 1 + k) for k in range(quiet)]
        return pushes, run_together(loops, seconds, progress)


def judge(planned: Planned, log: Log) -> Felt:
    t = log["time"]
    mine = (t >= planned.start - 1e-9) & (t < planned.start + EVERY - 1e-9)
    reported = mine & (log["contact"] == 1.0)
    delay = float(t[reported][0] - planned.start) if reported.any() else np.inf
    during = reported & (t < planned.start + LASTS)
    named = 0
    if during.any():
        links, counts = np.unique(log["link"][during], return_counts=True)
        named = 1 + int(links[np.argmax(counts)])
    force = float(np.linalg.norm(planned.push.force))
    return Felt(planned.start, planned.link, force, delay, named, not log["contact"][mine][-1])


def false_alarms(log: Log) -> int:
    """How often a contact began."""
    return int((np.diff(log["contact"], prepend=0.0) == 1.0).sum())


def checks(felt: list[Felt], alarms: int) -> list[results.Check]:
    right = sum(item.named == item.link for item in felt) / len(felt)
    return [
        results.at_most("longest delay of detection", max(f.delay for f in felt), MAX_DELAY, " s"),
        results.at_least("share of pushes whose link was named", right, NAMED),
        results.Check(
            "every report ends before the next push",
            f"{sum(item.ended for item in felt)} of {len(felt)}",
            all(item.ended for item in felt),
        ),
        results.at_most("false alarms of untouched arms", alarms, 0),
    ]


def run(args: argparse.Namespace) -> int:
    seconds = results.duration(args.seconds, SECONDS, PAUSE + EVERY)
    console = results.ready_console()
    console.print(
        f"panda, slowly moving for {seconds:g} s; velocities with {1e3 * NOISE:g} mrad/s of noise; "
        f"thresholds {THRESHOLD[0]:g} N m (joints 1 to 4) and {THRESHOLD[-1]:g} N m (wrist), "
        f"observer {GAIN:g} 1/s"
    )
    with Bar(console, "simulating", round(seconds / PERIOD)) as bar:
        pushes, logs = perform(seconds, bar.step)
    felt = [judge(planned, logs[0]) for planned in pushes]
    alarms = sum(false_alarms(log) for log in logs[1:])
    results.print_rows(console, "Pushes", [row(item) for item in felt])
    untouched = np.abs(np.concatenate([log["external"] for log in logs[1:]])).max(axis=0)
    console.print(
        f"{QUIET} untouched arms, {QUIET * seconds:g} s in all: {alarms} alarms; "
        f"largest residual {np.array2string(untouched, precision=2)} N m"
    )
    written = {
        "pushes": [asdict(item) for item in felt],
        "false_alarms": alarms,
        "quiet": untouched,
    }
    pictures = [draw(pushes, felt, logs, args.plot)]
    return results.conclude(console, args, written, pictures, checks(felt, alarms))


def row(item: Felt) -> dict[str, str]:
    return {
        "at, s": f"{item.start:.1f}",
        "link": str(item.link),
        "force, N": f"{item.force:.1f}",
        "found after, ms": f"{1e3 * item.delay:.0f}",
        "named": f"{item.named}" + ("" if item.named == item.link else "  wrong"),
    }


def draw(pushes: list[Planned], felt: list[Felt], logs: list[Log], folder: Path) -> Path:
    figure = pictures.new_figure(9.0, 7.2)
    arm, wrist, link = figure.subplots(3, 1, sharex=True, height_ratios=(1.2, 1.0, 1.0))
    log, t = logs[0], logs[0]["time"]
    for k in range(7):
        look = {"color": pictures.COLOURS[k], "lw": 1.2, "label": f"joint {k + 1}"}
        (arm if k < 4 else wrist).plot(t, log["external"][:, k], **look)
    for axes, level in ((arm, THRESHOLD[0]), (wrist, THRESHOLD[-1])):
        axes.axhspan(-level, level, color=pictures.GREY, alpha=0.15, lw=0)
    for axes in (arm, wrist, link):
        for planned in pushes:
            ends = (planned.start, planned.start + LASTS)
            axes.axvspan(*ends, color=pictures.YELLOW, alpha=0.3, lw=0)
    named = np.where(log["contact"] == 1.0, log["link"] + 1.0, np.nan)
    link.plot(t, named, ".", ms=2.5, color=pictures.BLUE, label="link named by the observer")
    for planned, item in zip(pushes, felt, strict=True):
        ends = (planned.start, planned.start + LASTS)
        label = "link that is pushed" if planned is pushes[0] else None
        link.plot(ends, [planned.link] * 2, color=pictures.VERMILION, lw=5, alpha=0.4, label=label)
        link.text(planned.start, planned.link + 0.3, f"{item.force:.0f} N", fontsize=7)
    title = "external torque seen by the observer (grey: below threshold)"
    pictures.plain(arm, title, "", "N m", legend=4)
    pictures.plain(wrist, "the same, wrist", "", "N m", legend=4)
    pictures.plain(link, "pushed while yellow, and which link", "s", "link", legend=4)
    link.set_ylim(0.5, 9.5)
    arm.set_ylim(top=1.5 * arm.get_ylim()[1])
    wrist.set_ylim(top=1.3 * wrist.get_ylim()[1])
    link.set_yticks(range(1, 8))
    return pictures.save(figure, folder, "push")
