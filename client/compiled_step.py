"""`Session.step` in shared memory as one call of compiled code (native/steps.c)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torqued.client.compiled import native
from torqued.client.frames import PAYLOAD
from torqued.client.session_frames import (
    DEADLINE,
    OF_FRAMES,
    SEEN,
    STATE_PLACES,
    STATUS,
    TIME,
    Output,
    SessionFrames,
    kind_of_output,
)
from torqued.common.status import LAST

if TYPE_CHECKING:
    from torqued.client.channels import Channel


def compiled_step(channel: Channel, session: SessionFrames) -> Callable[..., Output] | None:
    """A function of the session and what its `step` is given; None where Python has to do it."""
    page, compiled = getattr(channel, "page", None), native()
    outputs, first = session._output._places, session._first_output
    if compiled is None or not isinstance(page, compiled.Page):
        return None
    if hasattr(Output, first) or first in OF_FRAMES:
        return None
    step: Callable[..., Output] = compiled.Steps(
        page,
        session._frame,
        session._phase,
        session._places_of_state,
        tuple(STATE_PLACES[name] for name in ("sequence", "stamp", "at")),
        tuple(PAYLOAD + 8 * k for k in (SEEN, STATUS, TIME, DEADLINE)),
        LAST,
        bool(session.measured),
        kind_of_output(outputs, session._output._frames, first),
        first,
        outputs[first],
    ).step
    return step
