"""What walls learn: loads that the model does not know, and inertia.

A load L, N m of a joint or N before a plane, grows while that is too fast towards its wall:

    dL/dt = RATE²/4 (speed − v(d)) / A,   0 ≤ L ≤ effort

A rotor that is not in the model makes a wrist up to a thousand times heavier, and what brakes the
model's is nothing to it. The slope of torques over accelerations says what there is, whatever
constant load is beside, over the last 1/RATE s:

    I = var(x) / cov(x, y),   x = a_R / A of the torques sent, as the model has it,   y = Δv/Δt

It grows only while a wall brakes in vain: neither friction at rest nor an oscillation raises it.
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
#: m/s of a frame near a plane, for what it learns and how fast it goes back.
FRAME_SPEED = 1.0
#: s from a torque to the acceleration that it makes, about.
LAG = 2e-3
#: Times RATE: how fast inertia grows and falls; and its largest ratio to the model's.
GROWTH, FALL, MAX_RATIO = 2.0, 3.0, 1000.0
#: Of the speed limit, above which a wall brakes in vain rather than friction holds; and of the
#: usual acceleration, that has to be expected before a response says something.
MOVING, EXCITED = 0.02, 0.1
#: Rows of `wall_fit`: x behind LAG, means of x and y, covariance, variance of x, recently seen.
X, MEAN_X, MEAN_Y, COV, VAR, SEEN = 0, 1, 2, 3, 4, 5


@kernel
def learn_loads(sizes, data, v, count, dt):
    """Update the loads of all rows by their bounds, and make these ones that agree; needs A."""
    rate, load = SPRING_RATE if sizes.springs > 0 else RATE, data.wall_load
    for i in range(count):
        wall, row, mobility, most = data.wall_of[i], data.wall_row[i], data.wall_A[i, i], math.inf
        fastest = data.speed[wall] if wall < sizes.nv else FRAME_SPEED
        braking = data.acceleration[wall] if wall < sizes.nv else FRAME_BRAKING
        for k in range(sizes.unactuated, sizes.nv):
            if row[k] != 0.0:
                most = min(most, data.effort[k] / abs(row[k]))
        if not most < math.inf and mobility > 0.0:  # efforts are not known
            most = AHEAD * braking / mobility
        # Behind a spring, what a motor lacks would be learned too late.
        gain = 0.25 * RATE * dt / mobility if sizes.springs == 0 and mobility > 0.0 else 0.0
        freak = 4.0 * RATE * fastest  # one speed that cannot be teaches little
        for side in range(2):
            usual = data.wall_high[i] if side == 0 else -data.wall_low[i]
            change = gain * min(max(usual, -freak), freak)
            load[side, wall] = min(max(load[side, wall] - change, 0.0), most)
        if data.wall_low[i] > data.wall_high[i]:  # walls contradict each other: brake
            data.wall_low[i] = data.wall_high[i] = -rate * inner(row, v)


@kernel
def add_loads(data, count, sign):
    """Add to the accelerations of all rows what loads make of them, or take it off again."""
    for i in range(count):
        load = sign * (data.wall_load[0, data.wall_of[i]] - data.wall_load[1, data.wall_of[i]])
        for j in range(count):
            data.wall_now[j] += data.wall_A[j, i] * load


@kernel
def learn_inertia(control, sizes, data, v, dt):
    """From what the torques of the last tick did; needs the rows and answers of that tick."""
    for i in range(control.wall_joints if dt > 0.0 else 0):
        x, y, k, A = data.wall_now[i], 0.0, data.wall_of[i], data.wall_A[i, i]
        for j in range(sizes.nv):
            x += data.wall_answer[i, j] * (data.last[j] - data.wall_wanted[j])
        y = (v[k] - data.wall_v[k]) / dt
        if abs(x) + abs(y) < 1e9 and A > 0.0:
            fit_response(data, k, x / A, y, 1.0 / A, v[k], dt)
    for k in range(sizes.nv):
        data.wall_fit[SEEN, k] = max(data.wall_fit[SEEN, k] - 1.0, 0.0)


@kernel
def fit_response(data, k, x, y, now, speed, dt):
    """Take net torque x and acceleration y of joint k, of the inertia `now`, into its fit."""
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
    if fit[VAR] < (data.acceleration[k] * max(own, EXCITED * now)) ** 2:
        return
    found = fit[VAR] / max(fit[COV], fit[VAR] / (MAX_RATIO * own))
    load = data.wall_load[0 if speed > 0.0 else 1, k]
    in_vain = x * speed < 0.0 and load > 0.0 and abs(speed) > MOVING * data.speed[k]
    most = now * (1.0 + GROWTH * RATE * dt) if in_vain else now
    found = min(max(found, now / (1.0 + FALL * RATE * dt)), most)
    data.wall_inertia[k] = min(max(found - own, 0.0), MAX_RATIO * own)


@kernel
def put_inertia_on(work, extra, kept, on):
    """Add learned inertia to a tree's rotors, which are `kept` (nv,), or put these back."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        for k in range(body.columns):
            c = column_at(body, k)
            kept[c] = body.armature[k] if on else kept[c]
            body.armature[k] = kept[c] + extra[c] if on else kept[c]
