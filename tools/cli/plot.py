"""`torqued plot`: a recording as pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

from torqued.tools.cli.options import add_out_folder, add_session

HELP = "draw a recording"
EXAMPLE = "  torqued plot panda-20260102-030405.mcap --what tau,error,lateness --out pictures"

#: Drawn unless something else is asked for.
DEFAULT = "tau,error,storage,lateness"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="recording to draw")
    parser.add_argument(
        "--what",
        default=DEFAULT,
        metavar="A,B,…",
        help="arrays by name, `error` (q - q_ref), `lateness`, `compute`, `age`, `status` "
        f"(default: those recorded of {DEFAULT})",
    )
    add_session(parser)
    add_out_folder(parser)


def run(args: argparse.Namespace) -> int:
    from torqued.tools.recording.drawing import draw
    from torqued.tools.recording.recording import read_recording

    recording = read_recording(args.file)
    chosen = [recording.session(args.session)] if args.session else recording.sessions.values()
    wanted = [name for name in args.what.split(",") if name]
    args.out.mkdir(parents=True, exist_ok=True)
    for session in chosen:
        path = args.out / f"{args.file.stem}-{session.info.number}.png"
        draw(session, recording, wanted, path, strict=args.what != DEFAULT)
        print(f"wrote {path}")
    return 0
