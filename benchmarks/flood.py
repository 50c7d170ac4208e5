"""Requests without a pause: a window of them is always under way.

python flood.py ENDPOINT     until killed
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

import numpy as np
import zmq

from torqued.client import Client, codec

WINDOW = 64
WANT = ("M", "C")


def flood(endpoint: str, requests: Iterator[int], timeout: float = 10.0) -> int:
    """Send `dynamics` requests with these ids; how many were answered, all of them well."""
    with Client(endpoint, timeout=timeout) as client:
        hello = client.hello()
    fields = {"q": hello.neutral, "v": np.ones(hello.nv), "want": WANT}
    answered = 0
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.rcvtimeo = round(timeout * 1000)
        socket.connect(endpoint)
        under_way = 0
        for identity in requests:
            socket.send(codec.request(identity, "dynamics", fields))
            under_way += 1
            if under_way == WINDOW:
                answered += take(socket)
                under_way -= 1
        for _ in range(under_way):
            answered += take(socket)
    return answered


def take(socket: zmq.Socket[bytes]) -> int:
    """One reply; an error reply is raised."""
    codec.result_of(codec.decode(socket.recv()))
    return 1


if __name__ == "__main__":
    flood(sys.argv[1], itertools.count(1))
