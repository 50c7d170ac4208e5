"""The socket of a session: the same options for all clients, docs/PROTOCOL.md has the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import zmq

from torqued.client.endpoints import reachable
from torqued.client.keys import Keys, connect

AnySocket = TypeVar("AnySocket", bound="zmq.Socket[Any]")


def connect_session(
    socket: AnySocket, opened: Mapping[str, Any], request: str, keys: Keys | None
) -> AnySocket:
    """Connect a DEALER to a session that was opened at the request endpoint."""
    endpoint = reachable(opened["endpoint"], request)
    socket.linger = 0  # nothing waits for a daemon that is gone
    socket.routing_id = opened["owner"].encode()  # by which the daemon knows the session's client
    if not endpoint.startswith("inproc:"):  # whose pipes carry the routing id as a message
        socket.conflate = True  # the newest state and the newest output win
    connect(socket, endpoint, keys, opened.get("server_key"))
    return socket


def has_same_clock(request: str) -> bool:
    """Whether client and daemon are on one machine."""
    return not request.startswith("tcp:")
