"""The demo without a name: a daemon, a simulated robot and a controller, in real time.

    robot (MuJoCo) ⇄ controller ⇄ daemon (1 kHz)           and requests beside, from this process

How fast the robot runs depends on the computer's cores (live_setup.py). What it prints is what
happened on this computer, with all that it had to do besides.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from torqued.client import Client
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import compile_all
from torqued.kernels.model import catalog
from torqued.kernels.model.description import Array
from torqued.server.kernels_needed import needed
from torqued.tools.cli.compile import compile_with_progress
from torqued.tools.cli.console import Bar, make_console
from torqued.tools.demos import results
from torqued.tools.demos.daemon import NAME, TOLERANT, Child, Demo, demo, wait_until
from torqued.tools.demos.live_controller import LAW, START
from torqued.tools.demos.live_setup import (
    NICENESS,
    PRIORITY,
    Pace,
    Setup,
    choose,
    pace,
    usable_cores,
)
from torqued.tools.demos.models import write_urdf

SECONDS = 8.0
#: Time to open a browser, and to look.
SECONDS_WITH_PAGE = 60.0
#: Shares of the run up to which it counts as one in real time: time that the robot had to wait,
#: and ticks that the loop left out.
MAX_WAIT, MAX_MISS = 0.01, 0.01
#: What counts as good tracking, rad: root mean square and largest of all joints.
MAX_RMS, MAX_ERROR = 0.005, 0.02


@dataclass(frozen=True)
class Outcome:
    """In SI units; times of the loop and of requests in µs."""

    robot: str
    plant: str
    cores: float
    robot_rate: float  # Hz, also the controller's
    realtime: str  # what the system granted the loop
    seconds: float
    rms_error: float
    max_error: float
    torque_share: float  # largest torque, relative to its limit
    torque_delay_p50: float
    torque_delay_p99: float
    steps: int  # of the robot
    held: int  # steps without a new torque
    halted: float  # s that the robot's clock stood still, for want of time
    lateness_p50: float
    lateness_p99: float
    ticks: int
    missed: int
    requests: int
    round_trip_p50: float
    round_trip_p99: float
    statuses: dict[str, int]
    finite: bool


def run(args: argparse.Namespace) -> int:
    console = make_console()
    if args.dash:
        import viser  # noqa: F401  (fails here, before anything is compiled)
    seconds = results.duration(args.seconds, SECONDS_WITH_PAGE if args.dash else SECONDS, 0.5)
    names = needed([LAW])  # the daemon's other kernels can follow while it runs
    compile_with_progress(console, lambda report: compile_all(report, names))
    setup = choose()
    simulator = "MuJoCo" if setup.plant == "mujoco" else "torqued's own forward dynamics"
    console.print(f"{setup.name}, simulated by {simulator}, for {seconds:g} s in real time")
    chosen = pace(usable_cores())
    console.print(f"{chosen}", markup=False)
    with demo() as place:
        outcome, log = perform(place, setup, chosen, seconds, console, args.dash)
    report(console, outcome)
    pictures = []
    if importlib.util.find_spec("matplotlib"):
        pictures = [draw(setup, log, args.plot)]
    else:
        advice = "pip install 'torqued[demo]'"
        console.print(f"no picture: matplotlib is not installed ({advice})", markup=False)
    return results.conclude(console, args, asdict(outcome), pictures, checks(outcome))


def perform(
    place: Demo,
    setup: Setup,
    pace: Pace,
    seconds: float,
    console: Console,
    page: str | None = None,
) -> tuple[Outcome, dict[str, Array]]:
    task: dict[str, Any] = {
        "urdf": str(write_urdf(setup.description, place.folder / "plant.urdf")),
        "plant": setup.plant,
        "seconds": seconds,
        "period": pace.period,
        "folder": str(place.folder),
        "endpoint": place.endpoint,
        "bus": f"ipc://{place.folder}/bus.sock",
        "q": setup.reference.center.tolist(),
        "amplitude": setup.reference.amplitude.tolist(),
        "frequency": setup.reference.frequency.tolist(),
    }
    here = "torqued.tools.demos"
    logged, counted = place.folder / "robot.npz", place.folder / "controller.json"
    robot, controller = (
        place.start(
            f"{here}.{module}", json.dumps(task | {"result": str(result)}), niceness=NICENESS
        )
        for module, result in (("live_robot", logged), ("live_controller", counted))
    )
    # Their start is work for all cores; the daemon's loop begins when that is done.
    for mark in ("robot_ready", "controller_ready"):
        wait_until((place.folder / mark).exists, f"no {mark}", [robot, controller])
    place.serve(setup.description, "fixed", f"{TOLERANT}priority = {PRIORITY}\n")
    client = place.client()
    if page:
        open_page(place, setup, page, console)
    (place.folder / START).touch()
    wait_until((place.folder / "robot_moves").exists, "no robot_moves", [robot, controller])
    before = client.stats().servo
    trips = watch(client, [robot, controller], pace.pause, seconds, console)
    robot.wait(5.0)
    controller.wait(5.0)
    end = client.stats()
    after = end.servo
    with np.load(logged) as file:
        log = dict(file)
    log["error"] = error = np.array([setup.reference(t)[0] for t in log["time"]]) - log["q"]
    limits = Robot.from_description(setup.description).limits.effort
    delay_p50, delay_p99 = np.percentile(log["delay"] * 1e6, (50, 99)).tolist()
    trip_p50, trip_p99 = np.percentile(trips, (50, 99)).tolist()
    outcome = Outcome(
        robot=setup.name,
        plant=setup.plant,
        cores=pace.cores,
        robot_rate=1.0 / pace.period,
        realtime=end.realtime["priority"],
        seconds=seconds,
        rms_error=float(np.sqrt(np.mean(error**2))),
        max_error=float(np.abs(error).max()),
        torque_share=float((np.abs(log["tau"]) / limits).max()),
        torque_delay_p50=delay_p50,
        torque_delay_p99=delay_p99,
        steps=len(log["time"]),
        held=int(log["held"]),
        halted=float(log["halted"]),
        lateness_p50=after["lateness"]["p50_us"],
        lateness_p99=after["lateness"]["p99_us"],
        ticks=after["tick"] - before["tick"],
        missed=after["missed"] - before["missed"],
        requests=len(trips),
        round_trip_p50=trip_p50,
        round_trip_p99=trip_p99,
        statuses=json.loads(counted.read_text()),
        finite=bool(all(np.isfinite(log[name]).all() for name in ("q", "v", "tau"))),
    )
    return outcome, log


def open_page(place: Demo, setup: Setup, listen: str, console: Console) -> None:
    """A page beside the demo, for as long as that runs."""
    arguments = ["dash", "--robot", NAME, "--folder", str(place.folder), "--listen", listen]
    if setup.name in catalog.urdf_files():
        arguments += ["--visuals", setup.name]
    child = place.start("torqued.tools.cli.main", *arguments, niceness=NICENESS)
    wait_until(lambda: "http" in child.log.read_text(), "the page has not started", [child])
    address = child.log.read_text().split()[-1]
    console.print(f"page: {address} (while the robot moves)", markup=False)


def watch(
    client: Client, children: list[Child], pause: float, seconds: float, console: Console
) -> list[float]:
    """Requests beside the loop until the robot has ended: round trips in µs."""
    hello = client.hello()
    trips: list[float] = []
    q, v = hello.neutral, np.full(hello.nv, 0.1)
    with Bar(console, "running, s", seconds) as bar:
        start = time.monotonic()
        while not trips or children[0].process.poll() is None:
            for child in children:
                child.require_running()
            begin = time.perf_counter_ns()
            client.dynamics(q, v, want=("M", "C", "g"))
            trips.append((time.perf_counter_ns() - begin) / 1e3)
            bar.reach(time.monotonic() - start)
            time.sleep(pause)
    return trips


def report(console: Console, outcome: Outcome) -> None:
    ticks = outcome.ticks + outcome.missed
    lines = {
        "tracking error": f"RMS {1e3 * outcome.rms_error:.2f} mrad, "
        f"largest {1e3 * outcome.max_error:.2f} mrad",
        "largest torque": f"{100 * outcome.torque_share:.0f} % of its limit",
        "state to torque": f"p50 {outcome.torque_delay_p50 / 1e3:.0f} ms, "
        f"p99 {outcome.torque_delay_p99 / 1e3:.0f} ms; in {outcome.held} of {outcome.steps} steps "
        "the robot kept the torque it had",
        "loop": f"{ticks} ticks, late by p50 {outcome.lateness_p50:.0f} µs, "
        f"p99 {outcome.lateness_p99:.0f} µs; realtime priority: {outcome.realtime}",
        "requests beside": f"M, C and g in p50 {outcome.round_trip_p50:.0f} µs, "
        f"p99 {outcome.round_trip_p99:.0f} µs; {outcome.requests} of them",
        "outputs": ", ".join(f"{count} {name}" for name, count in outcome.statuses.items()),
        "real time": real_time(outcome),
    }
    for name, what in lines.items():
        console.print(f"{name:<16} {what}", markup=False)


def real_time(outcome: Outcome) -> str:
    """In plain words, how well the computer kept up."""
    ticks = outcome.ticks + outcome.missed
    missed, waited = outcome.missed / max(1, ticks), outcome.halted / outcome.seconds
    found = (
        f"the loop left out {outcome.missed or 'none'} of {ticks} ticks; the simulated robot "
        f"waited for {1e3 * outcome.halted:.0f} ms of {outcome.seconds:g} s"
    )
    if missed <= MAX_MISS and waited <= MAX_WAIT:
        return f"kept: {found}"
    reason = "other programs had the processors meanwhile"
    if missed > MAX_MISS and not outcome.realtime.startswith("SCHED_FIFO"):
        reason += ", which realtime priority would prevent for the loop (docs/OPERATIONS.md)"
    return f"{found}: {reason}"


def checks(outcome: Outcome) -> list[results.Check]:
    fallback = outcome.statuses.get("FALLBACK", 0)
    return [
        results.at_most("RMS tracking error", outcome.rms_error, MAX_RMS, " rad"),
        results.at_most("largest tracking error", outcome.max_error, MAX_ERROR, " rad"),
        results.Check("all numbers are finite", str(outcome.finite), outcome.finite),
        results.at_most("outputs that were a fallback", fallback, 0),
    ]


def draw(setup: Setup, log: dict[str, Array], folder: Path) -> Path:
    from torqued.tools.demos import pictures

    figure = pictures.new_figure(9.0, 7.0)
    motion, error, torque = figure.subplots(3, 1, sharex=True)
    t, shown = log["time"], range(min(7, log["q"].shape[1]))
    for k in shown:
        colour = pictures.COLOURS[k]
        motion.plot(t, log["q"][:, k], color=colour, lw=1.4, label=f"joint {k + 1}")
        motion.plot(t, log["q"][:, k] + log["error"][:, k], color="black", lw=0.8, ls=":")
        error.plot(t, 1e3 * log["error"][:, k], color=colour, lw=1.0)
        torque.plot(t, log["tau"][:, k], color=colour, lw=1.0)
    pictures.plain(motion, f"{setup.name}: joints, and where they are to be (dotted)", y="rad")
    pictures.plain(error, "tracking error", y="mrad")
    pictures.plain(torque, "torque, as the robot got it", "s", "N m")
    figure.legend(*motion.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    return pictures.save(figure, folder, "live")
