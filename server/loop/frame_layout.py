"""The frames of a session: where each array lies, as the reply of `open` says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.sessions.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.units import unit_of
from torqued.server.loop.session import Session
from torqued.server.observation.layout import TICK_HEAD, padded


def frame_layout(controller: Controller, state_bytes: int, output_bytes: int) -> dict[str, Any]:
    """Layout of a session's frames: name, shape, offset in bytes, unit."""
    robot, references = controller.robot, controller.references
    shapes = {name: value.shape for name, value in references.items()}
    measured = {"q": (robot.nq,), "v": (robot.nv,), **controller.measured}
    state = {**measured, **shapes}
    parts = place_parts(state, PAYLOAD + STATE_HEAD.size)
    return {
        "state_bytes": state_bytes,
        "output_bytes": output_bytes,
        "state": parts[: len(measured)],
        "references": [
            part | ({"held": True} if np.isnan(value).any() else {"default": value.copy()})
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
        "gains": controller.gains,
        "payload": controller.payload.as_maps(),
        "effort_limit": controller.data.effort,
        "fallback": session.safety.fallback,
        "stale_after": session.safety.stale_after,
        **record_layout(controller),
    }


def record_layout(controller: Controller) -> dict[str, Any]:
    """Layout of the ring's record of a tick; the same maps, other offsets."""
    robot = controller.robot
    references = {name: value.shape for name, value in controller.references.items()}
    shapes = {"q": (robot.nq,), "v": (robot.nv,), **references}
    start = TICK_HEAD.itemsize
    state = place_parts(shapes, start)
    start += 8 * len(controller.data.state)
    return {
        "record_bytes": padded(start + 8 * len(controller.data.out)),
        "state": state[:2],
        "references": state[2:],
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
