"""A bare ZeroMQ echo: the least that a request to another Python process can cost.

    python echo.py ENDPOINT BYTES

Every request is answered with the same bytes, made beforehand, as many as a real reply has.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import zmq


def serve(endpoint: str, size: int) -> NoReturn:
    """Answer until killed."""
    socket: zmq.Socket[bytes] = zmq.Context().socket(zmq.ROUTER)
    socket.bind(endpoint)
    reply = bytes(size)
    while True:
        parts = socket.recv_multipart()
        parts[-1] = reply
        socket.send_multipart(parts)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
