"""Springs between motors and links: what `elastic` makes of them, and what `passivity` does.

The Panda's joints get springs as soft as those of a Baxter, on which its own weight winds them up
by up to five degrees. `passivity` knows nothing of springs. It is given the motors' encoders, as on
most arms, with rotor inertias in its model and references of motors that hold the weight at rest;
and the links' encoders. `elastic` measures both, and is also tried with what it does not know:
stiffness that is wrong, torques that come late, noise.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from torqued.client import Client
from torqued.kernels import Robot
from torqued.kernels.control.springs import Springs
from torqued.kernels.model.description import Array, Description
from torqued.tools.cli.console import Bar
from torqued.tools.demos import lockstep, pictures, results
from torqued.tools.demos.daemon import served
from torqued.tools.demos.elastic_plant import ElasticPlant
from torqued.tools.demos.lockstep import LAW_ALONE, PERIOD, SETTLING, Log, Loop, run_together
from torqued.tools.demos.models import PANDA_READY, panda
from torqued.tools.demos.trajectories import SmoothSines, panda_sines

SECONDS = 6.0
#: N m/rad of shoulder and elbow, of the wrist; kg m² of rotors behind their gears.
STIFFNESS = np.array([843.0] * 4 + [250.0] * 3)
MOTOR_INERTIA = np.array([0.3] * 4 + [0.05] * 3)
#: N m/s that no torque here reaches.
FREE_RATE = 1e5
#: rad, of each joint at the start.
OFFSET = 0.02
#: rad and rad/s, standard deviations of what is measured.
NOISE = (1e-5, 1e-3)

RATES = ("q_ref", "v_ref", "a_ref", "jerk_ref", "snap_ref")

#: Claims, with room to what is measured.
BEATS_PASSIVITY = 20.0
ENERGY = 0.05
DISTURBED = 0.01  # rad, RMS, of each disturbed run
#: rad, RMS of an arm that keeps turning.
LOST = 3.0


@dataclass(frozen=True)
class Case:
    """One run."""

    name: str
    law: str = "elastic"
    encoders: str = "both"  # of `links`, of `motors`
    stiffness: float = 1.0  # in the law's model, of the true one
    delay: int = 0  # ms
    noise: bool = False


EXACT = Case("elastic")
ON_MOTORS = Case("passivity, motors' encoders", "passivity", "motors")
ON_LINKS = Case("passivity, links' encoders", "passivity", "links")
DISTURBANCES = (
    Case("stiffness 10 % too low", stiffness=0.9),
    Case("stiffness 10 % too high", stiffness=1.1),
    Case("1 ms late", delay=1),
    Case("2 ms late", delay=2),
    Case("noise", noise=True),
    Case("all of it", stiffness=0.9, delay=2, noise=True),
)
CASES = (EXACT, ON_MOTORS, ON_LINKS, *DISTURBANCES)


@dataclass(frozen=True)
class Tracked:
    """Errors of links in rad after settling."""

    name: str
    rms_error: float
    max_error: float
    torque_share: float  # of the joint's limit
    energy_deviation: float
    statuses: int  # all status bits that occurred


def with_rotors(description: Description, inertia: Array) -> Description:
    """Rotor inertias for a law that ignores springs."""
    moving = iter(inertia)
    joints = tuple(
        joint if joint.type == "fixed" else replace(joint, armature=float(next(moving)))
        for joint in description.joints
    )
    return replace(description, joints=joints)


def reference(case: Case, robot: Robot, motion: SmoothSines, t: float) -> dict[str, Array]:
    """References of a case's law at a time."""
    wanted = list(motion.rates(t))
    if case.encoders == "motors":  # where they hold the weight of links at their reference
        wanted[0] = wanted[0] + robot.gravity(wanted[0]) / STIFFNESS
    count = 5 if case.law == "elastic" else 3
    return dict(zip(RATES[:count], wanted, strict=False))


def measure(case: Case, plant: ElasticPlant, random: np.random.Generator) -> lockstep.Measured:
    """The robot's state for a case's law."""
    place, speed = NOISE if case.noise else (0.0, 0.0)

    def noisy(x: Array, size: float) -> Array:
        return x + size * random.normal(size=len(x))

    links = noisy(plant.q, place), noisy(plant.v, speed)
    motors = noisy(plant.motor_q, place), noisy(plant.motor_v, speed)
    if case.encoders == "motors":
        return *motors, {}
    others = {"motor_q": motors[0], "motor_v": motors[1]}
    return *links, others if case.law == "elastic" else {}


def loop(client: Client, case: Case, motion: SmoothSines) -> Loop:
    plant = ElasticPlant(panda(), Springs(STIFFNESS, MOTOR_INERTIA, np.zeros(len(STIFFNESS))))
    plant.reset(motion.center + OFFSET, np.zeros(plant.robot.nv))
    # It starts beside its reference; what the bound of rates would make of that depends on how
    # many ticks of the loop a step takes.
    options: dict[str, Any] = {"rate_limit": np.full(plant.robot.nv, FREE_RATE)}
    if case.law == "elastic":
        stiffness = case.stiffness * STIFFNESS
        options["springs"] = {"stiffness": stiffness, "motor_inertia": MOTOR_INERTIA}
    session = client.session(case.law, **options, **LAW_ALONE)
    references = partial(reference, case, plant.robot, motion)
    return Loop(plant, session, references, sense=partial(measure, case), delay=case.delay)


def perform(
    seconds: float, progress: Any = lambda: None, cases: tuple[Case, ...] = CASES
) -> dict[str, Log]:
    """Logs by name, with `error` (steps, nv) of links added."""
    motion = SmoothSines(**vars(panda_sines(PANDA_READY)))
    rigid = with_rotors(panda(), MOTOR_INERTIA)
    with served(panda()) as client, served(rigid) as rigid_client:
        loops = [
            loop(rigid_client if case.law == "passivity" else client, case, motion)
            for case in cases
        ]
        logs = run_together(loops, seconds, progress)
    for log in logs:
        log["error"] = log["q"] - np.array([motion.rates(t)[0] for t in log["time"]])
    return {case.name: log for case, log in zip(cases, logs, strict=True)}


def judge(name: str, log: Log) -> Tracked:
    off, flowed = lockstep.energy_balance(log)
    tracked = lockstep.tracking(log, Robot.from_description(panda()).limits.effort)
    return Tracked(name, energy_deviation=abs(off) / flowed, **tracked)


def checks(found: dict[str, Tracked]) -> list[results.Check]:
    exact = found[EXACT.name]
    better = found[ON_MOTORS.name].rms_error / exact.rms_error
    disturbed = {case.name: found[case.name].rms_error for case in DISTURBANCES}
    return [
        results.at_least(
            "RMS error of passivity with motors' encoders / of elastic", better, BEATS_PASSIVITY
        ),
        results.at_most(
            "account of energy, relative to what flowed", exact.energy_deviation, ENERGY
        ),
        *(
            results.at_most(f"RMS error, {name}", 1e3 * error, 1e3 * DISTURBED, " mrad")
            for name, error in disturbed.items()
        ),
        results.at_most("status bits of elastic", exact.statuses, 0),
    ]


def run(args: argparse.Namespace) -> int:
    seconds = results.duration(args.seconds, SECONDS, 1.0)
    console = results.ready_console()
    console.print(
        f"panda with springs of {STIFFNESS[0]:g} and {STIFFNESS[-1]:g} N m/rad, {seconds:g} s; "
        f"default gains; starts {OFFSET:g} rad off; errors are those of links after "
        f"{SETTLING * seconds:.1f} s"
    )
    with Bar(console, "simulating", round(seconds / PERIOD)) as bar:
        logs = perform(seconds, bar.step)
    found = {name: judge(name, log) for name, log in logs.items()}
    results.print_rows(console, "Errors in mrad", [row(item) for item in found.values()])
    written = [asdict(item) for item in found.values()]
    return results.conclude(console, args, written, [draw(logs, args.plot)], checks(found))


def row(item: Tracked) -> dict[str, str]:
    return {
        "run": item.name,
        "RMS": f"{1e3 * item.rms_error:.3f}" if item.rms_error < LOST else "diverges",
        "max": f"{1e3 * item.max_error:.3f}" if item.rms_error < LOST else "",
        "torque": f"{100 * item.torque_share:.0f} %",
    }


def draw(logs: dict[str, Log], folder: Path) -> Path:
    figure = pictures.new_figure(9.0, 7.0)
    laws, disturbed = figure.subplots(2, 1, sharex=True)
    for axes, cases in ((laws, (EXACT, ON_MOTORS, ON_LINKS)), (disturbed, DISTURBANCES)):
        for case, colour in zip(cases, pictures.COLOURS, strict=False):
            if case.name in logs:
                pictures.draw_error(axes, logs[case.name], colour, case.name)
        axes.set_ylim(1e-3, 1e3)
    title = "RMS error of seven links, springs between them and motors"
    pictures.plain(laws, title, "", "mrad", legend=3)
    pictures.plain(disturbed, "elastic, with what it does not know", "s", "mrad", legend=3)
    return pictures.save(figure, folder, "elastic")
