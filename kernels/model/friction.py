"""Friction of joints by name, as a configuration has it: measured, in place of a file's.

    {"viscous": {"joint1": 1.5}, "coulomb": 0.4}

`viscous` N m s/rad and `coulomb` N m (N s/m and N for sliding joints), each a number for all joints
or a table by joint. Joints that are not named keep what their file says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.input_checks import known_keys, known_name, nonnegative, shown
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Model

#: What a table may have, and which of a model's numbers it is.
KEYS = {"viscous": "damping", "coulomb": "friction"}


def with_friction(model: Model, given: Any) -> Model:
    """The model with measured friction: laws compensate it without being asked."""
    if not isinstance(given, Mapping):
        wanted = f"a map with {', '.join(KEYS)}"
        raise InputError(f"friction: {shown(given)}, expected {wanted}", "friction", None, wanted)
    known_keys("friction", given, KEYS)
    changed = {
        KEYS[key]: _by_joint(model, key, value, getattr(model.dofs, KEYS[key]))
        for key, value in given.items()
    }
    return replace(
        model,
        dofs=replace(model.dofs, **changed),
        friction_measured=bool(changed),
        as_described=False,
    )


def _by_joint(model: Model, key: str, value: Any, old: Array) -> Array:
    new = old.copy()
    own = model.joints[1:] if model.base == "floating" else model.joints
    joints = {joint.name: joint for joint in own}
    if not isinstance(value, Mapping):
        value = dict.fromkeys(joints, nonnegative(f"friction.{key}", value))
    for name, number in value.items():
        joint = joints[known_name(f"friction.{key}", "joint", name, joints)]
        new[joint.v : joint.v + joint.nv] = nonnegative(f"friction.{key}.{name}", number)
    return new


def own_friction(model: Model) -> tuple[Array, Array]:
    """Viscous and Coulomb friction (nv,) of the robot's coordinates; followers add to leaders'."""
    mimics, free = model.mimics, model.dofs
    viscous = np.zeros(len(mimics.leaders_v))
    coulomb = viscous.copy()
    np.add.at(viscous, mimics.v_index, mimics.multiplier**2 * free.damping)
    np.add.at(coulomb, mimics.v_index, np.abs(mimics.multiplier) * free.friction)
    return viscous, coulomb
