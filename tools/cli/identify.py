"""`torqued identify`: payload, joint friction, rotor inertia and delay from a recording."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from torqued.tools.cli.options import add_session, as_json
from torqued.tools.cli.replay import add_other_robot, robot_of

if TYPE_CHECKING:
    from torqued.tools.recording.identification import Identified

HELP = "estimate payload, joint friction, rotor inertia and delay from a recording"
EXAMPLE = """  torqued identify panda-20260102-030405.mcap --frame panda_hand --out payload.toml
  torqued identify loaded.mcap --unloaded empty.mcap --frame panda_hand"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="recording of a motion without contact")
    parser.add_argument("--frame", required=True, help="frame that carries the payload")
    add_session(parser, "required if the recording has several")
    text = "recording of one session without the payload: errors of the links cancel"
    parser.add_argument("--unloaded", type=Path, metavar="FILE", help=text)
    add_other_robot(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="output file for the TOML tables (default: standard output)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="output file for all results")


def run(args: argparse.Namespace) -> int:
    from torqued.tools.recording.recording import read_recording

    recording = read_recording(args.file)
    from torqued.tools.recording.identification import identify
    from torqued.tools.recording.samples import samples_of

    robot = robot_of(args, recording)
    samples = samples_of(recording.session(args.session), robot)
    unloaded = args.unloaded and samples_of(read_recording(args.unloaded).session(None), robot)
    found = identify(samples, robot, args.frame, unloaded)
    show(found)
    if args.json:
        args.json.write_text(as_json(vars(found), 2) + "\n", encoding="utf-8")
    text = toml(found)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
        print(f"wrote {args.out}")
    else:
        print(f"\n{text}", end="")
    return 1 if found.unclear else 0


def show(found: Identified) -> None:
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


def toml(found: Identified) -> str:
    """The tables for a configuration."""
    from torqued.tools.recording.pseudo_inertia import as_load

    mass, center, inertia = as_load(found.p)

    def listed(values: object) -> str:
        return "[" + ", ".join(f"{x:.6g}" for x in values) + "]"  # type: ignore[attr-defined]

    def by_joint(values: object) -> str:
        pairs = zip(found.joints, values, strict=True)  # type: ignore[call-overload]
        return "{ " + ", ".join(f'"{joint}" = {x:.6g}' for joint, x in pairs) + " }"

    return (
        "[robot.payload]\n"
        f'frame = "{found.frame}"\n'
        f"mass = {mass:.6g}\n"
        f"center = {listed(center)}\n"
        f"inertia = {listed(inertia)}\n"
        "\n[robot.friction]\n"
        f"viscous = {by_joint(found.viscous)}\n"
        f"coulomb = {by_joint(found.coulomb)}\n"
        "\n[robot.armature]\n"
        + "".join(
            f'"{joint}" = {x:.6g}\n'
            for joint, x in zip(found.joints, found.rotor_known, strict=True)
            if x > 0.0
        )
    )
