"""The reply to `open`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.kernels.control.stability import Stability
from torqued.server.loop.frame_layout import frame_layout
from torqued.server.loop.session import Session


def opened_reply(
    session: Session, reached_by: Mapping[str, Any], stability: Stability | None, period: float
) -> dict[str, Any]:
    """`reached_by` are the fields of its transport; `period` is the loop's, s."""
    controller, safety = session.controller, session.safety
    return {
        "session": session.number,
        **session.link._asdict(),
        **reached_by,
        "owner": session.owner.tobytes().decode(),
        "law": controller.name,
        "gains": controller.gains,
        "payload": controller.payload.as_maps(),
        "friction": controller.friction.as_map(),
        "axes": controller.prepared.axes,
        **frame_layout(controller, len(session.receive), len(session.send)),
        "period": period,
        "stale_after": safety.stale_after,
        "hold": safety.hold,
        "fade": safety.fade,
        "fallback": safety.fallback,
        "without_states": safety.without_states,
        "stability": stability_map(stability, session.delay),
        "command_endpoint": session.caller.transport.reached_by()["request"],
    }


def stability_map(stability: Stability | None, delay: float) -> dict[str, Any]:
    """The result of checking a session's gains."""
    if stability is None:
        return {"checked": False, "delay": delay}
    return {
        "checked": True,
        "delay": delay,
        "margin": stability.margin,
        "pose": stability.pose,
        "reduced_by": stability.factor,
    }
