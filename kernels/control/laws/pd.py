"""PD control with gravity compensation: τ = g(q) − K σ(e) − D(q) (v − v_ref), e = q − q_ref.

The simplest law that holds a position. For a reference at rest it is passive with the storage
½ vᵀ M v + P(e), where P is the potential of the spring K σ(e) (saturation.py), and stable for any
positive K and D; a moving reference is followed late. D(q) = D + r M(q): a damping that depends on
q takes energy away like any other.

Errors that are large, and all of a joint whose spring is weak, are drawn in with the speed w(e)
besides, by M dw/dt + C w of it: with s = v + w(e) in place of v, the storage is ½ sᵀ M s + P(e),
and falls by sᵀ D s + wᵀ K σ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import joint_gains, law
from torqued.kernels.control.gains import matrix, not_both, not_negative, positive
from torqued.kernels.control.laws.feed_forward import feed_forward, fit
from torqued.kernels.control.poses import Poses
from torqued.kernels.control.saturation import bounded_spring, fill_approach
from torqued.kernels.dynamics.tracking import carry_error
from torqued.kernels.input_checks import known_keys

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Gains that compiled code takes, in this order, and those that they follow from.
TAKEN = ("stiffness", "damping", "damping_rate", "error_limit", "approach_speed", "bandwidth")
BEHAVIOUR = ("frequency", "damping_ratio")


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """How joints behave: `frequency` (rad/s, number or (nv,)) of a joint with its typical inertia,
    and `damping_ratio`. What follows from them can be given in their place:

    stiffness       N m/rad: number, (nv,) or (nv, nv), positive
    damping         N m s/rad: the same
    damping_rate    1/s: r of D(q) = damping + r M(q)
    error_limit     rad, number or (nv,): errors pull as much as this one and no more
    approach_speed  rad/s, number or (nv,): with which larger errors are drawn in
    bandwidth       1/s, number or (nv,): Λ of s = ė + Λ e in place of ė, which damping turns into
                    the stiffness Λ D(q). By default of joints whose spring is too weak: a constant
                    one has to suit the pose in which they are lightest
    """
    known_keys("gains", given, (*TAKEN, *BEHAVIOUR))
    for name, others in REPLACES.items():
        if name in BEHAVIOUR:
            not_both(given, name, others)
    n = robot.nv
    frequency = positive(given, "frequency", joint_gains.FREQUENCY, (), (n,))
    frequency = np.broadcast_to(frequency, (n,)).copy()
    default = None if "stiffness" in given else joint_gains.stiffness_for(robot, frequency)
    stiffness = matrix(given, "stiffness", default, n)
    c, r, bandwidth = 0.0, 0.0, np.zeros(n)
    if "damping" not in given and "damping_rate" not in given:
        if default is not None:
            bandwidth = joint_gains.bandwidth_for(robot, frequency, default)
        ratio = positive(given, "damping_ratio", joint_gains.DAMPING_RATIO, ())
        r, c = joint_gains.rayleigh(robot, stiffness, float(ratio))
    damping, rate = whole_damping(given, n, c * stiffness, r)
    speeds = joint_gains.speed_bound(robot, joint_gains.SPRING_SHARE)
    with np.errstate(over="ignore"):  # of a limit that is beyond all errors
        lost = np.diag(damping) + rate * joint_gains.free_inertia(robot)
        limit = speeds * lost / np.diag(stiffness)
    return {
        "stiffness": stiffness,
        "damping": damping,
        "damping_rate": rate,
        "error_limit": error_limit(given, limit, n),
        "approach_speed": approach_speed(robot, given),
        "bandwidth": each(given, "bandwidth", bandwidth),
    }


REPLACES = {
    "frequency": (*TAKEN[:4], "bandwidth"),
    "damping_ratio": ("damping", "damping_rate", "error_limit"),
    "stiffness": ("bandwidth",),
    "damping": ("damping_rate", "error_limit", "bandwidth"),
    "damping_rate": ("error_limit", "bandwidth"),
}


def whole_damping(
    given: law.Fields, n: int, default: law.Array, rate: float
) -> tuple[law.Array, law.Array]:
    """`damping` and `damping_rate`: together they have to be positive."""
    r = not_negative(given, "damping_rate", rate, ())
    return matrix(given, "damping", default, n, definite=not r > 0.0), r


def error_limit(given: law.Fields, default: law.Array, n: int) -> law.Array:
    """(n,) bounds of errors, rad; as finite numbers, which gains on their way to others need."""
    limit = positive(given, "error_limit", joint_gains.bounded(default), (), (n,))
    return np.broadcast_to(joint_gains.bounded(limit), (n,)).copy()


def approach_speed(robot: Robot, given: law.Fields) -> law.Array:
    """(nv,) rad/s; zero where there is no velocity limit, and errors are not bounded."""
    default = joint_gains.speed_bound(robot, joint_gains.APPROACH_SHARE)
    default = np.where(np.isfinite(default), default, 0.0)
    return each(given, "approach_speed", default)


def each(given: law.Fields, name: str, default: law.Array) -> law.Array:
    """(nv,) numbers of joints that are not negative."""
    values = not_negative(given, name, default, (), default.shape)
    return np.broadcast_to(values, default.shape).copy()


def linearization(
    robot: Robot, gains: law.Gains, fields: law.Fields, poses: Poses
) -> tuple[law.Array, law.Array]:
    K = np.broadcast_to(gains["stiffness"], poses.M.shape)
    D = gains["damping"] + gains["damping_rate"] * poses.M
    if np.count_nonzero(gains["stiffness"] - np.diag(np.diag(gains["stiffness"]))):
        return K, D  # as `fill_approach` has it
    rates = gains["bandwidth"]
    return K + D * rates, D + poses.M * rates


SCALING = {"stiffness": 2, "damping": 1, "damping_rate": 1, "bandwidth": 1}


def prepare(robot: Robot, fields: law.Fields) -> law.Prepared:
    law.fixed_base(robot, "pd")
    references = law.joint_references(robot)
    del references["a_ref"]
    packed = gains(robot, fields.get("gains", {}), fields)
    return law.Prepared(packed, references, law.power_outputs(robot))


LAW = law.Law(
    "pd_torque", prepare, gains, linearization=linearization, scaling=SCALING, replaces=REPLACES
)


@law.law
def pd_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = law.open_control(handle, address)
    n = sizes.nv
    e, w, a = data.rows[0], data.rows[1], data.rows[2]
    spring, braking, lost = data.rows[3], data.rows[4], data.rows[5]
    tau, s, v = data.out[:n], law.port(sizes, data), law.velocity(sizes, data)
    wanted = law.v_ref(sizes, data)
    r, bounds = data.gains[2 * n * n], data.gains[2 * n * n + 1 :]
    limits, speeds, rates = bounds[:n], bounds[n : 2 * n], bounds[2 * n :]
    law.expand_state(sizes, data)
    law.joint_error(work, sizes, data, law.q_ref(sizes, data), e)
    fill_approach(data.gains, limits, speeds, rates, e, w, a)
    energy = bounded_spring(data.gains, 0, limits, e, spring)
    taken = law.inner(w, spring)
    for k in range(n):
        s[k] = v[k] + w[k]
        braking[k] = s[k] - wanted[k]
        a[k] = -a[k] * (v[k] - wanted[k]) - r * braking[k]
        w[k] = -w[k]
    motion = feed_forward(work, data, w, a, tau)  # g − M dw/dt − C w − r M (s − v_ref)
    # dV/dt = −sᵀ D(q) (s − v_ref) − wᵀ K σ − v_refᵀ K σ: what is neither sᵀ D s nor wᵀ K σ is the
    # moving reference's work.
    driven = r * product(work, data, motion, wanted, braking) - law.inner(wanted, spring)
    law.copy(braking, e)
    law.times(data.gains, n * n, e, braking)
    law.times(data.gains, n * n, s, lost)
    for k in range(n):
        tau[k] -= spring[k] + braking[k]
    dissipation = law.inner(s, lost) + r * motion
    driven += law.inner(s, lost) - law.inner(s, braking)
    law.put_power(sizes, data, 0.5 * motion + energy, dissipation + taken, driven)
    return fit(work, data, w, tau, lost, braking)


@kernel
def product(work, data, motion, wanted, rate):
    """sᵀ M w from sᵀ M s, w and s − w, without M s."""
    law.expand_v(data, wanted, data.w_free)
    law.expand_v(data, rate, data.s_free)
    reference, error = carry_error(work, data.w_free), carry_error(work, data.s_free)
    return 0.5 * (motion + reference - error)
