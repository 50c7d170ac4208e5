"""`torqued stream`: ticks on a PUB socket, for PlotJuggler and other programs."""

from __future__ import annotations

import argparse

from torqued.tools.cli.options import add_observing, follow

HELP = "publish every tick as msgpack, for PlotJuggler's ZMQ Subscriber"
EXAMPLE = (
    "  torqued stream --robot panda\n  torqued stream --endpoint tcp://127.0.0.1:9872 --rate 100"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_observing(parser)
    parser.add_argument(
        "--endpoint",
        default="tcp://127.0.0.1:9872",
        help="endpoint to bind (default: tcp://127.0.0.1:9872, this machine only)",
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=1000.0,
        metavar="HZ",
        help="maximum rate per session (default: 1000)",
    )


def run(args: argparse.Namespace) -> int:
    import zmq

    from torqued.common.errors import InputError
    from torqued.tools.viewers.stream import Stream

    if not 0.0 < args.rate <= 1e6:
        raise InputError(f"--rate is {args.rate}, expected a positive number of Hz")
    following = follow(args)
    try:
        stream = Stream(following.reader, args.endpoint, args.rate)
    except zmq.ZMQError as error:
        raise InputError(f"--endpoint {args.endpoint}: {error.strerror}") from None
    following.stop_on_signals()
    print(
        f"ticks of {following.reader.name}: {stream.endpoint}\n"
        "PlotJuggler: Streaming, ZMQ Subscriber, this address, MessagePack, topics empty",
        flush=True,
    )
    try:
        for batch in following.batches(is_watched=stream.is_watched):
            stream.publish(batch)
    finally:
        stream.close()
    lost = following.reader.lost_records
    print(f"{stream.sent} messages" + (f"; {lost} records lost" if lost else ""))
    return 0
