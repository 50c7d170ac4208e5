"""What a session's frames go through: a socket, or a page in shared memory.

Both are made in Python and used by the loop.
"""

from __future__ import annotations

from typing import Any

import zmq

from torqued.client.memory.page_layout import PageLayout
from torqued.server.access.rights import Caller
from torqued.server.transport.memory_pages import Page

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


def memory_link(
    owner: str, state_bytes: int, output_bytes: int, caller: Caller
) -> tuple[Page, dict[str, Any]]:
    """A page for frames of so many bytes; and how its client gets it, as fields of a reply."""
    pages = caller.transport.pages
    assert pages is not None  # checked by `chosen_link`
    caller.transport.listeners.require_room()
    layout = PageLayout.of(state_bytes, output_bytes)
    page = pages.make(layout, owner.encode())
    return page, {"endpoint": pages.endpoint, "memory": layout._asdict()}


def end_memory_link(page: Page, owner: bytes, caller: Caller) -> None:
    """Unmap the page in the daemon; the client keeps its own mapping."""
    if caller.transport.pages is not None:
        caller.transport.pages.forget(owner)
    page.close()
