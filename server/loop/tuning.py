"""Gains of an open session, changed gradually."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from torqued.kernels import InputError
from torqued.kernels.control.controller import pack
from torqued.kernels.input_checks import mapping, numbers
from torqued.server.loop.session import Session

#: s over which changed gains come into effect: default and maximum.
DEFAULT_RAMP, MAX_RAMP = 0.1, 60.0


def change_gains(
    session: Session,
    record: Any,
    fields: Mapping[str, Any],
    period: float,
    runs: Callable[[], bool],
) -> dict[str, Any]:
    """Move a session to other gains within `over` seconds.

    `period` is the loop's, s; `runs` tells whether the loop runs.
    """
    over = float(numbers("over", fields.get("over", DEFAULT_RAMP), ()))
    if not 0.0 <= over <= MAX_RAMP:
        raise InputError(f"over is {over}, expected 0 … {MAX_RAMP:g} s", "over", over)
    gains = session.controller.tuned(mapping(fields, "gains"), period, session.delay)
    while record.tuned != record.tuning and runs():
        time.sleep(1e-4)  # the loop has not taken the last change yet
    session.controller.data.wanted[:] = pack(gains)
    record.wanted_ramp = max(1, round(over / period))
    record.tuning += 1  # from here on `wanted` is the loop's, until it answers
    return {"session": session.number, "over": over, "gains": gains}
