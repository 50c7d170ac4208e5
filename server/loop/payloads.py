"""Changes of what a session's robot carries, handed to the loop between two ticks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torqued.kernels import InputError
from torqued.kernels.control.payload import ask_for, is_taken
from torqued.kernels.input_checks import number
from torqued.kernels.model.payloads import KEYS

if TYPE_CHECKING:
    from torqued.server.loop.session import Session

#: s over which a payload comes into effect: default and maximum.
DEFAULT_RAMP, MAX_RAMP = 0.5, 60.0


def change_payload(
    session: Session, fields: Mapping[str, Any], period: float, runs: Callable[[], bool]
) -> dict[str, Any]:
    """Change the load of a session's frame, gradually over `over` seconds.

    `period` is the loop's, s; `runs` tells whether the loop runs.
    """
    over = number("over", fields.get("over", DEFAULT_RAMP))
    if not 0.0 <= over <= MAX_RAMP:
        wanted = f"0 … {MAX_RAMP:g} s"
        raise InputError(f"over is {over}, expected {wanted}", "over", over, wanted)
    payload, data = session.controller.payload, session.controller.data
    loads = payload.changed({key: fields[key] for key in KEYS if key in fields}, "")
    while not is_taken(data) and runs():
        time.sleep(1e-4)  # the loop has not taken the last change yet
    ask_for(loads, payload, data, max(1, round(over / period)))
    return {"session": session.number, "over": over, "payload": payload.as_maps()}
