"""How far apart parts of a robot can be: all lengths on the way, and how far joints slide."""

from __future__ import annotations

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Model
from torqued.kernels.primitives import layout

#: Kinds of elementary joints that move along.
MOVING_ALONG = (layout.PRISMATIC, layout.HELICAL, layout.FLOATING)
#: A target may be further from the base than its frame gets, as a way to stretch there, but not by
#: more than this factor: then it is in other units, or in another frame.
MAX_REACHES = 2.0


def lengths(model: Model) -> Array:
    """m, from each body's parent to its origin at most; infinite along joints without limits."""
    bodies, dofs = model.bodies, model.dofs
    found: Array = np.linalg.norm(bodies["p"], axis=1)
    for i, body in enumerate(bodies):
        if body["kind"] in MOVING_ALONG:
            q = int(body["q"])
            travel = max(abs(dofs.lower[q]), abs(dofs.upper[q]))
            turns = body["kind"] == layout.HELICAL
            found[i] += travel * abs(body["pitch"]) if turns and body["pitch"] else travel
    return found


def frame_reach(model: Model, body: int, p: Array) -> float:
    """m, from the base (world origin, or floating base) to a point p of a body, at most."""
    found, away = lengths(model), float(np.linalg.norm(p))
    while body >= 0 and model.bodies["kind"][body] != layout.FLOATING:
        away += found[body]
        body = int(model.bodies["parent"][body])
    return away


def max_distance(model: Model, frame: tuple[int, Array] | None) -> float:
    """m from the base at which a frame (its body, p), or the center of mass, may be wanted."""
    frames = [frame] if frame else [(i, np.zeros(3)) for i in range(len(model.bodies))]
    return MAX_REACHES * max(frame_reach(model, *item) for item in frames)


def check_reach(
    name: str, model: Model, frame: tuple[int, Array] | None, position: Array, base: Array
) -> None:
    """Refuse a position far beyond the reach of a frame (its body, p), or of the center of mass.

    `position` and `base`, where the robot's base is, are in the world.
    """
    limit = max_distance(model, frame)
    away = float(np.linalg.norm(position - base))
    if away > limit:
        wanted = f"at most {limit:.4g} m, {MAX_REACHES:g} times the reach of what moves there"
        message = f"{name} is {away:.4g} m from the base, expected {wanted}; is it in metres?"
        raise InputError(message, name, away, wanted)
