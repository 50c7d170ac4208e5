"""Every law on a fast trajectory, and a load that the model has wrong by a fifth.

All laws get gains for the same two poles, so that what differs is what they know: `pd` gravity
only, the others all of the dynamics, `adaptive` also what it has learned. Each begins off its
reference, so that there is energy to account for.
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
from torqued.kernels.control.typical_inertia import typical_inertia
from torqued.kernels.model.description import Array
from torqued.tools.cli.console import Bar
from torqued.tools.demos import lockstep, pictures, results
from torqued.tools.demos.daemon import served
from torqued.tools.demos.lockstep import LAW_ALONE, PERIOD, SETTLING, Log, Loop, run_together
from torqued.tools.demos.models import PANDA_READY, panda, with_payload
from torqued.tools.demos.plant import Plant
from torqued.tools.demos.trajectories import Sines, panda_sines

SECONDS = 6.0
POLE = 9.0  # 1/s
#: rad, of each joint at the start.
OFFSET = 0.05
#: kg at the hand: what the daemon's model has, and what is really there in the second part.
MODELLED, TRUE = 2.0, 2.4
HELD_AT = np.array([0.0, 0.0, 0.12])  # m, in axes of panda_hand

LAWS = ("pd", "pd_plus", "computed_torque", "passivity", "adaptive")
#: Those that meet the wrong load.
LOADED = ("passivity", "adaptive")

#: Claims, with room to what is measured.
BEATS_PD = 20.0
ENERGY = 0.05
LEARNED = 0.25  # of the missing mass
GAIN = 2.0  # of adaptive over passivity, with the wrong load


@dataclass(frozen=True)
class Tracked:
    """One law: errors in rad after settling, energies in J."""

    law: str
    load: float  # kg at the hand
    rms_error: float
    max_error: float
    torque_share: float  # of the joint's limit
    energy_off: float
    energy_flowed: float
    learned: float  # kg
    statuses: int  # all status bits that occurred

    @property
    def energy_deviation(self) -> float:
        return abs(self.energy_off) / self.energy_flowed


def gains(law: str, inertia: Array) -> dict[str, Any]:
    """For a double pole at `POLE` of each joint by itself."""
    if law == "computed_torque":
        return {"stiffness": POLE**2, "damping": 2 * POLE}
    if law.startswith("pd"):
        return {"stiffness": POLE**2 * inertia, "damping": 2 * POLE * inertia}
    return {"bandwidth": POLE, "damping": POLE * inertia}


def references(motion: Sines, law: str, t: float) -> dict[str, Array]:
    q, v, a = motion(t)
    return {"q_ref": q, "v_ref": v} | ({} if law == "pd" else {"a_ref": a})


def loop(client: Client, law: str, load: float, motion: Sines, inertia: Array) -> Loop:
    plant = Plant(with_payload(panda(), "panda_hand", load, HELD_AT))
    plant.reset(motion.center + OFFSET, np.zeros(plant.robot.nv))
    frame = "payload" if law == "adaptive" else None
    session = client.session(law, gains=gains(law, inertia), frame=frame, **LAW_ALONE)
    return Loop(plant, session, partial(references, motion, law))


def perform(
    seconds: float, progress: Any = lambda: None, laws: tuple[str, ...] = LAWS
) -> dict[tuple[str, float], Log]:
    """Logs by law and load, with `error` (steps, nv) added."""
    model = with_payload(panda(), "panda_hand", MODELLED, HELD_AT)
    inertia = typical_inertia(Robot.from_description(model)).diagonal
    motion = panda_sines(PANDA_READY)
    cases = [(law, MODELLED) for law in laws] + [(law, TRUE) for law in LOADED]
    with served(model) as client:
        loops = [loop(client, law, load, motion, inertia) for law, load in cases]
        logs = run_together(loops, seconds, progress)
    for log in logs:
        log["error"] = log["q"] - np.array([motion(t)[0] for t in log["time"]])
    return dict(zip(cases, logs, strict=True))


def judge(law: str, load: float, log: Log) -> Tracked:
    off, flowed = lockstep.energy_balance(log)
    learned = float(log["load"][-1, 0]) if "load" in log else 0.0
    tracked = lockstep.tracking(log, Robot.from_description(panda()).limits.effort)
    return Tracked(law, load, energy_off=off, energy_flowed=flowed, learned=learned, **tracked)


def checks(found: dict[tuple[str, float], Tracked]) -> list[results.Check]:
    exact = {law: found[law, load] for law, load in found if load == MODELLED}
    wrong = {law: found[law, load] for law, load in found if load == TRUE}
    worst = max(exact.values(), key=lambda item: item.energy_deviation)
    share = wrong["adaptive"].learned / (TRUE - MODELLED)
    better = exact["pd"].rms_error / exact["passivity"].rms_error
    adapted = wrong["passivity"].rms_error / wrong["adaptive"].rms_error
    return [
        results.at_least("RMS error of pd / of passivity", better, BEATS_PD),
        results.at_most(
            f"account of energy, relative to what flowed, worst law ({worst.law})",
            worst.energy_deviation,
            ENERGY,
        ),
        results.at_most(
            "wrong load: learned mass off, of what was missing", abs(share - 1), LEARNED
        ),
        results.at_least("wrong load: RMS error of passivity / of adaptive", adapted, GAIN),
        results.at_most("status bits of all outputs", max(t.statuses for t in found.values()), 0),
    ]


def run(args: argparse.Namespace) -> int:
    seconds = results.duration(args.seconds, SECONDS, 1.0)
    console = results.ready_console()
    console.print(
        f"panda with {MODELLED:g} kg at its hand, {seconds:g} s; poles at {POLE:g} 1/s; "
        f"starts {OFFSET:g} rad off; errors are those after {SETTLING * seconds:.1f} s"
    )
    with Bar(console, "simulating", round(seconds / PERIOD)) as bar:
        logs = perform(seconds, bar.step)
    found = {case: judge(*case, log) for case, log in logs.items()}
    title = "Errors in mrad; energy that flowed, and how far its account is off"
    results.print_rows(console, title, [row(item) for item in found.values()])
    written = [asdict(item) for item in found.values()]
    return results.conclude(console, args, written, [draw(logs, args.plot)], checks(found))


def row(item: Tracked) -> dict[str, str]:
    exact = item.load == MODELLED
    return {
        "law": item.law,
        "kg": f"{item.load:g}",
        "RMS": f"{1e3 * item.rms_error:.2f}",
        "max": f"{1e3 * item.max_error:.2f}",
        "torque": f"{100 * item.torque_share:.0f} %",
        "flow, J": f"{item.energy_flowed:.3g}" if exact else "",
        "off": f"{100 * item.energy_deviation:.2f} %" if exact else "",
        "learned": f"{item.learned:+.3f}" if item.law == "adaptive" else "",
    }


def draw(logs: dict[tuple[str, float], Log], folder: Path) -> Path:
    figure = pictures.new_figure(9.0, 8.0)
    exact, wrong, mass = figure.subplots(3, 1, sharex=True, height_ratios=(1.3, 1.0, 0.8))
    colours = dict(zip(LAWS, pictures.COLOURS, strict=False))
    for (law, load), log in logs.items():
        pictures.draw_error(exact if load == MODELLED else wrong, log, colours[law], law)
    truth = TRUE - MODELLED
    log = logs["adaptive", TRUE]
    mass.plot(log["time"], log["load"][:, 0], color=colours["adaptive"], lw=1.5, label="learned")
    mass.axhline(truth, color=pictures.GREY, ls="--", lw=1.0, label="truth")
    pictures.plain(exact, "RMS error of seven joints, the model is right", "", "mrad", legend=5)
    loads = f"the hand carries {TRUE:g} kg, the model has {MODELLED:g} kg"
    pictures.plain(wrong, loads, "", "mrad", legend=5)
    pictures.plain(mass, "mass that the model lacks, as `adaptive` sees it", "s", "kg", legend=5)
    exact.set_ylim(top=1e3)
    wrong.set_ylim(top=3e2)
    mass.set_ylim(-0.5 * truth, 1.6 * truth)
    return pictures.save(figure, folder, "tracking")
