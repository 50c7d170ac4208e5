"""What clients and observers are told about a session: where each array lies in its frames."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.sessions.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.references.given import MOMENTARY
from torqued.kernels.control.stability import Stability
from torqued.kernels.control.units import unit_of
from torqued.server.loop.session import Session
from torqued.server.observation.layout import TICK_HEAD, padded


def opened_reply(
    session: Session, reached_by: Mapping[str, Any], stability: Stability | None, period: float
) -> dict[str, Any]:
    """The reply to `open`.

    `reached_by` are the fields of its transport; `period` is the loop's, s.
    """
    controller, safety = session.controller, session.safety
    return {
        "session": session.number,
        **session.link._asdict(),
        **reached_by,
        "owner": session.owner.tobytes().decode(),
        "law": controller.name,
        "gains": controller.law.in_force(controller.gains),
        "payload": controller.payload.as_maps(),
        "friction": controller.friction.as_map(),
        "axes": controller.prepared.axes,
        "state_bytes": len(session.receive),
        "output_bytes": len(session.send),
        **frame_layout(controller),
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
        "reduced_by": 1.0 if stability.overridden else stability.factor,
        "overridden": stability.overridden,
    }


def frame_layout(controller: Controller) -> dict[str, Any]:
    """Layout of a session's frames: name, shape, offset in bytes, unit."""
    robot, references = controller.robot, controller.references
    shapes = {name: value.shape for name, value in references.items()}
    measured = {"q": (robot.nq,), "v": (robot.nv,), **controller.measured}
    parts = place_parts({**measured, **shapes}, PAYLOAD + STATE_HEAD.size)
    return {
        "state": parts[: len(measured)],
        "references": [
            part
            | ({"held": True} if np.isnan(value).any() else {"default": value.copy()})
            | ({"momentary": True} if part["name"] in MOMENTARY else {})
            for part, value in zip(parts[len(measured) :], references.values(), strict=True)
        ],
        "outputs": place_parts(controller.outputs, PAYLOAD + OUTPUT_HEAD.size),
    }


def described(session: Session, options: Mapping[str, Any]) -> dict[str, Any]:
    """What readers of the ring learn of a session; `options` are those of `open`."""
    controller = session.controller
    return {
        "law": controller.name,
        "client": session.caller.name,
        "is_torque": controller.law.is_torque,
        "options": options,
        "delay": session.delay,
        "overridden": controller.overridden,
        "gains": controller.law.in_force(controller.gains),
        "payload": controller.payload.as_maps(),
        "effort_limit": controller.data.effort,
        "fallback": session.safety.fallback,
        "stale_after": session.safety.stale_after,
        **record_layout(controller),
    }


def record_layout(controller: Controller) -> dict[str, Any]:
    """Layout of the ring's record of a tick; the same maps, other offsets."""
    references = {name: value.shape for name, value in controller.references.items()}
    measured = controller.state_shapes
    start = TICK_HEAD.itemsize
    parts = place_parts({**measured, **references}, start)
    start += 8 * len(controller.data.state)
    return {
        "record_bytes": padded(start + 8 * len(controller.data.out)),
        "state": parts[: len(measured)],
        "references": parts[len(measured) :],
        "outputs": place_parts(controller.outputs, start),
        "gain_shapes": [
            {"name": name, "shape": list(np.shape(value))}
            for name, value in controller.gains.items()
        ],
    }


def place_parts(shapes: Mapping[str, tuple[int, ...]], start: int) -> list[dict[str, Any]]:
    """Arrays one behind the other, in order."""
    parts = []
    for name, shape in shapes.items():
        part = {"name": name, "shape": list(shape), "offset": start, "unit": unit_of(name)}
        parts.append(part)
        start += 8 * math.prod(shape)
    return parts


def frame_buffer(payload: int) -> NDArray[np.uint8]:
    """A whole frame with its prefix, aligned for 8-byte access."""
    words = np.zeros(-(-(PAYLOAD + payload) // 8))
    buffer = words.view(np.uint8)[: PAYLOAD + payload]
    buffer[:PAYLOAD] = np.frombuffer(prefix(payload), np.uint8)
    return buffer
