"""`torqued dash`: a web page with the robot, its sessions and their plots."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.tools.cli.options import add_listen, add_observing, follow, host_and_port

if TYPE_CHECKING:
    from torqued.tools.viewers.dash import Dash

HELP = "show a daemon or a recording on a web page: robot in 3-D, sessions, plots"
EXAMPLE = "  torqued dash --robot panda\n  torqued dash recordings/panda-20260102-030405.mcap"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", type=Path, help="recording to show (default: a running daemon)"
    )
    add_observing(parser)
    parser.add_argument(
        "--visuals",
        metavar="ROBOT",
        help="shapes for a robot whose file has none: a URDF with the same link names, or a name "
        "from `torqued models`",
    )
    add_listen(parser, 8080)


def run(args: argparse.Namespace) -> int:
    import viser  # noqa: F401  (fails here, before anything is loaded)

    return show_recording(args) if args.file else show_daemon(args)


def show_daemon(args: argparse.Namespace) -> int:
    from torqued.tools.recording.robots import observed_robot

    following = follow(args)
    reader = following.reader
    dash = open_page(args, reader.name, observed_robot(reader), reader.robot_file(), reader.robot)
    following.stop_on_signals()
    try:
        dash.follow(following)
    finally:
        dash.close()
    return 0


def show_recording(args: argparse.Namespace) -> int:
    from torqued.tools.recording.recording import read_recording
    from torqued.tools.recording.robots import recorded_robot
    from torqued.tools.viewers.dash import Playback
    from torqued.tools.viewers.following import Stopping

    recording = read_recording(args.file)
    robot, text = recorded_robot(recording), recording.robot_text
    dash = open_page(args, args.file.name, robot, text, recording.robot)
    stopping = Stopping(args.seconds)
    stopping.stop_on_signals()
    try:
        Playback(dash, recording).run(stopping)
    finally:
        dash.close()
    return 0


def open_page(
    args: argparse.Namespace, title: str, robot: Any, text: str, described: dict[str, Any]
) -> Dash:
    from torqued.common.errors import InputError
    from torqued.kernels.formats.sources import file_name, standalone
    from torqued.kernels.model import catalog
    from torqued.tools.viewers.dash import Dash
    from torqued.tools.viewers.history import History
    from torqued.tools.viewers.shapes import shapes_of

    host, port = host_and_port(args.listen)
    file = described["source"].get("robot", {}).get("model", "")
    if args.visuals:
        file = catalog.find_file(args.visuals)
        text = standalone(file)
    urdf = text if file_name(text).endswith(".urdf") else ""
    shapes, missing = shapes_of(robot, urdf, Path(file) if Path(file).is_file() else None)
    try:
        dash = Dash(title, robot, shapes, History(described), host, port, missing)
    except OSError as error:
        raise InputError(f"--listen {args.listen}: {error.strerror}") from None
    print(f"{title}: http://{host}:{dash.port}", flush=True)
    return dash
