"""Tracking with series-elastic joints: feedback linearization through τ̈ ([M18] section 6.3).

Links are moved by springs, springs by motors (springs.py), so that a motor's torque u shows in the
fourth derivative of q and in no lower one. q is a flat output (De Luca and Lucibello 1998): with
M q̈ + n = τ_J, n = C v + g, state and torque are functions of q and its derivatives. What the spring
does now tells the acceleration and jerk of the link, without differences of measured numbers,

    q̈ = M⁻¹ (τ_J − n)        q⃛ = M⁻¹ (τ̇_J − Ṁ q̈ − ṅ)

and inverse dynamics of order two, τ̈(q, v, q̈, q⃛, s), the torque rate for a snap s of the links:

    u = τ_J + B (q̈ + z̈),      K z̈ + D z⃛ = τ̈,      z = θ − q

Without damping D beside the springs z̈ = K⁻¹ τ̈. With it z̈ is the state of a filter of rate K/D, so
that the snap is exact all the same. It is chosen for two sections of second order, one behind the
other; with e = q − q_ref and bounded errors σ(e) (saturation.py)

    y = ë + 2 ζ ω ė + ω² σ(e)             ÿ + 2 ζ' ω' ẏ + ω'² σ(y) = 0

The second section, ω' and ζ', is the motion of springs, and best near their own resonance: then
little of them is changed. The first is what is left of an error: its joints behave alike, at every
pose. y is bounded as well, by accelerations that motors can give through their springs. The storage
½ ẏᵀ ẏ + P(y), with P the potential of ω'² σ(y), falls by ẏᵀ 2 ζ' ω' ẏ. Torques at the motors that
the model lacks do their work on it at the port B⁻¹ K M⁻¹ ẏ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from torqued.common.status import SOLVER
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import joint_gains, law
from torqued.kernels.control.elastic_stability import elastic_radii
from torqued.kernels.control.gains import positive
from torqued.kernels.control.laws.feed_forward import scale_into
from torqued.kernels.control.laws.pd import error_limit
from torqued.kernels.control.poses import Poses, poses_of
from torqued.kernels.control.saturation import potential, saturated, slope
from torqued.kernels.control.session_arrays import first_reference
from torqued.kernels.control.springs import Springs, deflection_rate, spring_torque, springs_of
from torqued.kernels.derivatives.rates import fill_rates
from torqued.kernels.derivatives.space import derivative_space, open_space
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.input_checks import known_keys
from torqued.kernels.primitives.dense import cholesky, cholesky_solve

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: rad/s and damping ratio of the first section; with 1 a double pole.
FREQUENCY, RATIO = 20.0, 1.0
#: Damping ratio of the second, and rad/s that it has at most by default: a loop of 1 kHz
#: with torques that are 2 ms late follows no faster spring.
SPRING_RATIO, FASTEST = 0.7, 200.0

#: Of the effort, what y may take by itself where a joint is heaviest.
EFFORT_SHARE = 0.5

GAINS = (
    *("frequency", "damping_ratio", "spring_frequency", "spring_damping_ratio"),
    *("error_limit", "acceleration_limit"),
)


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """How errors go away, each a number or (nv,), positive:

    frequency              rad/s, ω, and
    damping_ratio          ζ, of what is left of an error once springs are at rest
    spring_frequency       rad/s, ω', and
    spring_damping_ratio   ζ', of springs; by default about their own resonance
    error_limit            rad: errors pull as much as this one and no more
    acceleration_limit     rad/s²: and what is left of y, as much as this
    """
    known_keys("gains", given, GAINS)
    n = robot.nv
    springs = springs_of(robot, fields.get("springs"))

    def of(name: str, default: law.Array | float) -> law.Array:
        return np.broadcast_to(positive(given, name, default, (), (n,)), (n,)).copy()

    frequency, ratio = of("frequency", FREQUENCY), of("damping_ratio", RATIO)
    with np.errstate(over="ignore"):  # of a limit that is beyond all errors
        limit = joint_gains.speed_bound(robot) * 2.0 * ratio / frequency
    fast = of("spring_frequency", spring_frequency(robot, springs))
    most = of("acceleration_limit", acceleration_limit(robot, springs, fast))
    return {
        "frequency": frequency,
        "damping_ratio": ratio,
        "spring_frequency": fast,
        "spring_damping_ratio": of("spring_damping_ratio", SPRING_RATIO),
        "error_limit": error_limit(given, limit, n),
        "acceleration_limit": joint_gains.bounded(most),
    }


def acceleration_limit(robot: Robot, springs: Springs, fast: law.Array) -> law.Array:
    """(nv,) y for which B K⁻¹ M ω'² y is a share of the effort, M where a joint is heaviest."""
    heaviest = np.diagonal(poses_of(robot).M, axis1=1, axis2=2).max(axis=0)
    effort = np.where(robot.limits.effort > 0.0, robot.limits.effort, np.inf)
    with np.errstate(over="ignore", under="ignore"):
        per_torque = springs.stiffness / (springs.motor_inertia * heaviest * fast**2)
        return joint_gains.bounded(EFFORT_SHARE * effort * per_torque)


def spring_frequency(robot: Robot, springs: Springs) -> law.Array:
    """(nv,) rad/s, of motor and link against each other, the link with its typical inertia."""
    K = springs.stiffness
    with np.errstate(over="ignore"):  # of springs as stiff as steel
        resonance = np.sqrt(K / springs.motor_inertia + K / joint_gains.free_inertia(robot))
    return np.minimum(resonance, FASTEST)


def radii(
    robot: Robot, gains: law.Gains, fields: law.Fields, poses: Poses, period: float, delay: float
) -> law.Array:
    springs = springs_of(robot, fields.get("springs"))
    return elastic_radii(poses.M, springs, gains, period, delay)


def prepare(robot: Robot, fields: law.Fields) -> law.Prepared:
    law.fixed_base(robot, "elastic")
    packed = gains(robot, fields.get("gains", {}), fields)
    rates = ("v_ref", "a_ref", "jerk_ref", "snap_ref")
    space = derivative_space(robot.work.arrays)  # its own scratch: sessions share no memory
    return law.Prepared(
        packed,
        {"q_ref": robot.neutral(), **{name: np.zeros(robot.nv) for name in rates}},
        law.power_outputs(robot),
        memory=np.zeros(robot.nv + 1),  # z̈, and 1 once time has passed
        remembered=robot.nv + 1,
        law_memory=space.address,
        owner=space,
        springs=springs_of(robot, fields.get("springs")),
    )


LAW = law.Law(
    "elastic_torque",
    prepare,
    gains,
    options=("springs",),
    radii=radii,  # and no scaling: slower springs are not more stable ones
    replaces={
        "frequency": ("error_limit",),
        "damping_ratio": ("error_limit",),
        "spring_frequency": ("acceleration_limit",),
    },
)


@kernel
def factor_mass(work, sizes, data):
    """L of M = L Lᵀ, and a status; needs body_poses."""
    M_free, M = law.square(data, 0, sizes.nv_free), law.square(data, 1, sizes.nv)
    composite_inertias(work)
    fill_mass_matrix(work, M_free)
    law.project_square(data, M_free, M)
    return M, cholesky(M)


@kernel
def link_motion(work, space, sizes, data, L, z2, bias, a, jerk):
    """q̈ and q⃛ of the links, and n; z2 is z̈. Needs body_poses and expand_state."""
    first, second = data.square[2, 0], data.square[2, 1]
    data.a_free[:] = data.w_free[:] = data.s_free[:] = 0.0
    v, still = data.v_free, data.w_free
    fill_rates(work, space, v, data.a_free, still, data.s_free, data.tau_free, first, second)
    law.project(data, data.tau_free, bias)
    for k in range(sizes.nv):
        a[k] = spring_torque(sizes, data, k) - bias[k]
        if len(data.bias) > 0:  # a torque on links that integral action has found
            a[k] += data.bias[k]
    cholesky_solve(L, a)
    law.expand_v(data, a, data.a_free)
    fill_rates(work, space, v, data.a_free, still, data.s_free, data.tau_free, first, second)
    law.project(data, first, jerk)
    for k in range(sizes.nv):
        rate = data.stiffness[k] * deflection_rate(sizes, data, k) + data.spring_damping[k] * z2[k]
        jerk[k] = rate - jerk[k]
    cholesky_solve(L, jerk)


@kernel
def wanted_snap(sizes, data, e, a, jerk, y, rate, snap):
    """s, y and ẏ; e, a and jerk as link_motion and joint_error have them."""
    n, at = sizes.nv, first_reference(sizes) + sizes.nq
    v, wanted, given = law.velocity(sizes, data), law.v_ref(sizes, data), law.a_ref(sizes, data)
    jerk_ref, snap_ref = data.state[at + 2 * n : at + 3 * n], data.state[at + 3 * n : at + 4 * n]
    omega, zeta = data.gains[:n], data.gains[n : 2 * n]
    omega2, zeta2 = data.gains[2 * n : 3 * n], data.gains[3 * n : 4 * n]
    limits, most = data.gains[4 * n : 5 * n], data.gains[5 * n :]
    for k in range(n):
        e1, e2, e3 = v[k] - wanted[k], a[k] - given[k], jerk[k] - jerk_ref[k]
        b, c = 2.0 * zeta[k] * omega[k], omega[k] ** 2
        first = slope(e[k], limits[k]) * e1
        second = slope(e[k], limits[k]) * e2 + bend(e[k], limits[k]) * e1 * e1
        y[k] = e2 + b * e1 + c * saturated(e[k], limits[k])
        rate[k] = e3 + b * e2 + c * first
        pull = omega2[k] ** 2 * saturated(y[k], most[k])
        spring = 2.0 * zeta2[k] * omega2[k] * rate[k] + pull
        snap[k] = snap_ref[k] - b * e3 - c * second - spring


@kernel
def bend(e, limit):
    """d²σ/de²."""
    h = 0.5 * limit
    if abs(e) <= h:
        return 0.0
    return -2.0 * h * h / (e * e * e)


@kernel
def deflect(control, sizes, data, second, z2):
    """z̈ that gives τ_J the second rate τ̈, D z⃛ + K z̈ = τ̈, one step on from that of the last tick.

    It goes into `second`; where no time has passed yet there is no filter, z̈ = K⁻¹ τ̈.
    """
    if control.elapsed > 0.0:
        data.memory[sizes.nv] = 1.0
    begun = data.memory[sizes.nv] == 1.0
    for k in range(sizes.nv):
        K, D = data.stiffness[k], data.spring_damping[k]
        share = 1.0
        if D > 0.0 and begun:
            share = 1.0 - math.exp(-K / D * control.elapsed)
        second[k] = z2[k] + share * (second[k] / K - z2[k])
        if begun:
            z2[k] = second[k]


@law.law
def elastic_torque(handle, address):
    """Returns status bits."""
    work, control, sizes, data = law.open_control(handle, address)
    space = open_space(np.int64(control[0].law_memory))
    n = sizes.nv
    e, a, jerk = data.rows[0], data.rows[1], data.rows[2]
    snap, y, rate = data.rows[3], data.rows[4], data.rows[5]
    bias, force = data.rows[6], data.rows[7]
    tau, z2, second = data.out[:n], data.memory[:n], data.square[2, 1]
    law.expand_state(sizes, data)
    law.joint_error(work, sizes, data, law.q_ref(sizes, data), e)
    body_poses(work, data.q_free)
    L, status = factor_mass(work, sizes, data)
    if status != OK:
        return SOLVER
    link_motion(work, space, sizes, data, L, z2, bias, a, jerk)
    if control[0].cut != 0:  # the motor did not get what z̈ stands for
        for k in range(n):
            z2[k] = (data.last[k] - spring_torque(sizes, data, k)) / data.motor_inertia[k] - a[k]
    wanted_snap(sizes, data, e, a, jerk, y, rate, snap)
    law.expand_v(data, jerk, data.w_free)
    law.expand_v(data, snap, data.s_free)
    first, v = data.square[2, 0], data.v_free
    fill_rates(work, space, v, data.a_free, data.w_free, data.s_free, data.tau_free, first, second)
    law.project(data, second, force)
    deflect(control[0], sizes, data, force, z2)
    for k in range(n):
        tau[k] = spring_torque(sizes, data, k) + data.motor_inertia[k] * (a[k] + force[k])
        force[k] = tau[k] - bias[k]
    status = scale_into(data.effort, force, tau)
    storage = dissipation = 0.0
    for k in range(n):
        omega2, zeta2 = data.gains[2 * n + k], data.gains[3 * n + k]
        storage += 0.5 * rate[k] ** 2 + omega2**2 * potential(y[k], data.gains[5 * n + k])
        dissipation += 2.0 * zeta2 * omega2 * rate[k] ** 2
    law.put_power(sizes, data, storage, dissipation, 0.0)
    law.copy(rate, law.port(sizes, data))
    cholesky_solve(L, law.port(sizes, data))
    for k in range(n):
        data.out[n + 3 + k] *= data.stiffness[k] / data.motor_inertia[k]
    return status
