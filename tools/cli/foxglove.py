"""`torqued foxglove`: a daemon's robot and sessions, live in Foxglove."""

from __future__ import annotations

import argparse

from torqued.tools.cli.options import add_listen, add_observing, follow, host_and_port

HELP = "show a daemon's robot and sessions live in Foxglove"
EXAMPLE = "  torqued foxglove --robot panda\n  torqued foxglove --rate 100 --listen 127.0.0.1:8765"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_observing(parser)
    add_listen(parser, 8765)
    parser.add_argument(
        "--rate", type=float, default=50.0, metavar="HZ", help="update rate (default: 50)"
    )


def run(args: argparse.Namespace) -> int:
    import foxglove

    from torqued.common.errors import InputError
    from torqued.tools.recording.robots import observed_robot
    from torqued.tools.viewers.foxglove import Foxglove

    foxglove.set_log_level("ERROR")
    host, port = host_and_port(args.listen)
    if not 0.0 < args.rate <= 1000.0:
        raise InputError(f"--rate is {args.rate}, expected a number of Hz up to 1000")
    following = follow(args)
    name = following.reader.name
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
