"""Fills the record by which compiled code serves a session."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.client.sessions.frames import PAYLOAD
from torqued.kernels.control.fallback import KINDS
from torqued.server.loop.session import Session


def fill_record(record: Any, session: Session, ring: int) -> None:
    """Fill a zeroed record at the start of a session.

    `ring` is the address of the session's own ring, 0: its ticks go to the loop's.
    """
    record.sequence = record.seen = -1
    record.number, record.ring = session.number, ring
    record.same_clock = int(session.caller.transport.same_clock)
    record.control = session.controller.record.ctypes.data
    if session.socket is not None:
        record.socket = session.socket.underlying
    if session.page is not None:
        layout = session.page.layout
        record.page = session.page.address
        record.page_states, record.page_state_slot = layout.states, layout.state_slot
        record.page_outputs, record.page_output_slot = layout.outputs, layout.output_slot
    if session.arrivals is not None:
        record.on_arrival, record.lock = 1, session.arrivals.lock.ctypes.data
        record.spin = round(session.link.spin * 1e9)
        record.served = record.arrived = session.opened
    record.owner, record.owner_size = session.owner.ctypes.data, len(session.owner)
    record.route = session.route.ctypes.data
    record.receive, record.receive_size = session.receive.ctypes.data, len(session.receive)
    record.prefix = session.receive[:PAYLOAD].view(np.int64)[0]
    record.send, record.send_size = session.send.ctypes.data, len(session.send)
    safety = session.safety
    record.stale_after = round(safety.stale_after * 1e9)
    record.hold = round(safety.hold * 1e9)
    record.fade = round(safety.fade * 1e9)
    record.damping, record.share = safety.fallback_damping, session.share
    record.fallback = KINDS[safety.fallback]
    record.fallback_without_state = KINDS[safety.without_states]
