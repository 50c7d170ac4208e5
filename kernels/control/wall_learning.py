"""What walls learn: loads that the model does not know, and inertia.

A load L, N m of a joint or N before a plane, is what someone pushes with, or what a wrong model
lacks. It grows while a joint is too fast towards a wall, up to what motors have, and falls again:

    dL/dt = RATE²/4 (speed − v(d)) / A,   0 ≤ L ≤ effort

A joint whose rotor is not in the model is heavier than the model says, a wrist up to a thousand
times, and what brakes the model's is nothing to it. The slope of torques over accelerations says
what there is, whatever constant load is beside:

    I = var(x) / cov(x, y),   x = a_R / A of the torques sent, as the model has it,   y = Δv/Δt

over the last 1/RATE s. What is beyond the model is added to it as a rotor's inertia, wherever walls
use it. It grows only while a wall brakes in vain: neither friction at rest nor an oscillation
raises it.
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import inner
from torqued.kernels.dynamics.tree import column_at

#: 1/s: how fast a speed that is too large is taken away, by a motor and by one behind a spring,
#: which a faster one would swing on.
RATE, SPRING_RATE = 150.0, 60.0
#: A wall is looked at where its bound of acceleration is below so many times the usual one.
AHEAD = 4.0
#: m/s², by which frames count on being braked before a plane.
FRAME_BRAKING = 2.0
#: s from a torque to the acceleration that it makes, about.
LAG = 2e-3
#: Times RATE: how fast inertia grows and falls; and its largest ratio to the model's.
GROWTH, FALL, MAX_RATIO = 2.0, 3.0, 1000.0
#: Share of the speed limit above which a wall brakes in vain, rather than friction holds.
MOVING = 0.02
#: Share of the usual acceleration that has to be expected before a response says something.
EXCITED = 0.1
#: Rows of `wall_fit`: x behind LAG, means of x and y, covariance, variance of x, recently seen.
X, MEAN_X, MEAN_Y, COV, VAR, SEEN = 0, 1, 2, 3, 4, 5


@kernel
def usual_braking(sizes, data, wall):
    """The acceleration by which a joint, or a frame before a plane, counts on being braked."""
    return data.acceleration[wall] if wall < sizes.nv else FRAME_BRAKING


@kernel
def usual_speed(sizes, data, wall):
    """Its speed limit."""
    return data.speed[wall] if wall < sizes.nv else data.frame_limits[1]


@kernel
def learn(load, most, mobility, usual, fastest, dt):
    """The load after a tick with the bound `usual`; one freak speed teaches little."""
    usual = min(max(usual, -2.0 * RATE * fastest), 2.0 * RATE * fastest)
    change = 0.25 * RATE * usual * dt / mobility if mobility > 0.0 else math.inf
    if not math.isfinite(change):
        return 0.0
    return min(max(load - change, 0.0), most)


@kernel
def most_load(sizes, data, row, wall, mobility):
    """What motors have against a load; where efforts are not known, by the acceleration."""
    most = math.inf
    for k in range(sizes.unactuated, sizes.nv):
        if row[k] != 0.0:
            most = min(most, data.effort[k] / abs(row[k]))
    if most < math.inf or not mobility > 0.0:
        return most
    return AHEAD * usual_braking(sizes, data, wall) / mobility


@kernel
def learn_loads(sizes, data, v, count, dt):
    """Update the loads of all rows by their bounds, and make these ones that agree; needs A."""
    rate, load = SPRING_RATE if sizes.springs > 0 else RATE, data.wall_load
    for i in range(count):
        wall, row, mobility = data.wall_of[i], data.wall_row[i], data.wall_A[i, i]
        if sizes.springs == 0:  # behind one, what a motor lacks would be learned too late
            up, down = data.wall_high[i], -data.wall_low[i]
            most, fastest = (
                most_load(sizes, data, row, wall, mobility),
                usual_speed(sizes, data, wall),
            )
            load[0, wall] = learn(load[0, wall], most, mobility, up, fastest, dt)
            load[1, wall] = learn(load[1, wall], most, mobility, down, fastest, dt)
        if data.wall_low[i] > data.wall_high[i]:  # walls contradict each other: brake
            data.wall_low[i] = data.wall_high[i] = -rate * inner(row, v)


@kernel
def add_loads(data, count, sign):
    """Add to the accelerations of all rows what loads make of them, or take it off again."""
    for i in range(count):
        wall = data.wall_of[i]
        load = sign * (data.wall_load[0, wall] - data.wall_load[1, wall])
        for j in range(count if load != 0.0 else 0):
            data.wall_now[j] += data.wall_A[j, i] * load


@kernel
def learn_inertia(control, sizes, data, v, dt):
    """From what the torques of the last tick did; needs the rows and answers of that tick."""
    for i in range(control.wall_joints if dt > 0.0 else 0):
        x, y = data.wall_now[i], 0.0
        for k in range(sizes.nv):
            x += data.wall_answer[i, k] * (data.last[k] - data.wall_wanted[k])
            y += data.wall_row[i, k] * (v[k] - data.wall_v[k]) / dt
        if abs(x) + abs(y) < 1e9 and data.wall_A[i, i] > 0.0:
            fit_response(data, i, x / data.wall_A[i, i], y, v[data.wall_of[i]], dt)
    for k in range(sizes.nv):
        data.wall_fit[SEEN, k] = max(data.wall_fit[SEEN, k] - 1.0, 0.0)


@kernel
def fit_response(data, i, x, y, speed, dt):
    """Take the net torque x and acceleration y of the joint of row i into its fit, and follow."""
    k, now = data.wall_of[i], 1.0 / data.wall_A[i, i]
    fit = data.wall_fit[:, k]
    if fit[SEEN] == 0.0:
        fit[X], fit[MEAN_X], fit[MEAN_Y], fit[COV], fit[VAR] = x, x, y, 0.0, 0.0
    fit[SEEN] = 2.0
    fit[X] += dt / (LAG + dt) * (x - fit[X])
    share = RATE * dt / (1.0 + RATE * dt)
    dx, dy = fit[X] - fit[MEAN_X], y - fit[MEAN_Y]
    fit[MEAN_X] += share * dx
    fit[MEAN_Y] += share * dy
    fit[COV] = (1.0 - share) * (fit[COV] + share * dx * dy)
    fit[VAR] = (1.0 - share) * (fit[VAR] + share * dx * dx)
    own = max(now - data.wall_inertia[k], now / MAX_RATIO)  # as the model has it
    expected = data.acceleration[k] * max(own, EXCITED * now)
    if fit[VAR] < expected * expected:
        return
    found = fit[VAR] / max(fit[COV], fit[VAR] / (MAX_RATIO * own))
    load = data.wall_load[0 if speed > 0.0 else 1, k]
    in_vain = x * speed < 0.0 and load > 0.0 and abs(speed) > MOVING * data.speed[k]
    most = now * (1.0 + GROWTH * RATE * dt) if in_vain else now
    found = min(max(found, now / (1.0 + FALL * RATE * dt)), most)
    data.wall_inertia[k] = min(max(found - own, 0.0), MAX_RATIO * own)


@kernel
def put_inertia_on(work, data, kept):
    """Add what was learned to the rotors of a tree without mimic joints; `kept` (nv,): without."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        for k in range(body.columns):
            c = column_at(body, k)
            kept[c] = body.armature[k]
            body.armature[k] += data.wall_inertia[c]


@kernel
def take_inertia_off(work, kept):
    """Put rotors back as they were, to the bit."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        for k in range(body.columns):
            body.armature[k] = kept[column_at(body, k)]
