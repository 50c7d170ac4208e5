"""What a session's frames go through: a socket, or a page in shared memory; and when it answers.

Both are made in Python and used by the loop.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import zmq

from torqued.client.memory.page_layout import PageLayout
from torqued.kernels import InputError
from torqued.kernels.input_checks import choice, seconds_within
from torqued.server.access.rights import Caller
from torqued.server.transport.memory_pages import Page

SOCKET, MEMORY = TRANSPORTS = ("socket", "memory")
#: When a state is answered: at the loop's next tick, or as it arrives. In lock step, as soon as
#: either can, and time passes with states alone: for simulations.
LOOP, STATE, LOCK_STEP = CLOCKS = ("loop", "state", "lockstep")
#: Fields of `open` about its frames.
LINK_OPTIONS = ("transport", "clock", "spin")
#: Part of a period that the loop may poll the clock before a deadline.
MAX_SPINNING = 0.5
#: s that either side may poll for a frame before it sleeps.
MAX_SPIN = 0.01
#: Frames that may wait in each direction beside what the operating system holds.
QUEUE = 8
#: Bytes by which messages of ZeroMQ's own handshakes may exceed a state frame.
HANDSHAKE_BYTES = 1024


class Link(NamedTuple):
    """Transport of frames, and when they are answered."""

    transport: str = SOCKET
    clock: str = LOOP
    spin: float = 0.0  # s


def chosen_link(fields: Mapping[str, Any], caller: Caller, spin: float) -> Link:
    """What a session asks for; refused if its client cannot have it.

    `spin` is the daemon's setting, s, for sessions that do not choose.
    """
    transport = choice("transport", fields.get("transport", SOCKET), TRANSPORTS)
    clock = choice("clock", fields.get("clock", LOOP), CLOCKS)
    if transport == SOCKET:
        if clock == STATE:
            raise InputError(
                "clock='state' requires transport='memory'; over a socket the loop answers at its "
                "ticks",
                "clock",
                clock,
                LOOP,
            )
        if "spin" in fields:
            raise InputError("spin requires transport='memory'", "spin")
        return Link(clock=clock)
    if caller.transport.pages is None:
        raise InputError(
            "transport='memory' requires a connection over the daemon's local socket; use "
            "transport='socket'",
            "transport",
            transport,
            SOCKET,
        )
    if "spin" in fields:
        spin = checked_spin(fields["spin"], MAX_SPIN)
    return Link(transport, clock, spin)


def checked_spin(given: Any, longest: float) -> float:
    """A time to spin, s, if it is within limits and the daemon has a processor to spare."""
    spin = seconds_within("spin", given, 0.0, longest)
    if spin > 0.0 and len(os.sched_getaffinity(0)) < 2:
        raise InputError(
            f"spin is {spin}, expected 0: polling would take the daemon's only processor from the "
            "loop",
            "spin",
            spin,
            "0",
        )
    return spin


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
