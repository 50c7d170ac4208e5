"""`torqued replay`: run a recording through the current laws."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from torqued.tools.cli.options import add_session

if TYPE_CHECKING:
    from torqued.kernels import Robot
    from torqued.tools.recording.recording import Recording
    from torqued.tools.recording.replay import Replay

HELP = "run a recording through the current laws and report differences"
EXAMPLE = """  torqued replay panda-20260102-030405.mcap
  torqued replay walk.mcap --solver"""

#: Failed ticks of a solver that are shown.
MAX_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="recording to replay")
    add_session(parser)
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-9,
        metavar="T",
        help="largest accepted |difference| / (1 + |recorded|) (default: 1e-9; 0: every bit)",
    )
    add_other_robot(parser)
    parser.add_argument(
        "--solver",
        action="store_true",
        help="show the rows of failed ticks that contradict each other",
    )


def run(args: argparse.Namespace) -> int:
    from torqued.common.errors import InputError
    from torqued.tools.recording.recording import read_recording
    from torqued.tools.recording.replay import replay

    if not args.tolerance >= 0.0:
        raise InputError(f"--tolerance is {args.tolerance}, expected zero or a positive number")
    recording = read_recording(args.file)
    robot = robot_of(args, recording)
    chosen = [recording.session(args.session)] if args.session else recording.sessions.values()
    same = True
    for session in chosen:
        period = float(recording.directory["period"])
        result = replay(session, robot, period, args.tolerance, args.solver)
        show(result)
        same = same and result.same
    if not recording.sessions:
        print("the recording has no sessions")
    return 0 if same else 1


def add_other_robot(parser: argparse.ArgumentParser) -> None:
    robot = parser.add_mutually_exclusive_group()
    robot.add_argument("--robot", metavar="NAME", help="robot to use instead of the recorded one")
    robot.add_argument("--config", metavar="FILE", type=Path, help="configuration of that robot")


def robot_of(
    args: argparse.Namespace, recording: Recording, without: Collection[str] = ()
) -> Robot:
    """The robot that is named, or the recorded one, without some keys of its configuration."""
    from torqued.kernels import Robot
    from torqued.kernels.model.catalog import usual_locked
    from torqued.server.config import RobotConfig, load_config
    from torqued.tools.recording.robots import recorded_robot

    if args.config:
        robot = load_config(args.config, {}).robot
        return RobotConfig(robot.options | dict.fromkeys(without)).load()
    if not args.robot:
        return recorded_robot(recording, without)
    # A daemon may have had the gripper's joints free.
    moving = any(joint in recording.robot["joints"] for joint in usual_locked(args.robot))
    return Robot.named(args.robot, locked=() if moving else None)


def show(result: Replay) -> None:
    from torqued.common.status import status_names

    info = result.session.info
    print(
        f"session {info.number}, {info.law}: {result.compared} ticks compared, "
        f"{result.skipped} skipped"
    )
    for note in result.notes:
        print(f"  {note}")
    width = max(len(item.name) for item in result.differences)
    for item in result.differences:
        if not item.bits:
            said = "identical to the last bit"
        else:
            said = f"largest difference {item.largest:.3g} {item.unit} in tick {item.at}"
            if item.name == "status":
                said = f"different bits ({', '.join(status_names(int(item.largest)))})"
            said += f", {item.bits} ticks differ"
            said += f", first beyond the tolerance: {item.first}" if item.first >= 0 else ""
        print(f"  {item.name:<{width}}  {said}")
    for failed in result.contradictions[:MAX_SHOWN]:
        print(
            f"  tick {failed.index}: {failed.violated} could not be met, "
            f"after {failed.iterations} iterations"
        )
        for row in failed.rows:
            print(f"    {row}")
    left = len(result.contradictions) - MAX_SHOWN
    if left > 0:
        print(f"  and {left} more failed ticks")
