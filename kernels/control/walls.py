"""Walls: no law pushes a joint beyond its limits, or a frame out of its box.

Towards a wall at the distance d a joint may move with the speed v(d) from which it can still be
braked. Near it, torques are changed by as little as holds

    acceleration ≤ RATE (v(d) − speed)

for the torques of the law and the robot as it is. With the rows R of all walls that are near,

    a_R = R M⁻¹ (τ − L − C v − g) + A λ,   A = R M⁻¹ Rᵀ,   τ ← τ + Rᵀ λ

L what acts beyond the model (unknown_load.py), and λ the pushes that bring a_R within its bounds,
found row by row. What walls take from the robot they keep in a store: what motors did for
them, behind low-pass and limits, times the way of joints. Pushes that give energy are bounded to
RATE times the store, so that it never runs out: together with any passive law walls are passive.
At rest they hold whatever the store has.

Between motors and links with springs, M q̈ + B θ̈ = τ − C v − g: walls go by the mean acceleration
of links and motors, with M + B in place of M, and by the speed of motors, which torques act on.
"""

from __future__ import annotations

import math

from torqued.common.status import PLANE_BIT, WALL
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.friction import friction_at
from torqued.kernels.control.law import expand_state, inner, project, project_square, square
from torqued.kernels.control.references.limiter import approach
from torqued.kernels.control.springs import motor_velocity
from torqued.kernels.control.unknown_load import (
    BESIDE,
    INERTIA,
    NOW,
    WANTED,
    learn,
    load_of,
    put_inertia_on,
)
from torqued.kernels.dynamics.articulated import OK, solve_in_place, solve_motion
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.dynamics.frames import HYBRID, fill_jacobian, frame_placement
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.rnea import body_forces, collect_forces, rest_acceleration
from torqued.kernels.primitives.dense import cholesky, cholesky_solve
from torqued.kernels.primitives.spatial import add, dot
from torqued.kernels.primitives.tuples import load3

#: 1/s: how fast a speed that is too large is taken away, by a motor and by one behind a spring,
#: which a faster one would swing on.
RATE, SPRING_RATE = 150.0, 60.0
#: A wall is looked at where its bound of acceleration is below so many times the usual one, and
#: what a load may make beside it.
AHEAD = 4.0
#: m/s², by which frames count on being braked before a plane.
FRAME_BRAKING = 2.0
#: m/s of a frame near a plane, by which it goes back at most.
FRAME_SPEED = 1.0
#: 1/s: how fast a wall is come up to.
NEAR_RATE = 20.0
#: Share of the speed limit at which a joint outside of its limits is let back.
RETURN_SPEED = 0.1
#: Maximum passes over all walls, as each changes what the others have to hold,
#: and rad/s² or m/s² that a last round may still change.
SWEEPS, SETTLED = 40, 1e-3
#: kg, that frames go back with at least.
FRAME_MASS = 2.0
#: Times the speed limit: faster joints are faults of states, which put nothing into the store.
MAX_SPEED = 10.0


@kernel
def return_speed(store, inertia, load, most):
    """The speed back to a wall that a store covers twice: a load is held while it ends."""
    speed = RETURN_SPEED * most
    cost = speed * (0.5 * inertia * speed + 2.0 * load / RATE)
    return speed * min(max(store / cost - 1.0, 0.0), 1.0) if cost > 0.0 else 0.0


@kernel
def allowed_speed(d, most, braking, back):
    """Towards a wall at the distance d; outside, back to it."""
    if d < 0.0:
        return max(NEAR_RATE * d, -back)
    return min(most, approach(d, NEAR_RATE, braking))


@kernel
def bound(d, speed, most, braking, back, rate):
    """The largest acceleration towards a wall."""
    return rate * (allowed_speed(d, most, braking, back) - speed)


@kernel
def friction_ahead(data, k, q):
    """Torques that friction takes of joint k at the speeds that walls allow: down and up.

    At the end of a joint it takes none, whatever a law adds to overcome it: nothing may push there.
    """
    most, braking = data.speed[k], data.acceleration[k]
    down = allowed_speed(q - data.lower[k], most, braking, 0.0)
    up = allowed_speed(data.upper[k] - q, most, braking, 0.0)
    return friction_at(data, k, -down), friction_at(data, k, up)


@kernel
def friction_now(data, k, v):
    """Torques that friction takes of joint k at its speed, least and most: near rest it holds."""
    now = friction_at(data, k, v)
    holds = data.coulomb[k] * (1.0 - abs(math.tanh(data.sharpness[k] * v)))
    return now - holds, now + holds


@kernel
def fill_net(sizes, data, near, has_friction, net):
    """Torques (nv,) that accelerate the tree: those of the law without what is taken by what the
    tree's equations do not have: friction and a bias, which are no load that is learned, and loads.
    `near`: how many joints have rows."""
    has_bias = len(data.bias) > 0 and sizes.springs == 0
    for k in range(sizes.nv):
        taken = data.unmodelled[k]
        if has_friction:
            bias = data.bias[k] if has_bias else 0.0
            low, high = friction_now(data, k, data.state[sizes.nq + k])
            for i in range(near):
                if data.wall_row[i, k] != 0.0:
                    low, high = friction_ahead(data, k, data.state[data.coordinate[k]])
            taken = min(max(taken + bias, low), high) - bias
        data.unknown[BESIDE, k] = taken
        net[k] = data.out[k] - taken - load_of(data, k)
        if sizes.virtual > 0:
            net[k] += data.external[k]


@kernel
def near_joints(control, sizes, data, v):
    """Rows of joints that may have to be held, and their bounds. Returns how many."""
    count, rate = 0, SPRING_RATE if sizes.springs > 0 else RATE
    for k in range(sizes.unactuated, sizes.nv):
        i = data.coordinate[k]
        if i < 0 or control.has_walls == 0:
            continue
        q, most, braking = data.state[i], data.speed[k], data.acceleration[k]
        inertia, load = data.least_inertia[k] + data.unknown[INERTIA, k], abs(load_of(data, k))
        back = return_speed(control.wall_energy, inertia, load, most)
        up = bound(data.upper[k] - q, v[k], most, braking, back, rate)
        down = bound(q - data.lower[k], -v[k], most, braking, back, rate)
        if min(up, down) < AHEAD * braking + load / inertia:
            data.wall_row[count] = 0.0
            data.wall_row[count, k] = 1.0
            data.wall_low[count], data.wall_high[count], data.wall_of[count] = -down, up, k
            count += 1
    return count


@kernel
def near_planes(work, control, sizes, data, v, count):
    """The same of frames before planes, behind the first `count` rows; needs body_poses."""
    rate = SPRING_RATE if sizes.springs > 0 else RATE
    for j in range(len(data.planes)):
        plane, J = data.planes[j], data.wall_jacobian
        n = (plane.normal[0], plane.normal[1], plane.normal[2])
        _, p = frame_placement(work, plane.frame)
        distance = dot(n, add(p, load3(work.origin))) - plane.offset
        fill_jacobian(work, plane.frame, HYBRID, J)
        for c in range(sizes.nv_free):
            data.s_free[c] = n[0] * J[3, c] + n[1] * J[4, c] + n[2] * J[5, c]
        row = data.wall_row[count]
        project(data, data.s_free, row)
        load = 0.0
        for k in range(sizes.unactuated, sizes.nv):
            load += row[k] * load_of(data, k)
        size = inner(row, row)
        load = abs(load) / size if size > 0.0 else 0.0
        back = return_speed(control.wall_energy, FRAME_MASS, load, min(plane.speed, FRAME_SPEED))
        high = bound(distance, -inner(row, v), plane.speed, FRAME_BRAKING, back, rate)
        if high < AHEAD * FRAME_BRAKING + load / FRAME_MASS:
            data.wall_low[count], data.wall_high[count] = -high, math.inf
            data.wall_of[count] = sizes.nv + j
            count += 1
    return count


@kernel
def answer_rows(work, sizes, data, count, exact):
    """M⁻¹ Rᵀ and A, or where they are not known the share of single joints."""
    for i in range(count):
        x, row = data.wall_answer[i], data.wall_row[i]
        for k in range(sizes.nv):
            x[k] = row[k] if exact else row[k] / data.least_inertia[k]
        if exact and sizes.springs > 0:
            cholesky_solve(square(data, 1, sizes.nv), x)
        elif exact:
            solve_in_place(work, x)
    for i in range(count):
        for j in range(count):
            data.wall_A[i, j] = inner(data.wall_row[i], data.wall_answer[j])


@kernel
def torque_rate(sizes, data, i):
    """How fast the push of row i may change, per second."""
    least = math.inf
    for k in range(sizes.unactuated, sizes.nv):
        if data.wall_row[i, k] != 0.0:
            least = min(least, data.rate[k] / abs(data.wall_row[i, k]))
    return least


@kernel
def within_rate(a, jerk, rate):
    """A wanted acceleration that torques reach, and leave, before the speed error a / rate ends:
    behind a limit of rates what is stiffer swings."""
    most = jerk / rate
    return math.copysign(math.sqrt(abs(a)) * math.sqrt(most), a) if abs(a) > most else a


@kernel
def find_pushes(data, count):
    """λ that brings the accelerations `wall_now` of all rows within their bounds."""
    push, now = data.wall_push, data.wall_now
    for i in range(count):
        push[i] = 0.0
    for _ in range(SWEEPS):
        change = 0.0
        for i in range(count):
            mobility = data.wall_A[i, i]
            if not mobility > 0.0:
                continue
            without = now[i] - mobility * push[i]
            wanted = min(max(without, data.wall_low[i]), data.wall_high[i])
            step = (wanted - without) / mobility - push[i]
            if step != 0.0:
                push[i] += step
                change = max(change, abs(step * mobility))
                for j in range(count):
                    now[j] += data.wall_A[j, i] * step
        if change < SETTLED:
            return


@kernel
def solve_with_motors(work, sizes, data, tau, a):
    """(M + B) a = τ − C v − g; needs body_forces. Leaves the factor of M + B. Returns a status."""
    collect_forces(work, data.tau_free)
    project(data, data.tau_free, a)
    composite_inertias(work)
    M_free, M = square(data, 0, sizes.nv_free), square(data, 1, sizes.nv)
    fill_mass_matrix(work, M_free)
    project_square(data, M_free, M)
    for k in range(sizes.nv):
        a[k] = tau[k] - a[k]
        M[k, k] += data.motor_inertia[k]
    status = cholesky(M)
    if status == OK:
        cholesky_solve(M, a)
    return status


@kernel
def hold_walls(work, control, sizes, data, dt):
    """Keep torques from pushing through walls. Returns status bits."""
    v, push = motor_velocity(sizes, data), data.rows[5]
    for k in range(sizes.unactuated, sizes.torques):
        speed = min(max(v[k], -MAX_SPEED * data.speed[k]), MAX_SPEED * data.speed[k])
        control.wall_energy -= data.wall_tau[k] * 0.5 * (data.wall_v[k] + speed) * dt
        data.wall_v[k] = speed
    push[:] = 0.0
    status = push_walls(work, control, sizes, data, v, push, dt)
    share = 1.0 if control.low_pass <= 0.0 else 1.0 - math.exp(-math.tau * control.low_pass * dt)
    for k in range(sizes.unactuated, sizes.torques):
        law, most = data.out[k], data.effort[k]
        data.out[k] = law + push[k]
        # What a motor does for it, behind low-pass and limits: that is the work of walls.
        change = min(max(data.out[k], -most), most) - min(max(law, -most), most)
        step, fastest = share * (change - data.wall_tau[k]), data.rate[k] * dt
        if math.isfinite(step):
            data.wall_tau[k] += min(max(step, -fastest), fastest)
    return status


@kernel
def push_walls(work, control, sizes, data, v, push, dt):
    """Torques (nv,) that hold all walls. Returns status bits."""
    count = near = near_joints(control, sizes, data, v)
    if count == 0 and len(data.planes) == 0:
        return 0
    # What contacts and mimic joints add is not in the tree: there, speeds alone are looked at.
    exact = sizes.springs > 0 or (sizes.unactuated == 0 and sizes.nv == sizes.nv_free)
    if exact or len(data.planes) > 0:
        expand_state(sizes, data)
        body_poses(work, data.q_free)
    count = near_planes(work, control, sizes, data, v, count)
    if count == 0:
        return 0
    is_law = data.learning[NOW] == 0  # else the fallback has learned in this tick, friction too
    # Behind a spring it would be too late; a virtual robot is as its model.
    learns = is_law and sizes.springs == 0 and sizes.virtual == 0
    if learns:
        expand_state(sizes, data)
        learn(work, sizes, data, v, exact, dt)
        data.unknown[WANTED] = 0.0
    a, net, kept = data.rows[7], data.rows[6], data.rows[4]
    for k in range(sizes.nv):
        a[k] = -load_of(data, k) / data.least_inertia[k] if learns and not exact else 0.0
    rigid = exact and sizes.springs == 0
    if rigid:
        put_inertia_on(work, data.unknown[INERTIA], kept, True)
    if exact:
        bias_accelerations(work, data.v_free, rest_acceleration(work))
        body_forces(work)
        fill_net(sizes, data, near, is_law and len(data.viscous) > 0, net)
        if sizes.springs > 0:
            exact = solve_with_motors(work, sizes, data, net, a) == OK
        else:
            exact = solve_motion(work, net, a) == OK
    answer_rows(work, sizes, data, count, exact)
    if rigid:
        put_inertia_on(work, data.unknown[INERTIA], kept, False)
    rate = SPRING_RATE if sizes.springs > 0 else RATE
    for i in range(count):
        data.wall_now[i] = inner(data.wall_row[i], a)
        if data.wall_low[i] > data.wall_high[i]:  # walls contradict each other: brake
            data.wall_low[i] = data.wall_high[i] = -rate * inner(data.wall_row[i], v)
        fastest = torque_rate(sizes, data, i) * data.wall_A[i, i]
        data.wall_low[i] = within_rate(data.wall_low[i], fastest, rate)
        data.wall_high[i] = within_rate(data.wall_high[i], fastest, rate)
    find_pushes(data, count)
    for i in range(near):
        if data.wall_push[i] != 0.0:
            low, high = data.wall_low[i], data.wall_high[i]
            data.unknown[WANTED, data.wall_of[i]] = high if data.wall_push[i] < 0.0 else low
    status = walls = 0
    for i in range(count):
        lam, speed = data.wall_push[i], inner(data.wall_row[i], v)
        store, bit = (
            RATE * max(control.wall_energy, 0.0),
            data.wall_of[i] if i < near else PLANE_BIT,
        )
        if lam * speed > store:  # W: the store lasts, and at rest holds whatever the push
            lam = store / speed
        if lam == 0.0:
            continue
        for k in range(sizes.unactuated, sizes.nv):
            push[k] += data.wall_row[i, k] * lam
        status, walls = WALL, walls | (1 << bit if i >= near or bit < PLANE_BIT else 0)
    if status == WALL:
        control.walls = walls
    return status
