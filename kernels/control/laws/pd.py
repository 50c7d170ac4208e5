"""PD control with gravity compensation: τ = g(q) − K σ(e) − D(q) (v − v_ref), e = q − q_ref.

The simplest law that holds a position. For a reference at rest it is passive with the storage
½ vᵀ M v + P(e), where P is the potential of the spring K σ(e) (saturation.py), and stable for any
positive K and D; a moving reference is followed late. D(q) = D + r M(q): a damping that depends on
q takes energy away like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import joint_gains
from torqued.kernels.control.gains import known, matrix, not_both, not_negative, positive
from torqued.kernels.control.law import (
    Array,
    Fields,
    Gains,
    Law,
    Prepared,
    copy,
    expand_state,
    expand_v,
    fixed_base,
    inner,
    joint_error,
    joint_references,
    law,
    open_control,
    port,
    power_outputs,
    put_power,
    q_ref,
    row,
    times,
    v_ref,
    velocity,
)
from torqued.kernels.control.laws.feed_forward import feed_forward
from torqued.kernels.control.poses import Poses
from torqued.kernels.control.saturation import bounded_spring
from torqued.kernels.dynamics.tracking import carry_error

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Gains that compiled code takes, in this order, and those that they follow from.
TAKEN = ("stiffness", "damping", "damping_rate", "error_limit")
BEHAVIOUR = ("frequency", "damping_ratio")


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """How joints behave: `frequency` (rad/s, number or (nv,)) of a joint with its typical inertia,
    and `damping_ratio`. What follows from them can be given in their place:

    stiffness       N m/rad: number, (nv,) or (nv, nv), positive
    damping         N m s/rad: the same
    damping_rate    1/s: r of D(q) = damping + r M(q)
    error_limit     rad, number or (nv,): errors pull as much as this one and no more
    """
    known(given, (*TAKEN, *BEHAVIOUR))
    for name, others in REPLACES.items():
        if name in BEHAVIOUR:
            not_both(given, name, others)
    n = robot.nv
    frequency = positive(given, "frequency", joint_gains.FREQUENCY, (), (n,))
    frequency = np.broadcast_to(frequency, (n,)).copy()
    default = None if "stiffness" in given else joint_gains.stiffness_for(robot, frequency)
    stiffness = matrix(given, "stiffness", default, n)
    c, r = 0.0, 0.0
    if "damping" not in given and "damping_rate" not in given:
        ratio = positive(given, "damping_ratio", joint_gains.DAMPING_RATIO, ())
        r, c = joint_gains.rayleigh(robot, stiffness, float(ratio))
    damping, rate = whole_damping(given, n, c * stiffness, r)
    speeds = joint_gains.speed_bound(robot)
    limit = speeds * (np.diag(damping) + rate * joint_gains.lightest(robot)) / np.diag(stiffness)
    return {
        "stiffness": stiffness,
        "damping": damping,
        "damping_rate": rate,
        "error_limit": error_limit(given, limit, n),
    }


REPLACES = {
    "frequency": TAKEN,
    "damping_ratio": ("damping", "damping_rate", "error_limit"),
    "damping": ("damping_rate", "error_limit"),
    "damping_rate": ("error_limit",),
}


def whole_damping(given: Fields, n: int, default: Array, rate: float) -> tuple[Array, Array]:
    """`damping` and `damping_rate`: together they have to be positive."""
    r = not_negative(given, "damping_rate", rate)
    return matrix(given, "damping", default, n, definite=not r > 0.0), r


def error_limit(given: Fields, default: Array, n: int) -> Array:
    """(n,) bounds of errors, rad; as finite numbers, which gains on their way to others need."""
    limit = positive(given, "error_limit", joint_gains.bounded(default), (), (n,))
    return np.broadcast_to(joint_gains.bounded(limit), (n,)).copy()


def linearization(robot: Robot, gains: Gains, fields: Fields, poses: Poses) -> tuple[Array, Array]:
    K = np.broadcast_to(gains["stiffness"], poses.M.shape)
    return K, gains["damping"] + gains["damping_rate"] * poses.M


SCALING = {"stiffness": 2, "damping": 1, "damping_rate": 1}


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "pd")
    references = joint_references(robot)
    del references["a_ref"]
    packed = gains(robot, fields.get("gains", {}), fields)
    return Prepared(packed, references, power_outputs(robot))


LAW = Law(
    "pd_torque",
    prepare,
    gains,
    linearization=linearization,
    scaling=SCALING,
    replaces=REPLACES,
)


@law
def pd_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    n = sizes.nv
    e, rate, zero = row(sizes, data, 0), row(sizes, data, 1), row(sizes, data, 2)
    spring, braking, a = row(sizes, data, 3), row(sizes, data, 4), row(sizes, data, 5)
    tau, v, wanted = data.out[:n], velocity(sizes, data), v_ref(sizes, data)
    r, limits = data.gains[2 * n * n], data.gains[2 * n * n + 1 :]
    expand_state(sizes, data)
    joint_error(work, sizes, data, q_ref(sizes, data), e)
    for k in range(n):
        rate[k] = v[k] - wanted[k]
        a[k] = -r * rate[k]
        zero[k] = 0.0
    feed_forward(work, data, zero, a, tau)  # g − r M ė
    storage = bounded_spring(data.gains, 0, limits, e, spring)
    times(data.gains, n * n, rate, braking)
    for k in range(n):
        tau[k] -= spring[k] + braking[k]
    motion = carry_error(work, data.v_free)
    # dV/dt = −vᵀ D(q) (v − v_ref) − v_refᵀ K σ: what is not vᵀ D v is the moving reference's work.
    lost = inner(v, braking) + r * product(work, data, motion, wanted, rate)
    times(data.gains, n * n, v, rate)
    dissipation = inner(v, rate) + r * motion
    copy(v, port(sizes, data))
    storage += 0.5 * motion
    put_power(sizes, data, storage, dissipation, dissipation - lost - inner(wanted, spring))
    return 0


@kernel
def product(work, data, motion, wanted, rate):
    """vᵀ M (v − w) from vᵀ M v, w and v − w, without M v."""
    expand_v(data, wanted, data.w_free)
    expand_v(data, rate, data.s_free)
    reference, error = carry_error(work, data.w_free), carry_error(work, data.s_free)
    return 0.5 * (motion + error - reference)
