"""What a robot carries: a tool or a payload as one rigid body that is fixed to a frame.

    {"frame": "panda_hand", "mass": 1.2, "center": [0, 0, 0.1], "inertia": [...]}

Mass in kg, `center` (3,) of mass in m in the frame's axes (default: its origin), `inertia` in kg m²
about that center in the frame's axes: (3, 3), or xx xy xz yy yz zz. Without it the load is a solid
sphere as dense as water, which is nearer to things that are carried than a point is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.input_checks import known_keys, known_name, nonnegative, numbers, shown
from torqued.kernels.model.checks_mass import PRINTED
from torqued.kernels.model.description import Array, Inertia, Pose
from torqued.kernels.model.model import Model
from torqued.kernels.model.rigid_body import about_origin, joined, moved
from torqued.kernels.primitives.layout import PRISMATIC

#: kg/m³, of a load whose inertia is not given.
DENSITY = 1000.0
#: Keys of a load.
KEYS = ("frame", "mass", "center", "inertia")
#: kg, m and kg m² that are beyond what anything carries, and whose products overflow nothing.
MAX_LOAD = 1e9
#: Loads that may be named at once.
MAX_LOADS = 32
#: m/s²: weight of a kilogram.
WEIGHT = 9.81
#: Times a joint's effort limit that a load may weigh, with all links stretched out.
MAX_WEIGHT_RATIO = 5.0


@dataclass(frozen=True)
class Load:
    """A rigid body fixed to a frame of a robot."""

    frame: str
    body: int  # that carries the frame
    own: Inertia  # in the frame's axes
    inertia: Inertia  # in the body's axes

    @property
    def parameters(self) -> Array:
        """m, m c, Ī (xx xy xz yy yz zz) at the body's origin in its axes, (10,)."""
        i = self.inertia
        about = about_origin(i)[np.triu_indices(3)]
        return np.concatenate([[i.mass], i.mass * i.com, about])

    def as_map(self) -> dict[str, Any]:
        """As it could be given."""
        own = self.own
        return {
            "frame": self.frame,
            "mass": own.mass,
            "center": own.com,
            "inertia": own.rotational,
        }


def loads_of(model: Model, field: str, given: Any) -> list[Load]:
    """One load or a list of loads, at different frames; `field` is named in errors."""
    if given is None or given is False:
        return []
    listed = given if isinstance(given, Sequence) and not isinstance(given, str | bytes) else None
    if listed is None:
        return [load_of(model, given, field)]
    if len(listed) > MAX_LOADS:
        wanted = f"at most {MAX_LOADS} loads"
        raise InputError(f"{field} has {len(listed)} loads, expected {wanted}", field, None, wanted)
    loads = [load_of(model, item, f"{field}[{k}]") for k, item in enumerate(listed)]
    names = [load.frame for load in loads]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{field}: frame {name!r} has more than one load", field, name)
    return loads


def load_of(model: Model, given: Any, field: str = "") -> Load:
    """A load from a map, checked: some body has this inertia, and its frame moves.

    `field` is named in errors, before the map's own names.
    """
    name = f"{field}." if field else ""
    if not isinstance(given, Mapping):
        wanted = f"a map with {', '.join(KEYS)}"
        raise InputError(f"{field}: {shown(given)}, expected {wanted}", field, None, wanted)
    known_keys(field, given, KEYS)
    for key in ("frame", "mass"):
        if given.get(key) is None:
            raise InputError(f"{name}{key} is missing", f"{name}{key}", None, "present")
    frames = {frame.name: frame for frame in model.frames}
    frame = frames[known_name(f"{name}frame", "frame", given["frame"], frames)]
    if frame.body < 0:
        raise InputError(
            f"{name}frame: {frame.name!r} does not move, so its load has no effect",
            f"{name}frame",
            frame.name,
            "a frame that joints move",
        )
    mass = nonnegative(f"{name}mass", given["mass"])
    center = numbers(f"{name}center", _or(given, "center", np.zeros(3)), (3,))
    for key, value in (("mass", mass), ("center", center)):
        _in_range(f"{name}{key}", value)
    own = Inertia(mass, center, rotational_of(f"{name}inertia", given.get("inertia"), mass))
    return Load(frame.name, frame.body, own, moved(own, Pose(frame.rotation, frame.position)))


def load_notes(model: Model, field: str, loads: Iterable[Load]) -> list[str]:
    """A sentence about each load whose weight no motor of this size could mean."""
    notes = []
    for load in loads:
        mass, arm, body = load.own.mass, math.hypot(*load.inertia.com), load.body
        worst, ratio = "", MAX_WEIGHT_RATIO
        while body >= 0:
            place = model.bodies[body]
            slides, effort = place["kind"] == PRISMATIC, model.dofs.effort[place["column"]]
            weight = WEIGHT * mass * (1.0 if slides else arm)
            if weight > ratio * effort > 0.0:
                ratio = weight / effort
                joint = next(j.name for j in reversed(model.joints) if j.v <= place["column"])
                worst = f"up to {ratio:.3g} times the effort limit of joint {joint!r}, {effort:g}"
            arm += math.hypot(*place["p"])
            body = place["parent"]
        if worst:
            notes.append(f"{field}: {mass:g} kg at frame {load.frame!r} take {worst}: grams?")
    return notes


def rotational_of(name: str, given: Any, mass: float) -> Array:
    """Rotational inertia (3, 3) of a load about its center, physically possible."""
    if given is None:
        radius = math.cbrt(3.0 * mass / (4.0 * math.pi * DENSITY))
        return 0.4 * mass * radius**2 * np.eye(3)
    values = numbers(name, given, (3, 3), (6,))
    _in_range(name, values)
    rotational = values if values.ndim == 2 else symmetric(values)
    size = float(np.abs(rotational).max())
    if np.abs(rotational - rotational.T).max() > PRINTED * size:
        raise InputError(f"{name} is not symmetric", name, None, "a symmetric matrix")
    rotational = 0.5 * (rotational + rotational.T)
    # The pseudo-inertia of a body is positive (semi)definite where its mass is not negative and
    # neither is Σ = ½ tr(I) 1 − I about the center: the mean square of positions, times the mass.
    least = float(np.linalg.eigvalsh(0.5 * np.trace(rotational) * np.eye(3) - rotational).min())
    if least < -PRINTED * size:
        moments = ", ".join(f"{moment:.6g}" for moment in np.linalg.eigvalsh(rotational))
        wanted = "moments that are not negative and not above the sum of the others"
        message = f"{name}: no body has the principal moments {moments} kg m², expected {wanted}"
        raise InputError(message, name, None, wanted)
    if mass == 0.0 and rotational.any():
        raise InputError(f"{name}: a load without mass has no inertia", name, None, "a mass")
    return rotational


def _in_range(name: str, value: Any) -> None:
    if not (np.abs(value) <= MAX_LOAD).all():
        wanted = f"numbers up to {MAX_LOAD:g}"
        largest = float(np.abs(value).max())
        raise InputError(f"{name} has {largest:g}, expected {wanted}", name, largest, wanted)


def symmetric(six: Array) -> Array:
    """(3, 3) from xx xy xz yy yz zz."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _or(given: Mapping[str, Any], name: str, default: Any) -> Any:
    return default if given.get(name) is None else given[name]


def with_payload(model: Model, loads: Iterable[Load]) -> Model:
    """The model with loads as part of its bodies."""
    bodies, world = model.bodies.copy(), model.world.copy()
    for load in loads:
        body = bodies[load.body]
        own = Inertia(float(body["mass"]), np.array(body["com"]), symmetric(body["inertia"]))
        whole = joined(own, load.inertia)
        body["mass"], body["com"] = whole.mass, whole.com
        body["inertia"] = whole.rotational[np.triu_indices(3)]
    heavy = np.flatnonzero(bodies["mass"] > 0.0)
    world["anchor"] = heavy[0] if len(heavy) else 0
    return replace(model, bodies=bodies, world=world, as_described=False)
