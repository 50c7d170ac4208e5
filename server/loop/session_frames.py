"""The frames of a session: where each array lies, as the reply of `open` tells it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.units import unit_of


def frame_layout(controller: Controller, state_bytes: int, output_bytes: int) -> dict[str, Any]:
    """Where everything is in a session's frames: name, shape, offset in bytes, unit."""
    robot, references = controller.robot, controller.references
    shapes = {name: value.shape for name, value in references.items()}
    state = {"q": (robot.nq,), "v": (robot.nv,), **shapes}
    parts = place_parts(state, PAYLOAD + STATE_HEAD.size)
    return {
        "state_bytes": state_bytes,
        "output_bytes": output_bytes,
        "state": parts[:2],
        "references": [
            part | ({"held": True} if np.isnan(value).any() else {"default": value.copy()})
            for part, value in zip(parts[2:], references.values(), strict=True)
        ],
        "outputs": place_parts(controller.outputs, PAYLOAD + OUTPUT_HEAD.size),
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
