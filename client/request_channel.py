"""Requests through shared memory: bodies as over the request socket, each with its size before it.

    request   uint64, bytes of the body; the body
    reply     the same; a size of 0: it does not fit here, ask over the socket

One request is under way at a time. The page is that of page_layout.py, with requests where a
session has its states and replies where it has its outputs. As long as the connection that the page
came by is open, the daemon keeps the page and a thread that answers.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from torqued.client.memory_channel import MemoryChannel, asked_for
from torqued.client.page_layout import MAX_REPLY, MAX_REQUEST, SIZE

#: s from one look whether the daemon is still there to the next.
LOOK = 0.1


class RequestChannel:
    """The client's side of a page for requests."""

    def __init__(
        self, descriptor: int, connection: socket.socket, attached: dict[str, Any]
    ) -> None:
        sizes = {
            "state_bytes": SIZE + MAX_REQUEST,
            "output_bytes": SIZE + MAX_REPLY,
        }
        self.page = MemoryChannel(descriptor, attached | sizes, sized=True).page
        #: Hands over the body of a request.
        self.ask = self.page.send
        #: The newest reply once more.
        self.glance = self.page.glance
        self._connection = connection

    def receive(self, seconds: float) -> bytes | None:
        """The reply, or None where none comes in time or the daemon is gone."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            data = self.page.receive(min(left, LOOK))
            if data is not None or left <= LOOK or not self._is_connected():
                return data

    def _is_connected(self) -> bool:
        try:
            return self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Leave."""
        self.page.close()
        self._connection.close()


def request_channel(endpoint: str, attached: dict[str, Any]) -> RequestChannel:
    """The channel that the reply of `attach` describes; `endpoint` as this client reaches it."""
    descriptor, connection = asked_for(endpoint, attached["owner"].encode())
    try:
        return RequestChannel(descriptor, connection, attached)
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(descriptor)
