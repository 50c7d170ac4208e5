"""Springs between motors and links: what a robot with series-elastic joints has beside its links.

    links     M q̈ + C q̇ + g = τ_J + τ_ext       τ_J = K (θ − q) + D (θ̇ − q̇)
    motors    B θ̈ + τ_J = u

the reduced model of Spong (Modeling and control of elastic joint robots, 1987): of a motor's
kinetic energy only its own spin counts. θ, B and u are as the link sees them, behind the gear. The
torques of a session are u: they act on motors, and so must all that brakes without a law. What
links feel is τ_J.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.input_checks import known_keys, numbers, shown

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

Array = NDArray[np.float64]

NAMES = ("stiffness", "motor_inertia", "damping")
WANTED = "a map with stiffness (N m/rad) and motor_inertia (kg m²)"
#: What states have beside q and v where there are springs, (nv,) each.
MEASURED = ("motor_q", "motor_v")


@dataclass(frozen=True)
class Springs:
    """Each (nv,); empty where motors move joints without springs between."""

    stiffness: Array  # N m/rad
    motor_inertia: Array  # kg m²
    damping: Array  # N m s/rad, beside the spring

    def __len__(self) -> int:
        return len(self.stiffness)


RIGID = Springs(np.zeros(0), np.zeros(0), np.zeros(0))


def springs_of(robot: Robot, given: Any) -> Springs:
    """The option `springs`: `stiffness` and `motor_inertia`, positive, and `damping`, zero or
    positive; a number or (nv,) each."""
    if given is None:
        raise InputError(f"springs is missing, expected {WANTED}", "springs", None, WANTED)
    if not isinstance(given, Mapping):
        message = f"springs: {shown(given)}, expected {WANTED}"
        raise InputError(message, "springs", None, WANTED)
    known_keys("springs", given, NAMES)

    def of(name: str, positive: bool) -> Array:
        field = f"springs.{name}"
        if positive and given.get(name) is None:
            raise InputError(f"{field} is missing, expected positive numbers", field, None)
        found = numbers(field, 0.0 if given.get(name) is None else given[name], (), (robot.nv,))
        least = float(found.min(initial=math.inf))
        if least < 0.0 or (positive and least == 0.0):
            wanted = "positive numbers" if positive else "zero or positive numbers"
            raise InputError(f"{field} has {least}, expected {wanted}", field, least, wanted)
        return np.broadcast_to(found, (robot.nv,)).copy()

    if robot.nq != robot.nv:
        raise InputError(
            f"springs: robot {robot.name!r} has joints with several coordinates; expected joints "
            "that turn or slide",
            "springs",
        )
    return Springs(of("stiffness", True), of("motor_inertia", True), of("damping", False))


@kernel
def motor_position(sizes, data):
    """θ; where there are no springs, q of joints is what torques act on."""
    start = sizes.nq + sizes.nv if sizes.springs > 0 else 0
    return data.state[start : start + sizes.nq]


@kernel
def motor_velocity(sizes, data):
    """θ̇; where there are no springs, v."""
    start = sizes.nq + sizes.nv + sizes.springs if sizes.springs > 0 else sizes.nq
    return data.state[start : start + sizes.nv]


@kernel
def deflection(sizes, data, k):
    """θ − q of joint k; of one that turns on and on the shorter way."""
    start = sizes.nq + sizes.nv
    z = data.state[start + k] - data.state[k]
    if data.turn[k] > 0.0:
        z -= data.turn[k] * math.ceil(z / data.turn[k] - 0.5)
    return z


@kernel
def deflection_rate(sizes, data, k):
    """θ̇ − q̇ of joint k."""
    start = sizes.nq + sizes.nv + sizes.springs
    return data.state[start + k] - data.state[sizes.nq + k]


@kernel
def spring_torque(sizes, data, k):
    """τ_J of joint k."""
    turned, turning = deflection(sizes, data, k), deflection_rate(sizes, data, k)
    return data.stiffness[k] * turned + data.spring_damping[k] * turning
