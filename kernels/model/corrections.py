"""What a configuration puts right or adds: limits of joints, which of them have motors, postures.

joints   = {"elbow": {"upper": 2.0, "effort": 40.0}}    # rad or m, rad/s or m/s, N m or N
actuated = ["shoulder", "elbow"]                        # the effort of all others is 0
postures = {"home": {"elbow": 1.2}}                     # joints that are not named are neutral
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.input_checks import (
    known_keys,
    known_name,
    map_or_none,
    names_of,
    numbers,
    shown,
)
from torqued.kernels.model.description import JOINT_SIZES, ROOT_JOINT, Description, Limits
from torqued.kernels.model.rotors import is_number

#: What may be said of a joint.
LIMITS = ("lower", "upper", "velocity", "effort")


def corrected(
    description: Description, joints: Any, actuated: Any, postures: Any
) -> tuple[Description, list[str]]:
    """The description, and all that is wrong with what was given or with its own postures."""
    faults: list[str] = []
    found = {joint.name: joint.limits for joint in description.joints if joint.type != "fixed"}
    for name, given in map_or_none("joints", joints).items():
        try:
            known_name("joints", "joint", name, found)
            found[name] = _limits(f"joints.{name}", found[name], given)
        except InputError as error:
            faults.append(str(error))
    if actuated is not None:
        driven = names_of("actuated", actuated)
        unknown = ", ".join(repr(name) for name in driven if name not in found)
        if unknown:
            faults.append(f"actuated: joint {unknown} is unknown, allowed: {', '.join(found)}")
        idle = [name for name in found if name not in driven]
        found |= {name: replace(found[name], effort=0.0) for name in idle}
    changed = tuple(replace(x, limits=found.get(x.name, x.limits)) for x in description.joints)
    own = {**description.postures, **map_or_none("postures", postures)}
    for name in own:
        if not isinstance(name, str):
            raise InputError(f"postures: {shown(name)} is not a posture's name", "postures")
    checked = {name: _posture(f"postures.{name}", description, own[name], faults) for name in own}
    notes = [
        f"posture {name!r}: {joint} at {q[0]:g} is beyond its limits {at.lower:g} to {at.upper:g}"
        for name, posture in checked.items()
        for joint, q in posture.items()
        if (at := found.get(joint)) and len(q) == 1 and not at.lower <= q[0] <= at.upper
    ]
    notes = [*description.notes, *notes]
    return replace(description, joints=changed, postures=checked, notes=tuple(notes)), faults


def _limits(field: str, old: Limits, given: Any) -> Limits:
    if not isinstance(given, Mapping):
        wanted = f"a map of {', '.join(LIMITS)}"
        raise InputError(f"{field}: {shown(given)}, expected {wanted}", field, None, wanted)
    known_keys(field, given, LIMITS)
    for key, value in given.items():
        if not is_number(value) and not (isinstance(value, float) and math.isinf(value)):
            wanted = "a number; inf where nothing is known"
            raise InputError(f"{field}.{key}: {shown(value)}, expected {wanted}", field)
    return replace(old, **{key: float(value) for key, value in given.items()})


def _posture(
    field: str, description: Description, given: Any, faults: list[str]
) -> dict[str, tuple[float, ...]]:
    """Positions by joint, as many as each has."""
    sizes = {joint.name: JOINT_SIZES.get(joint.type, (0, 0))[0] for joint in description.joints}
    sizes.setdefault(ROOT_JOINT, JOINT_SIZES["floating"][0])
    found: dict[str, tuple[float, ...]] = {}
    try:
        for name, value in map_or_none(field, given).items():
            known_name(field, "joint", name, sizes)
            several = isinstance(value, list | tuple | np.ndarray)
            place = numbers(f"{field}.{name}", value if several else [value], (sizes[name],))
            if sizes[name] in (4, 7) and abs(np.linalg.norm(place[-4:]) - 1.0) > 1e-6:
                wanted = "a unit quaternion x y z w at its end"
                raise InputError(f"{field}.{name}: {place.tolist()}, expected {wanted}", field)
            found[name] = tuple(place.tolist())
    except InputError as error:
        faults.append(str(error))
    return found
