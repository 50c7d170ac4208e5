"""How fast references may go where motors have little left beside the weight that they carry.

With a share α of the limits of accelerations and λ of those of speeds, λ² ≤ α, a motion takes

    τ = g(q) + λ² C(q, v) v ± α M(q) a

α is what keeps that within a part of the efforts where the reference is and where it could stand:
a robot that enters a pose that motors hardly hold has to brake there with what is left. Standing
takes a share λ²/α of the way that it takes from full speed. So where weights ahead are too much to
be held, shorter ways are looked at, for which the speed has to be lower.

Poses whose weight takes more than `load` of an effort are not moved into at all: the reference
stands before them, and waits until it is sent elsewhere. Out of such poses it goes slowly.
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import expand_q, expand_v, project
from torqued.kernels.control.references.limiter import stopping_distance
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.rnea import (
    add_armature,
    collect_forces,
    newton_euler_sweep,
    rest_acceleration,
)

#: Share of an effort that weight and motion may take together: the rest is for what a model does
#: not know and for errors.
MOTION_SHARE = 0.9
#: Of weight alone, unless `reference_limits` says otherwise.
LOAD_SHARE = 0.8
#: α at the least: of a reference on its way out of where nothing is left.
MIN_SHARE = 0.01
#: The same of one that is too fast: what is left there would take it on into heavier poses.
STOP_SHARE = 0.5
#: Ways ahead that are looked at, relative to that which standing takes from full speed.
WAYS = (1.0, 0.25, 0.0625, 0.015625)


@kernel
def torque_at(work, data, v, a, tau):
    """Inverse dynamics; needs body_poses."""
    expand_v(data, v, data.w_free)
    expand_v(data, a, data.a_free)
    newton_euler_sweep(work, data.w_free, data.a_free, rest_acceleration(work))
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    project(data, data.tau_free, tau)


@kernel
def share_at(work, sizes, data, q, going):
    """The largest α at a pose q (nq,), and the largest share of an effort that its weight takes.

    `going` (nv,) is where joints are going: their speeds in units of the largest.
    """
    v, a, g, tau = data.rows[4], data.rows[5], data.rows[6], data.rows[7]
    expand_q(data, q, data.q_other)
    body_poses(work, data.q_other)
    v[:] = a[:] = 0.0
    torque_at(work, data, v, a, g)
    share, load = 1.0, 0.0
    for k in range(sizes.nv):
        if has_effort(data, k):
            load = max(load, abs(g[k]) / data.effort[k])
    for sign in (1.0, -1.0):
        for k in range(sizes.nv):
            v[k], a[k] = going[k] * data.speed[k], sign * going[k] * data.acceleration[k]
        torque_at(work, data, v, a, tau)
        for k in range(sizes.nv):
            if has_effort(data, k):
                motion = tau[k] - g[k]
                left = MOTION_SHARE * data.effort[k] - math.copysign(1.0, motion) * g[k]
                if left < share * abs(motion):
                    share = max(0.0, left / abs(motion))
    return share, load


@kernel
def has_effort(data, k):
    return 0.0 < data.effort[k] < math.inf


@kernel
def look_ahead(sizes, data, p, e, going, part, ahead):
    """Where joints that are e (nv,) from their goals could stand, by a part of the way from p."""
    for i in range(sizes.nq):
        ahead[i] = p[i]
    for k in range(sizes.nv):
        if data.coordinate[k] >= 0 and going[k] != 0.0:
            speed = math.sqrt(part) * data.speed[k]
            way = stopping_distance(speed, data.acceleration[k], data.jerk[k])
            if going[k] * e[k] >= 0.0:
                way = min(way, abs(e[k]))
            ahead[data.coordinate[k]] += math.copysign(way, going[k])


@kernel
def pace_of(work, sizes, data, p, e, going, ahead):
    """λ and α for a reference at p (nq,), e (nv,) from where it goes, and whether it may go on.

    `ahead` (nq,) is scratch.
    """
    here, load_here = share_at(work, sizes, data, p, going)
    most = max(data.load_share[0], load_here)
    share = max(here, MIN_SHARE)
    for part in WAYS:
        look_ahead(sizes, data, p, e, going, part, ahead)
        there, load = share_at(work, sizes, data, ahead, going)
        if load <= most:
            share = max(MIN_SHARE, min(here, there))
            return math.sqrt(part * share), share, True
    return math.sqrt(WAYS[-1] * share), share, False
