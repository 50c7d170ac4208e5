"""What joints carry that the model does not have, from how they answer to torques.

    r = τ − τ̂(q, v, a) = J a + L          for each joint by itself

τ̂ is the inverse dynamics of the model, τ the torque that was sent. J is inertia that the model
lacks (rotors, a load), L a torque that it lacks (a load's weight, friction, a person). Least
squares over a short window give J, from quick changes of a and r; L is what is left of r. The
fallback and walls use both, laws do not.

A joint that is asked to slow down and does not has more inertia than is known: J then grows by a
share per tick until the joint answers. With too little J a joint is slow, with too much it may
oscillate; an oscillation is what least squares see best, and J falls at once.

Windows are counted in ticks, as the delay of torques is. Sent torques are what counts, so limits
wind nothing up. Learning begins again after a tick without it, J alone stays. |L| is within the
effort limit.
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import expand_v, project
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.rnea import (
    add_armature,
    collect_forces,
    newton_euler_sweep,
    rest_acceleration,
)
from torqued.kernels.dynamics.tree import column_at

#: Rows of `data.unknown`: v; the torque that acts by now; a and r, low-passed; the same, slower;
#: variance of their difference in a, and covariance with that in r; the acceleration that should be
#: there by now; J; L that the fallback compensates. Then what is left for the next tick: a torque
#: that takes what the model does not have, and the acceleration that a joint is asked for.
V, SENT, A, R, SLOW_A, SLOW_R, VAR, COV, ASKED, INERTIA, LOAD, BESIDE, WANTED = range(13)
#: Places in `data.learning`: ticks in a row that taught something, and whether this one has.
TICKS, NOW = range(2)
#: s, the shortest tick; then in ticks: how late torques act, about; time constants of the
#: low-passes; the window.
TICK, LAG, FILTER, SLOW_FILTER, WINDOW = 1e-3, 2.0, 5.0, 13.0, 30.0
#: Of the speed limit per second: a spread of accelerations that noise does not make.
EXCITED = 0.25
#: Share by which J grows in a tick, and of the wanted deceleration below which it does.
GROWTH, ANSWER = 0.3, 0.5
#: Share of the speed limit below which a joint counts as at rest.
AT_REST = 0.02
#: J is at most what the effort takes to its speed limit in so many seconds, and so many times the
#: least inertia of the model.
SLOWEST, HEAVIEST = 0.2, 1e3
#: Times the effort: a larger r is a fault of the state, which teaches nothing.
BELIEVABLE = 4.0


@kernel
def forget(data):
    """Begin at zero."""
    data.learning[:] = 0
    data.unknown[:] = 0.0


@kernel
def end_tick(data):
    """After a tick that taught nothing learning begins again."""
    if data.learning[NOW] == 0:
        data.learning[TICKS] = 0
    data.learning[NOW] = 0


@kernel
def learn(work, sizes, data, v, is_modelled, dt):
    """Once per tick, from what the torques of the last one did; needs expand_state.

    Where the tree does not have what acts on it (contacts, mimic joints), L is the acceleration of
    a joint's least inertia beside what walls make of it, and there is no J.
    """
    x, a, r = data.unknown, data.rows[8], data.rows[9]
    data.learning[NOW] = 1
    data.learning[TICKS] += 1
    if data.learning[TICKS] == 1:
        x[:INERTIA], x[LOAD:] = 0.0, 0.0
    ticks, tick = float(data.learning[TICKS] - 1), max(dt, TICK)
    lag = 1.0 - math.exp(-dt / (LAG * tick)) if ticks > 0.0 else 1.0
    for k in range(sizes.nv):
        a[k] = (v[k] - x[V, k]) / dt if dt > 0.0 else math.nan
        x[V, k] = v[k]
        sent = data.last[k] - x[BESIDE, k] if is_modelled else data.wall_tau[k]
        x[SENT, k] += lag * (sent - x[SENT, k])
    if ticks == 0.0:
        return
    if is_modelled:
        motion_torque(work, data, a, r)
    for k in range(sizes.unactuated, sizes.nv):
        r[k] = x[SENT, k] - (r[k] if is_modelled else data.least_inertia[k] * a[k])
        if not abs(r[k]) < min(BELIEVABLE * data.effort[k], 1e9):
            data.learning[TICKS] -= 1
            return
    share = max(1.0 - math.exp(-dt / (FILTER * tick)), 1.0 / ticks)
    answered = 1.0 - math.exp(-dt / ((LAG + FILTER) * tick))
    slow = max(1.0 - math.exp(-dt / (SLOW_FILTER * tick)), 1.0 / ticks)
    for k in range(sizes.unactuated, sizes.nv):
        x[A, k] += share * (a[k] - x[A, k])
        x[R, k] += share * (r[k] - x[R, k])
        x[SLOW_A, k] += slow * (a[k] - x[SLOW_A, k])
        x[SLOW_R, k] += slow * (r[k] - x[SLOW_R, k])
        da, dr = x[A, k] - x[SLOW_A, k], x[R, k] - x[SLOW_R, k]
        x[ASKED, k] += answered * (x[WANTED, k] - x[ASKED, k])
        x[VAR, k] += dt / (WINDOW * tick) * (da * da - x[VAR, k])
        x[COV, k] += dt / (WINDOW * tick) * (da * dr - x[COV, k])
        if is_modelled and ticks > FILTER:
            learn_inertia(data, k, v[k], dt / tick)


@kernel
def learn_inertia(data, k, v, ticks):
    """J of joint k."""
    x, effort, least = data.unknown[:, k], data.effort[k], data.least_inertia[k]
    J, asked = x[INERTIA], x[ASKED] * v
    if abs(v) > AT_REST * data.speed[k] and asked < 0.0 and x[A] * v > ANSWER * asked:
        J += GROWTH * ticks * (J + least)
    elif x[VAR] > (EXCITED * data.speed[k]) ** 2:
        J = x[COV] / x[VAR]
    x[INERTIA] = min(max(J, 0.0), min(SLOWEST * effort / data.speed[k], HEAVIEST * least))


@kernel
def load_of(data, k):
    """L of joint k."""
    load = data.unknown[SLOW_R, k] - data.unknown[INERTIA, k] * data.unknown[SLOW_A, k]
    return min(max(load, -data.effort[k]), data.effort[k])


@kernel
def motion_torque(work, data, a, tau):
    """The inverse dynamics of accelerations a (nv,) in the present state; needs expand_state."""
    expand_v(data, a, data.a_free)
    body_poses(work, data.q_free)
    newton_euler_sweep(work, data.v_free, data.a_free, rest_acceleration(work))
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    project(data, data.tau_free, tau)


@kernel
def put_inertia_on(work, extra, kept, on):
    """Add inertia to a tree's rotors, which are `kept` (nv,), or put these back."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        for k in range(body.columns):
            c = column_at(body, k)
            kept[c] = body.armature[k] if on else kept[c]
            body.armature[k] = kept[c] + extra[c] if on else kept[c]
