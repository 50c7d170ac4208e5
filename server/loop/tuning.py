"""Gains and payload of an open session, changed gradually; handed to the loop between two ticks.

`period` is the loop's, s; `runs` tells whether the loop runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from torqued.kernels.control.gains import pack
from torqued.kernels.control.payload import ask_for, is_taken
from torqued.kernels.input_checks import Fields, mapping, seconds_within, text
from torqued.kernels.model.payloads import KEYS
from torqued.server.loop.session import Session

log = logging.getLogger("torqued")

#: s over which changed gains and payloads come into effect: defaults and maximum.
DEFAULT_GAIN_RAMP, DEFAULT_PAYLOAD_RAMP, MAX_RAMP = 0.1, 0.5, 60.0


def change_gains(
    session: Session, record: Any, fields: Fields, period: float, runs: Callable[[], bool]
) -> dict[str, Any]:
    """Move a session to other gains within `over` seconds."""
    over = seconds_within("over", fields.get("over", DEFAULT_GAIN_RAMP), 0.0, MAX_RAMP)
    check = text(fields, "check", "refuse")
    gains = session.controller.tuned(mapping(fields, "gains"), period, session.delay, check)
    while record.tuned != record.tuning and runs():
        time.sleep(1e-4)  # the loop has not taken the last change yet
    session.controller.data.wanted[:] = pack(gains)
    record.wanted_ramp = max(1, round(over / period))
    record.tuning += 1  # from here on `wanted` is the loop's, until it answers
    shown = session.controller.law.in_force(gains)
    overridden = session.controller.overridden
    return {"session": session.number, "over": over, "gains": shown, "overridden": overridden}


def warn_of_override(session: Session) -> None:
    """Log that a client has overridden the check of its gains."""
    if problem := session.controller.overridden:
        client = session.caller.name
        log.warning('session %d: %s sets check="warn": %s', session.number, client, problem)


def change_payload(
    session: Session, fields: Fields, period: float, runs: Callable[[], bool]
) -> dict[str, Any]:
    """Change the load of a session's frame, gradually over `over` seconds."""
    over = seconds_within("over", fields.get("over", DEFAULT_PAYLOAD_RAMP), 0.0, MAX_RAMP)
    payload, data = session.controller.payload, session.controller.data
    loads = payload.changed({key: fields[key] for key in KEYS if key in fields}, "")
    while not is_taken(data) and runs():
        time.sleep(1e-4)  # the loop has not taken the last change yet
    ask_for(loads, payload, data, max(1, round(over / period)))
    return {"session": session.number, "over": over, "payload": payload.as_maps()}
