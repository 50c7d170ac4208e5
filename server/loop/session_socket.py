"""The socket of a session: made in Python, used by the loop."""

from __future__ import annotations

from typing import Any

import zmq

#: Frames that may wait in each direction beside what the operating system holds.
QUEUE = 8
#: Bytes by which messages of ZeroMQ's own handshakes may exceed a state frame.
HANDSHAKE_BYTES = 1024


def session_socket(context: zmq.Context[Any], state_bytes: int) -> zmq.Socket[bytes]:
    """A socket for one session. The loop ignores all but the peer with its routing id."""
    socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
    socket.set_hwm(QUEUE)
    socket.router_mandatory = True  # frames for a client that has left are counted as dropped
    socket.router_handover = True  # a client may connect again
    socket.maxmsgsize = state_bytes + HANDSHAKE_BYTES
    socket.linger = 0
    return socket
