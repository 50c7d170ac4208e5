"""Fills the record by which compiled code serves a session."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.client.sessions.frames import PAYLOAD
from torqued.kernels.control.fallback import KINDS
from torqued.server.loop.links import fill_link
from torqued.server.loop.session import Session


def fill_record(record: Any, session: Session, ring: int) -> None:
    """Fill a zeroed record at the start of a session.

    `ring` is the address of the session's own ring, 0: its ticks go to the loop's.
    """
    record.sequence = record.seen = -1
    record.number, record.ring = session.number, ring
    record.same_clock = int(session.caller.transport.same_clock)
    record.control = session.controller.record.ctypes.data
    fill_link(record, session)
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
