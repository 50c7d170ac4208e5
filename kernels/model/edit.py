"""A model with one thing about it changed: the inertia of a body, or where a joint sits.

The model itself stays as it is. What comes of it is as large and as compiled as before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.common.rotation import check_pose
from torqued.kernels.input_checks import known_name, numbers, sequence
from torqued.kernels.model.checks_joint import ROUNDING
from torqued.kernels.model.checks_mass import MAX_NUMBER, in_range
from torqued.kernels.model.description import Array, Pose
from torqued.kernels.model.model import Frame, JointInfo, Model
from torqued.kernels.model.payloads import load_of


def with_inertia(model: Model, frame: Any, mass: Any, center: Any, inertia: Any) -> Model:
    """With the body that carries a frame, all links that are fixed together, of another inertia.

    Mass in kg; `center` (3,) m in the frame's axes; `inertia` kg m² about it in the frame's axes,
    (3, 3) or xx xy xz yy yz zz.
    """
    given = {"frame": frame, "mass": mass, "center": center, "inertia": inertia}
    return _with_body(model, given)[0]


def with_links(model: Model, field: str, given: Any) -> Model:
    """With bodies as a list of maps has them: `frame`, `mass`, `center`, `inertia`, each in place
    of the link that is called so and all that are fixed to it."""
    seen: dict[int, str] = {}
    for k, body in enumerate(sequence(field, () if given is None else given, "maps")):
        name = f"{field}[{k}]"
        changed, link = _with_body(model, body, name)
        for part in ("center", "inertia"):
            if body.get(part) is None:
                raise InputError(f"{name}.{part} is missing", f"{name}.{part}")
        if link in seen:
            message = f"{name}.frame {body['frame']!r} is on the same body as {seen[link]}"
            raise InputError(message, f"{name}.frame", None, "each body once")
        model, seen[link] = changed, name
    return model


def _with_body(model: Model, given: Any, field: str = "") -> tuple[Model, int]:
    """The model, and which body has changed."""
    load = load_of(model, given, field)
    if not load.inertia.mass > 0.0:
        name, wanted = f"{field}.mass" if field else "mass", "a positive number"
        raise InputError(f"{name} is {load.inertia.mass}, expected {wanted}", name, None, wanted)
    bodies = _copy(model)
    body = bodies[load.body]
    body["mass"], body["com"] = load.inertia.mass, load.inertia.com
    body["inertia"] = load.inertia.rotational[np.triu_indices(3)]
    return _with_bodies(model, bodies), load.body


def with_joint_frame(model: Model, joint: Any, pose: Any, relative_to: Any) -> Model:
    """With a joint at another pose (4, 4), relative to a frame of the body that it hangs on.

    By default that is the link which the body is called after: the first of those that are fixed
    together.
    """
    joints = {info.name: info for info in model.joints}
    info = joints[known_name("joint", "joint", joint, joints)]
    if model.base == "floating" and info is model.joints[0]:
        wanted = "another joint"
        raise InputError(
            f"joint {joint!r} is the floating base, whose pose is in q; expected {wanted}",
            "joint",
            joint,
            wanted,
        )
    bodies = _copy(model)
    own = _own_bodies(bodies, info)
    first = own[0]
    parent = int(bodies[first]["parent"])
    base = _frame(model, parent, relative_to)
    place = _checked_pose(pose)
    new = Pose(base.rotation, base.position) @ place
    old = _rotation_at_zero(model, bodies, own)
    bodies[first]["R"] = (new.rotation @ old.T @ bodies[first]["R"].reshape(3, 3)).ravel()
    bodies[first]["p"] = new.position
    return _with_bodies(model, bodies)


def _copy(model: Model) -> NDArray[np.void]:
    return np.array(model.bodies, model.bodies.dtype)


def _with_bodies(model: Model, bodies: NDArray[np.void]) -> Model:
    """The anchor is the first body with a mass, which may be another one now."""
    world = np.array(model.world, model.world.dtype)
    heavy = np.flatnonzero(bodies["mass"] > 0.0)
    world["anchor"] = heavy[0] if len(heavy) else 0
    return replace(model, bodies=bodies.view(np.recarray), world=world, as_described=False)


def _own_bodies(bodies: NDArray[np.void], info: JointInfo) -> list[int]:
    """Joints of several degrees of freedom may be chains of bodies: all of them, in order."""
    inside = (bodies["column"] >= info.v) & (bodies["column"] < info.v + info.nv)
    return np.flatnonzero(inside).tolist()


def _rotation_at_zero(model: Model, bodies: NDArray[np.void], own: list[int]) -> Array:
    """Of the joint's frame in the body that it hangs on, where its coordinates are zero."""
    R = np.eye(3)
    for body in bodies[own]:
        R = R @ body["R"].reshape(3, 3)
    frames = [frame for frame in model.frames if frame.body == own[-1]]
    rotation: Array = R @ next(x.rotation for x in frames if not x.position.any())
    return rotation


def _frame(model: Model, body: int, name: Any) -> Frame:
    """A frame that a body carries, by its name or the first one."""
    here = {frame.name: frame for frame in model.frames if frame.body == body}
    if name is None:
        return next(iter(here.values()))
    frames = {frame.name for frame in model.frames}
    known_name("relative_to", "frame", name, frames)
    if name not in here:
        listed = ", ".join(map(repr, here))
        raise InputError(
            f"relative_to: frame {name!r} is not on the joint's parent body, allowed: {listed}",
            "relative_to",
            name,
            f"one of {listed}",
        )
    return here[name]


def _checked_pose(pose: Any) -> Pose:
    place = numbers("pose", pose, (4, 4))
    check_pose("pose", place, ROUNDING)
    if not in_range(place):
        wanted = f"numbers up to {MAX_NUMBER:g}"
        raise InputError(f"pose: position {place[:3, 3].tolist()}, expected {wanted}", "pose")
    return Pose(place[:3, :3].copy(), place[:3, 3].copy())
