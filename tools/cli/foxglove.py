"""`torqued foxglove`: a daemon's robot and sessions, live in Foxglove."""

from __future__ import annotations

import argparse

from torqued.tools.cli.observing import add_observing, host_and_port

HELP = "show a daemon's robot and sessions live in Foxglove"
EXAMPLE = "  torqued foxglove --robot panda\n  torqued foxglove --rate 100 --listen 127.0.0.1:8765"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_observing(parser)
    parser.add_argument(
        "--listen",
        default="127.0.0.1:8765",
        metavar="HOST:PORT",
        help="address to serve (default: 127.0.0.1:8765, this machine only)",
    )
    parser.add_argument(
        "--rate", type=float, default=50.0, metavar="HZ", help="update rate (default: 50)"
    )


def run(args: argparse.Namespace) -> int:
    import foxglove

    from torqued.common.errors import InputError
    from torqued.tools.cli.record import daemon_name
    from torqued.tools.recording.reader import Reader
    from torqued.tools.recording.robots import observed_robot
    from torqued.tools.viewers.following import Following
    from torqued.tools.viewers.foxglove import Foxglove

    foxglove.set_log_level("ERROR")
    host, port = host_and_port(args.listen)
    if not 0.0 < args.rate <= 1000.0:
        raise InputError(f"--rate is {args.rate}, expected a number of Hz up to 1000")
    name = daemon_name(args)
    following = Following(Reader(name, args.folder), args.seconds)
    try:
        view = Foxglove(following.reader, observed_robot(following.reader), host, port)
    except RuntimeError as error:
        raise InputError(f"--listen {args.listen}: {error}") from None
    following.stop_on_signals()
    print(
        f"{name} in Foxglove: Open connection, Foxglove WebSocket, ws://{host}:{view.port}",
        flush=True,
    )
    try:
        for batch in following.batches(1.0 / args.rate, view.is_watched):
            view.publish(batch)
    finally:
        view.close()
    return 0
