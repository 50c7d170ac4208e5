"""What a joint carries that the model does not have, from how it answers to torques.

    r = τ − τ̂(q, v, a) = J a + L          for each joint by itself

τ̂ is the inverse dynamics of the model, τ the torque that was sent. J is inertia that the model
lacks (rotors, a load), L a torque that it lacks (a load's weight, friction, a person). Least
squares over a short window give both: the slope and the intercept of r over a.

A joint that is asked to slow down and does not has more inertia than is known: J then grows by a
share per tick until the joint answers. With too little J a joint is slow, with too much it may
oscillate; an oscillation is what least squares see best, and J falls at once.

What is compensated is L while a joint moves or is away from where it is held, and stays as it is
while the joint rests. So a robot that pressed on something when it was stopped stops pressing: it
takes the torque of its law for no weight unless it sinks without it.

Windows are counted in ticks, as the delay of torques is. Sent torques are what counts, so limits
wind nothing up. All starts at zero with each fallback, |L| is within the effort limit.
"""

import math

from torqued.kernels.compilation.jit import kernel

#: Rows of `data.unknown`: v and τ low-passed, means of a, r, a², a r over the window, J, and
#: the L that is compensated.
SLOW_V, SLOW_TAU, MEAN_A, MEAN_R, MEAN_AA, MEAN_AR, INERTIA, LOAD, ROWS = range(9)
#: s, the shortest tick; then in ticks: time constant of the low-pass, and the window.
TICK, FILTER, WINDOW = 1e-3, 5.0, 30.0
#: Of the speed limit per second: a spread of accelerations that noise does not make.
EXCITED = 0.5
#: Share by which J grows in a tick, and of the wanted deceleration below which it does.
GROWTH, ANSWER = 0.2, 0.25
#: Share of the speed limit below which a joint counts as at rest.
AT_REST = 0.02
#: Share of the speed limit: |v| + |e| 1/s below which the load is left as it is.
SETTLED = 0.01
#: J is at most what the effort takes to its speed limit in so many seconds, and so many times the
#: least inertia of the model.
SLOWEST, HEAVIEST = 0.2, 1e3
#: Of the effort: near its limit a joint cannot slow down faster, whatever its inertia.
FREE = 0.9
#: Times the speed limit: nothing is learned from states beyond.
BELIEVABLE = 10.0


@kernel
def accelerations(sizes, data, v, time, dt, a):
    """a, low-passed, and with it the torque that was sent; `time` s since the first of these calls,
    dt included. Returns whether they are to be believed."""
    x = data.unknown
    share = 1.0 - math.exp(-dt / (FILTER * max(dt, TICK)))
    for k in range(sizes.nv):
        if not abs(v[k]) < BELIEVABLE * data.speed[k]:
            x[:] = 0.0
            return False
    for k in range(sizes.nv):
        if time <= dt:
            x[:, k] = 0.0
            x[SLOW_V, k], x[SLOW_TAU, k] = v[k], data.last[k]
        x[SLOW_V, k] += share * (v[k] - x[SLOW_V, k])
        x[SLOW_TAU, k] += share * (data.last[k] - x[SLOW_TAU, k])
        a[k] = (v[k] - x[SLOW_V, k]) / (FILTER * max(dt, TICK))
    return True


@kernel
def learn_load(sizes, data, e, v, a, model, wanted, time, dt):
    """J and L from accelerations and the model's torques for them (nv,), of joints that are e off;
    `wanted` accelerations are those that they are asked for."""
    x, tick = data.unknown, max(dt, TICK)
    share = dt / min(max(time, dt), WINDOW * tick)
    for k in range(sizes.nv):
        r = x[SLOW_TAU, k] - model[k]
        if not math.isfinite(r):
            continue
        x[MEAN_A, k] += share * (a[k] - x[MEAN_A, k])
        x[MEAN_R, k] += share * (r - x[MEAN_R, k])
        x[MEAN_AA, k] += share * (a[k] * a[k] - x[MEAN_AA, k])
        x[MEAN_AR, k] += share * (a[k] * r - x[MEAN_AR, k])
        if time <= FILTER * tick:
            continue
        J, effort = x[INERTIA, k], data.effort[k]
        spread = x[MEAN_AA, k] - x[MEAN_A, k] ** 2
        fast = abs(v[k]) > AT_REST * data.speed[k] and abs(data.last[k]) < FREE * effort
        if fast and wanted[k] * v[k] < 0.0 and a[k] * v[k] > ANSWER * wanted[k] * v[k]:
            J += GROWTH * dt / tick * (J + data.least_inertia[k])
        elif spread > (EXCITED * data.speed[k]) ** 2:
            J = (x[MEAN_AR, k] - x[MEAN_A, k] * x[MEAN_R, k]) / spread
        most = min(SLOWEST * effort / data.speed[k], HEAVIEST * data.least_inertia[k])
        x[INERTIA, k] = J = min(max(J, 0.0), most)
        if abs(v[k]) + abs(e[k]) > SETTLED * data.speed[k]:
            x[LOAD, k] = min(max(x[MEAN_R, k] - J * x[MEAN_A, k], -effort), effort)
