"""`torqued excite`: a motion from which `torqued identify` can tell parameters apart."""

from __future__ import annotations

import argparse

from torqued.tools.cli.options import add_robot, output_file, robot_settings, table

HELP = "design a motion for `torqued identify` within the limits of a robot"
#: s: a longer motion tells no more, and takes memory.
LONGEST = 600.0
EXAMPLE = "  torqued excite --robot panda --span 0.6 --out motion.npz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("--seconds", type=float, default=10.0, help="period (default: 10 s)")
    text = "largest distance of a joint from its start (default: 0.8 rad or m)"
    parser.add_argument("--span", type=float, default=0.8, help=text)
    text = "share of speed and effort limits to use (default: 0.5)"
    parser.add_argument("--share", type=float, default=0.5, help=text)
    text = "position of each joint at the start (default: middle of its limits)"
    parser.add_argument("--start", type=float, nargs="+", metavar="Q", help=text)
    parser.add_argument(
        "--out", type=output_file, required=True, metavar="FILE", help="output file, .npz"
    )


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from torqued.common.errors import InputError
    from torqued.server.config import load_config
    from torqued.tools.recording.excitation import excitation, least_clearance

    config = load_config(args.config, robot_settings(args))
    robot = config.robot.load()
    if not 0.0 < args.seconds <= LONGEST:
        raise InputError(f"--seconds is {args.seconds:g}, expected 0 … {LONGEST:g} s")
    if not (args.span > 0.0 and 0.0 < args.share <= 1.0):
        raise InputError("expected --span above 0, and --share in 0 … 1")
    found = excitation(robot, args.start, args.seconds, args.span, args.share, config.rate)
    np.savez(args.out, **found)  # type: ignore[arg-type]
    rows = [["joint", "from", "to", "speed", "effort"]]
    values = (found["q"].min(axis=0), found["q"].max(axis=0), found["speed"], found["effort"])
    for joint, low, high, *used in zip(robot.joint_names, *values, strict=True):
        rows.append([joint, f"{low:.3f}", f"{high:.3f}", *(f"{x:.0%} of limit" for x in used)])
    print("\n".join(table(rows, words=1)))
    print(f"condition number {found['condition']:.3g}; wrote {args.out}")
    if robot.model.capsules:
        clear = min(least_clearance(robot, q) for q in found["q"])
        print(f"capsules stay {clear:.3g} m apart; surroundings were not checked")
    else:
        print("neither self-collision nor surroundings were checked: look at the motion first")
    return 0
