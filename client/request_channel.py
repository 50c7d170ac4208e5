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
import struct
from collections.abc import Mapping
from typing import Any

from torqued.client.memory_channel import MemoryChannel, asked_for

#: Bytes before a body.
SIZE = 8
#: Bytes of bodies at the most; what is larger goes over the socket.
LARGEST_REQUEST, LARGEST_REPLY = 64 * 1024, 320 * 1024

#: Operations that go through memory: those that compute something and change nothing, so that they
#: may be asked once more where a reply does not fit.
OPERATIONS = frozenset(
    {
        *("dynamics", "inverse_dynamics", "forward_dynamics", "solve_mass", "coriolis_product"),
        *("kinematics", "contact_dynamics", "impact", "derivatives", "integrate"),
        *("constraint_terms", "constrained_inverse_dynamics"),
    }
)


class RequestChannel(MemoryChannel):
    """The client's side of a page for requests."""

    def __init__(
        self, descriptor: int, connection: socket.socket, attached: Mapping[str, Any]
    ) -> None:
        super().__init__(descriptor, {**attached, "output_bytes": SIZE + LARGEST_REPLY})
        self._connection = connection

    def ask(self, request: bytes) -> None:
        """Hand over the body of a request."""
        self.send(struct.pack("<Q", len(request)) + request)

    def _frame_at(self, begin: int) -> bytes:
        size = min(self._longs[begin // 8], LARGEST_REPLY)
        return bytes(self._bytes[begin + SIZE : begin + SIZE + size])

    def close(self) -> None:
        super().close()
        self._connection.close()


def request_channel(endpoint: str, attached: Mapping[str, Any]) -> RequestChannel:
    """The channel that the reply of `attach` describes; `endpoint` as this client reaches it."""
    descriptor, connection = asked_for(endpoint, attached["owner"].encode())
    try:
        return RequestChannel(descriptor, connection, attached)
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(descriptor)
