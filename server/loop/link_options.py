"""What a session may choose about its frames: transport, clock and spin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from torqued.kernels import InputError
from torqued.kernels.input_checks import choice, seconds_within
from torqued.server.access.rights import Caller

SOCKET, MEMORY = TRANSPORTS = ("socket", "memory")
#: When a state is answered: at the loop's next tick, or as it arrives.
LOOP, STATE = CLOCKS = ("loop", "state")
#: Fields of `open` about its frames.
LINK_OPTIONS = ("transport", "clock", "spin")
#: Part of a period that the loop may poll the clock before a deadline.
MAX_SPINNING = 0.5
#: s that either side may poll for a frame before it sleeps.
MAX_SPIN = 0.01


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
        return Link()
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
