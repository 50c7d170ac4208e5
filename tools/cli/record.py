"""`torqued record`: every tick of a daemon's sessions into files, from a process of its own."""

from __future__ import annotations

import argparse
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torqued.tools.recording.recorder import Recorder

HELP = "record every tick of a daemon's sessions, as MCAP"
EXAMPLE = """  torqued record --robot panda --out recordings --rotate 10min
  torqued record --robot panda --save-last 60s"""

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_SIZES = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--robot",
        metavar="NAME",
        help="name of the daemon (default: $TORQUED_NAME, or the only one that runs)",
    )
    parser.add_argument("--folder", type=Path, help="of its sockets (default: as `serve` has it)")
    parser.add_argument(
        "--sessions", nargs="+", default=[], metavar="S", help="numbers or laws (default: all)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("."), metavar="FOLDER", help="of the files (default: here)"
    )
    parser.add_argument(
        "--rotate", type=limit, metavar="10min|1GB", help="begin another file so often"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="how long (default: until Ctrl-C)"
    )
    parser.add_argument(
        "--keep", type=duration, default=0.0, metavar="10min", help="delete files older than that"
    )
    parser.add_argument(
        "--save-last",
        type=duration,
        metavar="60s",
        help="keep the last seconds of the daemon's flight recorder, and end",
    )
    parser.add_argument("--lifeline", type=int, help=argparse.SUPPRESS)


def duration(text: str) -> float:
    """Seconds, from `60s`, `10min`, `1h` or a number."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)(s|min|h)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 60s, 10min or 1h")
    return float(match[1]) * _UNITS[match[2] or "s"]


def limit(text: str) -> tuple[float, int]:
    """Seconds and bytes of a file, one of them 0, from `10min` or `1GB`."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)(kB|MB|GB)", text)
    if match:
        return 0.0, int(float(match[1]) * _SIZES[match[2]])
    try:
        return duration(text), 0
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a time such as 10min nor a size such as 1GB"
        ) from None


def run(args: argparse.Namespace) -> int:
    from torqued.tools.recording.recorder import Choice, Recorder

    name = daemon_name(args)
    if args.save_last:
        return save_last(args, name)
    seconds, size = args.rotate or (0.0, 0)
    choice = Choice(args.out, set(args.sessions), seconds, size, args.keep)
    choice.backlog = args.lifeline is not None  # from the daemon's first tick on
    recorder = Recorder(name, args.folder, choice)
    stop_on(recorder, args)
    recorder.run()
    lost = sum(recorder.reader.lost.values())
    print(f"{recorder.ticks} ticks, {lost} lost, in {len(recorder.files)} files:")
    for path in recorder.files:
        print(path)
    return 1 if lost else 0


def stop_on(recorder: Recorder, args: argparse.Namespace) -> None:
    """End in order: on signals, after the time that was asked for, and with the daemon."""
    import socket
    import threading

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: recorder.stop())
    if args.seconds != float("inf"):
        timer = threading.Timer(args.seconds, recorder.stop)
        timer.daemon = True
        timer.start()
    if args.lifeline is not None:
        lifeline = socket.socket(fileno=args.lifeline)

        def watch() -> None:
            lifeline.recv(1)
            recorder.stop()

        threading.Thread(target=watch, name="lifeline", daemon=True).start()


def daemon_name(args: argparse.Namespace) -> str:
    """The daemon that is meant, by its name."""
    import os

    from torqued.client import TorquedError
    from torqued.client.discovery import describe_running, running
    from torqued.client.endpoints import default_folder

    name = args.robot or os.environ.get("TORQUED_NAME")
    if name:
        return str(name)
    names = running()
    if len(names) == 1:
        return names[0]
    if not names:
        raise TorquedError(
            f"no daemon is running in {default_folder()}; `torqued serve --robot panda` starts one"
        )
    raise TorquedError(f"which daemon? {describe_running()}; choose one with --robot")


def save_last(args: argparse.Namespace, name: str) -> int:
    """The last seconds of the flight recorder, as a file of their own."""
    from torqued.client import Client, TorquedError
    from torqued.client.endpoints import request_endpoint
    from torqued.tools.recording.recorder import new_path
    from torqued.tools.recording.saving import save

    with Client(request_endpoint(name, args.folder), timeout=5.0) as client:
        recorders = client.stats().observation["recorders"]
    flights = [recorder for recorder in recorders if recorder["keep"] > 0.0]
    if not flights:
        raise TorquedError(
            f"daemon {name!r} has no flight recorder: start it with `record = true` in its "
            "configuration, or run `torqued record --keep 10min`"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    path = new_path(args.out, f"{name}-saved")
    saved = save(Path(flights[0]["file"]), args.save_last, path)
    print(f"{saved.messages} messages of the last {saved.seconds:.1f} s: {path}")
    return 0
