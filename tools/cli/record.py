"""`torqued record`: write every tick of a daemon's sessions to files."""

from __future__ import annotations

import argparse
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from torqued.tools.cli.options import add_observing, add_out_folder, daemon_name

if TYPE_CHECKING:
    from torqued.tools.recording.recorder import Recorder

HELP = "record every tick of a daemon's sessions as MCAP"
EXAMPLE = """  torqued record --robot panda --out recordings --rotate 10min
  torqued record --robot panda --save-last 60s"""

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_SIZES = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_observing(parser)
    parser.add_argument(
        "--sessions",
        nargs="+",
        default=[],
        metavar="S",
        help="session numbers or laws (default: all)",
    )
    add_out_folder(parser)
    parser.add_argument(
        "--rotate",
        type=limit,
        metavar="10min|1GB",
        help="duration or size after which a new file begins",
    )
    parser.add_argument(
        "--keep",
        type=duration,
        default=0.0,
        metavar="10min",
        help="age after which files are deleted (default: never)",
    )
    parser.add_argument(
        "--save-last",
        type=duration,
        metavar="60s",
        help="save this last part of the daemon's flight recorder, then exit",
    )
    parser.add_argument("--lifeline", type=int, help=argparse.SUPPRESS)


def duration(text: str) -> float:
    """Seconds, from `60s`, `10min`, `1h` or a number."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)(s|min|h)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 60s, 10min or 1h")
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
    require_sessions(args.sessions)
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


def require_sessions(given: list[str]) -> None:
    """Refuse words that are neither a session's number nor a law: nothing would be recorded."""
    from torqued.common.errors import InputError
    from torqued.kernels.control.laws.table import LAWS

    for word in given:
        if not word.isdecimal() and word not in LAWS:
            raise InputError(
                f"--sessions: {word!r} is neither a session number nor a law: {', '.join(LAWS)}"
            )


def stop_on(recorder: Recorder, args: argparse.Namespace) -> None:
    """Stop cleanly: on signals, after `--seconds`, and with the daemon."""
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


def save_last(args: argparse.Namespace, name: str) -> int:
    """Save the last seconds of the flight recorder to a file."""
    from torqued.client import Client, TorquedError
    from torqued.client.endpoints import request_endpoint
    from torqued.tools.recording.recorder import new_path
    from torqued.tools.recording.saving import save

    with Client(request_endpoint(name, args.folder), timeout=5.0) as client:
        recorders = client.stats().observation["recorders"]
    flights = [recorder for recorder in recorders if recorder["keep"] > 0.0]
    if not flights:
        raise TorquedError(
            f"daemon {name!r} has no flight recorder: set `record = true` in its "
            "configuration, or run `torqued record --keep 10min`"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    path = new_path(args.out, f"{name}-saved")
    messages, seconds = save(Path(flights[0]["file"]), args.save_last, path)
    print(f"{messages} messages of the last {seconds:.1f} s: {path}")
    return 0
