"""`torqued bench ik`: inverse kinematics beside Pink and mink, on the same targets.

Poses are those of random configurations within limits, so that all of them can be reached. Each
contender begins in the middle of the limits and counts a target as reached when it is off by less
than `TOLERANCE`, m and rad. They take turns, target by target. Pink and mink are steps of
differential inverse kinematics, each of them a quadratic program: they step until they are there,
or `STEPS` times. What is not installed is left out, and said.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.benchmarks.command import write_json
from torqued.benchmarks.machine import this_machine
from torqued.benchmarks.sheet import Sheet
from torqued.kernels import Robot, Target

Array = NDArray[np.float64]

TOLERANCE = 1e-4

#: Most steps of a peer.
STEPS = 200

#: Robot → the frames that have targets.
FRAMES: dict[str, tuple[str, ...]] = {
    "panda": ("panda_hand",),
    "ur5": ("tool0",),
    "talos": ("left_sole_link", "right_sole_link", "gripper_left_base_link"),
}

#: Solves for poses by frame from a start: gives whether it says to be there, and q natively.
Solver = Callable[[dict[str, Array]], Array]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robots", nargs="+", choices=FRAMES, default=list(FRAMES))
    parser.add_argument("--poses", type=int, default=200, help="number of targets per robot")
    parser.add_argument("--seed", type=int, default=0, help="seed of the targets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    console, machine = Console(), this_machine()
    console.print(f"{machine}\n", markup=False)
    figures: dict[str, Any] = {}
    for name in args.robots:
        solvers, absent = contenders(name)
        for peer in absent:
            console.print(f"{peer} is not installed, and left out", markup=False)
        figures[name] = {"ik": measure(name, solvers, args.poses, args.seed)}
    rows = [
        (name, peer, f"{part[f'{peer}_us']:.0f}", f"{100.0 * part[f'{peer}_success']:.2f} %")
        for name, parts in figures.items()
        for part in parts.values()
        for peer in ("torqued", "torqued once", "pink", "mink")
        if f"{peer}_us" in part
    ]
    title = f"inverse kinematics, µs per target in the mean; {args.poses} targets of each robot"
    Sheet(title, ("", "", "µs", "reached"), rows, texts=2).print(console)
    if args.json:
        write_json(args.json, figures | {"machine": machine.to_json()})
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    return 0


def contenders(name: str) -> tuple[dict[str, Solver], list[str]]:
    """Solvers by name, and the names of those that are not installed."""
    robot = Robot.named(name, mimic="free", locked=())
    solvers = {"torqued": ours(robot, 50), "torqued once": ours(robot, 0)}
    absent = []
    for peer, make in (("pink", in_pink), ("mink", in_mink)):
        if importlib.util.find_spec(peer) and importlib.util.find_spec("qpsolvers"):
            solvers[peer] = make(robot, name)
        else:
            absent.append(peer)
    return solvers, absent


def middle(robot: Robot) -> Array:
    """Joints in the middle of their limits, where they have any."""
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, 0.5 * (lower + upper), robot.neutral())


def ours(robot: Robot, restarts: int) -> Solver:
    start = middle(robot)

    def solve(poses: dict[str, Array]) -> Array:
        targets = [Target(pose, frame) for frame, pose in poses.items()]
        found = robot.inverse_kinematics(targets, start, TOLERANCE, restarts=restarts)
        return found.q

    return solve


def in_pink(robot: Robot, name: str) -> Solver:
    import pink
    import pinocchio as pin

    from torqued.kernels.model.catalog import find_file

    base = [pin.JointModelFreeFlyer()] if robot.model.base == "floating" else []
    model = pin.buildModelFromUrdf(str(find_file(name)), *base)
    data, chart = model.createData(), robot.chart("pinocchio")
    start = chart.from_native(middle(robot))

    def solve(poses: dict[str, Array]) -> Array:
        place = pink.Configuration(model, data, start)
        tasks = []
        for frame, pose in poses.items():
            task = pink.tasks.FrameTask(frame, 1.0, 0.3, lm_damping=1e-3, gain=1.0)
            task.set_target(pin.SE3(pose))
            tasks.append(task)
        for _ in range(STEPS):
            if all(np.abs(task.compute_error(place)).max() < TOLERANCE for task in tasks):
                break
            v = pink.solve_ik(place, tasks, 1.0, solver="daqp", safety_break=False)
            place.integrate_inplace(v, 1.0)
        return chart.to_native(place.q)

    return solve


def in_mink(robot: Robot, name: str) -> Solver:
    import mink
    import mujoco

    model = mujoco_model(name, robot.model.base)
    chart = robot.chart("mujoco")
    start = chart.from_native(middle(robot))
    limits = [mink.ConfigurationLimit(model)]

    def solve(poses: dict[str, Array]) -> Array:
        place = mink.Configuration(model, start)
        tasks = []
        for frame, pose in poses.items():
            task = mink.FrameTask(frame, "body", 1.0, 0.3, lm_damping=1e-3, gain=1.0)
            task.set_target(mink.SE3.from_matrix(pose))
            tasks.append(task)
        for _ in range(STEPS):
            if all(np.abs(task.compute_error(place)).max() < TOLERANCE for task in tasks):
                break
            v = mink.solve_ik(place, tasks, 1.0, "daqp", limits=limits)
            place.integrate_inplace(v, 1.0)
        return chart.to_native(place.q)

    assert mujoco.mj_versionString()
    return solve


def mujoco_model(name: str, base: str) -> Any:
    """The robot as MuJoCo reads it: no meshes, all links kept."""
    from dataclasses import replace

    import mujoco

    from torqued.kernels import Joint, Link
    from torqued.kernels.formats.sources import read_file
    from torqued.kernels.formats.urdf_writer import to_urdf
    from torqued.kernels.model.catalog import find_file

    description = read_file(find_file(name))
    joints = tuple(replace(joint, mimic=None) for joint in description.joints)
    description = replace(description, joints=joints)
    if base == "floating":  # by a joint to what MuJoCo takes for the world
        children = {joint.child for joint in joints}
        root = next(link.name for link in description.links if link.name not in children)
        description = replace(
            description,
            links=(Link("world"), *description.links),
            joints=(Joint("world_joint", "floating", "world", root), *joints),
        )
    options = '<mujoco><compiler fusestatic="false" boundmass="1e-6" boundinertia="1e-9"/></mujoco>'
    text = to_urdf(description).replace("</robot>", f"{options}</robot>")
    return mujoco.MjModel.from_xml_string(text)


def measure(name: str, solvers: dict[str, Solver], poses: int, seed: int = 0) -> dict[str, float]:
    """Mean time in µs and share of targets that were reached, of each solver; they take turns."""
    robot, rng = Robot.named(name, mimic="free", locked=()), np.random.default_rng(seed)
    frames = FRAMES[name]
    times: dict[str, list[float]] = {peer: [] for peer in solvers}
    reached: dict[str, list[bool]] = {peer: [] for peer in solvers}
    for k in range(poses + 1):  # of which the first one only warms up
        q, _ = robot.random_state(rng)
        targets = {frame: robot.frame_pose(q, frame) for frame in frames}
        order: Sequence[str] = list(solvers) if k % 2 else list(solvers)[::-1]
        for peer in order:
            begin = time.thread_time_ns()
            found = solvers[peer](targets)
            took = (time.thread_time_ns() - begin) / 1e3
            if k:
                times[peer].append(took)
                reached[peer].append(is_there(robot, found, targets))
    figures = {}
    for peer in solvers:
        figures[f"{peer}_us"] = float(np.mean(times[peer]))
        figures[f"{peer}_p50_us"] = float(np.median(times[peer]))
        figures[f"{peer}_success"] = float(np.mean(reached[peer]))
    figures["us"] = figures["torqued_us"]
    peers = [figures[f"{peer}_us"] for peer in ("pink", "mink") if peer in solvers]
    if peers:
        figures["ratio"] = figures["us"] / min(peers)
    return figures


def is_there(robot: Robot, q: Array, targets: dict[str, Array]) -> bool:
    """By forward kinematics, and within limits."""
    inside = (q >= robot.limits.lower - 1e-6).all() and (q <= robot.limits.upper + 1e-6).all()
    off = max(
        float(np.abs(robot.frame_pose(q, frame) - pose).max()) for frame, pose in targets.items()
    )
    return bool(inside and off < 3.0 * TOLERANCE)
