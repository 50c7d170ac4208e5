"""`torqued identify`: payload or all links, joint friction, rotors and delay from recordings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from torqued.tools.cli.options import add_session, as_json, output_file, table
from torqued.tools.cli.replay import add_other_robot, robot_of

if TYPE_CHECKING:
    from torqued.tools.recording.arm import Arm
    from torqued.tools.recording.identification import Identified, Losses

HELP = "estimate payload or links, joint friction, rotor inertia and delay from recordings"
EXAMPLE = """  torqued identify panda-20260102-030405.mcap --frame panda_hand --out payload.toml
  torqued identify loaded.mcap --unloaded empty.mcap --frame panda_hand
  torqued identify motion1.mcap motion2.mcap --arm --out arm.toml"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "recording of a motion without contact; with --arm also several of the same robot"
    parser.add_argument("file", type=Path, nargs="+", help=text)
    sought = parser.add_mutually_exclusive_group(required=True)
    sought.add_argument("--frame", help="frame that carries the payload")
    sought.add_argument("--arm", action="store_true", help="estimate all links of the arm")
    add_session(parser, "required if the recording has several")
    text = "recording of one session without the payload: errors of the links cancel"
    parser.add_argument("--unloaded", type=Path, metavar="FILE", help=text)
    add_other_robot(parser)
    parser.add_argument(
        "--out",
        type=output_file,
        metavar="FILE",
        help="output file for the TOML tables (default: standard output)",
    )
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="output file for all results"
    )


def run(args: argparse.Namespace) -> int:
    from torqued.common.errors import InputError
    from torqued.tools.recording.recording import RecordingError, read_recording

    recordings = [read_recording(file) for file in args.file]
    from torqued.tools.recording.arm import identify_arm
    from torqued.tools.recording.identification import identify
    from torqued.tools.recording.samples import samples_of

    first = recordings[0]
    robot = robot_of(args, first)
    found: Identified | Arm
    if args.arm:
        if args.unloaded:
            raise InputError("--unloaded is for a payload, at --frame")
        for one in recordings[1:]:
            if (one.robot, one.robot_text) != (first.robot, first.robot_text):
                raise RecordingError(f"{one.path} is of another robot than {first.path}")
        sessions = [one.session(args.session) for one in recordings]
        samples = [samples_of(session, robot) for session in sessions]
        if any(load.values.any() for session in sessions for load in session.loads):
            raise RecordingError(
                "a session had a payload: record the arm without, or name it in the configuration"
            )
        bare = robot_of(args, first, without=("tool", "payload"))
        found = identify_arm(samples, robot, bare)
        show_arm(found)
    else:
        if len(recordings) > 1:
            raise InputError("--frame takes one recording; --arm takes several")
        unloaded = args.unloaded and samples_of(read_recording(args.unloaded).session(None), robot)
        session = first.session(args.session)
        found = identify(samples_of(session, robot), robot, args.frame, unloaded)
        show_payload(found)
    show_losses(found)
    if args.json:
        args.json.write_text(as_json(vars(found), 2) + "\n", encoding="utf-8")
    text = toml(found)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
        print(f"wrote {args.out}")
    else:
        print(f"\n{text}", end="")
    return 1 if found.unclear else 0


def show_arm(found: Arm) -> None:
    print(f"{found.samples} samples; base parameters of the arm, in axes of joints, z along them;")
    print("… stands for what links farther out add (kg m, kg m²):")
    rows = [["parameter", "file", "found", "error"]]
    values = (found.names, found.base_file, found.base, found.base_error)
    rows += [[name, *(f"{x:.4g}" for x in of)] for name, *of in zip(*values, strict=True)]
    print("\n".join(table(rows, words=1, indent="  ")))
    print("what these do not show of a link is as its file says")
    print("torques of the last quarter of each recording, from a fit to the rest (N m, RMS):")
    rows = [["joint", "torque", "file's error", "error"]]
    held = (found.joints, found.held_out, found.held_out_file, found.held_out_found)
    rows += [[name, *(f"{x:.3g}" for x in of)] for name, *of in zip(*held, strict=True)]
    print("\n".join(table(rows, words=1, indent="  ")))


def show_payload(found: Identified) -> None:
    import numpy as np

    from torqued.tools.recording.pseudo_inertia import NAMES, as_load

    mass, center, inertia = as_load(found.p)
    print(f"{found.samples} samples; payload at {found.frame!r}, in addition to the model:")
    print(f"  mass    {mass:.4g} ± {found.p_error[0]:.1g} kg")
    print(f"  center  {np.array2string(center, precision=4)} m, center of mass in the frame's axes")
    print(f"  inertia {np.array2string(inertia, precision=5)} kg m² about it: xx xy xz yy yz zz")
    errors = ", ".join(f"{name} {x:.1g}" for name, x in zip(NAMES, found.p_error, strict=True))
    print(
        "  standard errors at the frame's origin; they suppose exact links, except with --unloaded"
    )
    print(f"  (kg, kg m, kg m²): {errors}")
    if found.constrained:
        print("  the unconstrained estimate is not a possible body; this is the nearest one")


def show_losses(found: Losses) -> None:
    width = max(map(len, found.joints))
    print(f"  {'joint':<{width}}  viscous          Coulomb          rotor            residual, RMS")
    for k, joint in enumerate(found.joints):
        print(
            f"  {joint:<{width}}  {found.viscous[k]:7.4g} ± {found.viscous_error[k]:<6.1g} "
            f" {found.coulomb[k]:7.4g} ± {found.coulomb_error[k]:<6.1g} "
            f" {found.rotor[k]:7.4g} ± {found.rotor_error[k]:<6.1g} "
            f" {found.residual[k]:.3g} of {found.torque[k]:.3g}"
        )
    late = f"{1e3 * found.delay:.3g} ± {1e3 * found.delay_error:.1g} ms"
    print(
        f"  delay   {late} from a state to its torque: a session's `delay` should be at least that"
    )
    if found.unclear:
        print("  the motion does not distinguish:")
        for words in found.unclear:
            print(f"    {words}")


def toml(found: Identified | Arm) -> str:
    """The tables for a configuration."""
    from torqued.tools.recording.arm import Arm
    from torqued.tools.recording.pseudo_inertia import as_load

    def listed(values: object) -> str:
        return "[" + ", ".join(f"{x:.9g}" for x in values) + "]"  # type: ignore[attr-defined]

    def body(name: str, frame: str, mass: float, center: object, inertia: object) -> str:
        return (
            f'{name}\nframe = "{frame}"\nmass = {mass:.9g}\ncenter = {listed(center)}\n'
            f"inertia = {listed(inertia)}\n\n"
        )

    if isinstance(found, Arm):
        bodies = [body("[[robot.links]]", **link) for link in found.links]
    else:
        bodies = [body("[robot.payload]", found.frame, *as_load(found.p))]

    def by_joint(values: object) -> str:
        pairs = zip(found.joints, values, strict=True)  # type: ignore[call-overload]
        return "{ " + ", ".join(f'"{joint}" = {x:.6g}' for joint, x in pairs) + " }"

    return (
        "".join(bodies) + "[robot.friction]\n"
        f"viscous = {by_joint(found.viscous)}\n"
        f"coulomb = {by_joint(found.coulomb)}\n"
        "\n[robot.armature]\n"
        + "".join(
            f'"{joint}" = {x:.6g}\n'
            for joint, x in zip(found.joints, found.rotor_known, strict=True)
            if x > 0.0
        )
    )
