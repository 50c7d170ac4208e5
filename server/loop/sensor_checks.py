"""Encoders that have stopped while their states stay fresh. Compiled.

A joint is in doubt while

    |∫ (q̇ − v) dt|, forgotten at 1/W, is beyond W · DRIFT_SHARE of its speed limit: its position
        does not go where its velocity says; or
    neither q nor v changes in any bit, but the torque has, by more than its reading can hide.

In doubt for W = `frozen_after` it is frozen, until q and v both change again or the session is
resumed. A joint that stands, by friction, brakes, contact or balance, has readings that agree, so
only the second rule can tell it from a dead encoder: docs/DECISIONS.md says what that can decide.
"""

from __future__ import annotations

import math

from torqued.common.status import FROZEN
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.fallback import ELASTIC_RATE, HOLD_RATE, fallback_torque
from torqued.kernels.control.law import expand_state
from torqued.kernels.control.laws.feed_forward import scale_into
from torqued.kernels.control.springs import motor_position, motor_velocity
from torqued.kernels.dynamics.articulated import OK, factorize, solve_in_place
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.rnea import body_forces, collect_forces, rest_acceleration
from torqued.server.loop.session_modes import in_fallback
from torqued.server.loop.session_time import robot_time

#: What is known of a joint's encoder: its last reading; rad or m by which q has gone further than
#: v; s that it has been in doubt (infinite: its estimate has begun), and that q and v have stood
#: still; the torque when either last changed; how often q turned back, without standing still in
#: between; its last change; q̇ by q alone, and the torque, low-passed.
Q, V, DRIFT, DOUBT, Q_STILL, V_STILL, TORQUE, LIVELY, CHANGE, RATE, SLOW = range(11)

#: Share of a joint's speed limit by which q̇ and v may differ: late filters, coarse encoders.
DRIFT_SHARE = 0.1
#: Times the drift that is allowed: a single wrong sample adds no more, and is forgotten within W.
OUTLIER = 2.0
#: Share of the effort by which a torque may change before a joint moves: twice the friction.
STICTION_SHARE = 0.25
#: Times the Coulomb friction that is known: a joint that stands takes as much to both sides.
STICTION = 2.5
#: Times that q turns back without standing still, after which its encoder counts as noisy.
NOISY = 100


@kernel
def fault_of_sensors(session, sizes, data, state, at, loop):
    """FROZEN if the readings of a joint have stopped, else 0; for each new state, once."""
    if session.frozen_after <= 0.0 or sizes.torques == 0:
        return 0
    passed, since = at - session.checked_at, loop.time - session.checked
    dt = robot_time(session, passed, since, loop.period)
    gap = max(session.stale_after * 1e-9, session.frozen_after)
    if session.checked == 0 or (passed != 0.0 and dt != passed) or dt > gap:
        dt = 0.0  # the first state, a clock that jumps, or silence: readings begin again
    session.checked_at, session.checked = at, loop.time
    step = min(dt, 0.5 * session.frozen_after)  # two states far apart do not settle a torque
    session.settled = 0.0 if dt == 0.0 or in_fallback(session) else session.settled + step
    q, v = state[: sizes.nq], state[sizes.nq :]
    frozen = has_frozen(session, sizes, data, data.readings, q, v, dt)
    if sizes.springs > 0:
        motor_q, motor_v = v[sizes.nv :], v[sizes.nv + sizes.springs :]
        frozen |= has_frozen(session, sizes, data, data.motor_readings, motor_q, motor_v, dt)
    return FROZEN if frozen else 0


@kernel
def has_frozen(session, sizes, data, readings, q, v, dt):
    """Whether a joint is frozen, after `dt` s; 0: nothing is known of the time before."""
    W, frozen = session.frozen_after, False
    keep = math.exp(-dt / W)
    for k in range(sizes.unactuated, sizes.nv):
        if data.coordinate[k] < 0:
            continue
        joint, x, w = readings[k], q[data.coordinate[k]], v[k]
        dx, v_before = x - joint[Q], joint[V]
        joint[Q], joint[V] = x, w
        if dt == 0.0:
            joint[DRIFT] = joint[LIVELY] = joint[CHANGE] = joint[RATE] = 0.0
            joint[TORQUE] = joint[SLOW] = data.last[k]
            joint[Q_STILL] = joint[V_STILL] = W
            frozen |= joint[DOUBT] >= W
            continue
        if data.turn[k] > 0.0:
            dx -= data.turn[k] * math.ceil(dx / data.turn[k] - 0.5)
        joint[RATE] = keep * joint[RATE] + (1.0 - keep) * dx / dt
        joint[SLOW] = keep**2 * joint[SLOW] + (1.0 - keep**2) * data.last[k]
        limit = DRIFT_SHARE * W * data.own_speed[k]
        drift = keep * joint[DRIFT] + dx - 0.5 * dt * (v_before + w)
        joint[DRIFT] = min(max(drift, -OUTLIER * limit), OUTLIER * limit)
        if dx != 0.0:
            turns = joint[LIVELY] + (dx * joint[CHANGE] < 0.0)
            joint[LIVELY] = turns if joint[Q_STILL] == 0.0 else 0.0
            joint[CHANGE] = dx
        joint[Q_STILL] = joint[Q_STILL] + dt if dx == 0.0 else 0.0
        joint[V_STILL] = joint[V_STILL] + dt if w == v_before else 0.0
        if min(joint[Q_STILL], joint[V_STILL]) == 0.0 or session.settled < W:
            joint[TORQUE] = data.last[k]
        doubted = abs(joint[DRIFT]) > limit
        doubted |= abs(data.last[k] - joint[TORQUE]) > hidden_torque(data, joint, k, W)
        if doubted:
            joint[DOUBT] += min(dt, 0.5 * W)  # one state does not decide
        elif joint[DOUBT] < W or max(joint[Q_STILL], joint[V_STILL]) < W:
            joint[DOUBT] = 0.0
        frozen |= joint[DOUBT] >= W
    return frozen


@kernel
def hidden_torque(data, joint, k, W):
    """N m or N by which a torque may change with no change of a live encoder.

    Noise hides nothing: then it is what moves the joint by less than the drift that is allowed.
    """
    if len(data.external) > 0:
        return math.inf  # no torque of a virtual robot moves its encoders
    if joint[LIVELY] >= NOISY:
        moves = data.least_inertia[k] * DRIFT_SHARE * data.own_speed[k] / W
        return min(STICTION_SHARE * data.effort[k], moves)
    friction = data.coulomb[k] if len(data.coulomb) > 0 else 0.0
    return max(STICTION_SHARE * data.effort[k], STICTION * friction)


@kernel
def brake_blindly(work, session, sizes, data, is_stale, dt, tau):
    """The torque (nv,) of the fallback while encoders are frozen, dt s after the last.

    It goes by an estimate of the state. Joints whose encoders work have their readings. Of one that
    is frozen, what still changes is believed if the other does not; else it goes on as the model
    has it under the torque that was sent. Nothing feeds back a reading that has stopped.
    """
    a, bias = data.rows[7], data.rows[6]
    v, motor_v = data.state[sizes.nq :], motor_velocity(sizes, data)
    is_modelled = sizes.springs == 0 and sizes.nv == sizes.nv_free
    motor_q = motor_position(sizes, data)
    is_late = coast(session, data, data.readings, data.state, v, is_stale, dt)
    if sizes.springs > 0:
        is_late |= coast(session, data, data.motor_readings, motor_q, motor_v, is_stale, dt)
    rate = 2.0 * (ELASTIC_RATE if sizes.springs > 0 else HOLD_RATE)
    for k in range(sizes.nv):
        a[k] = 0.0 if is_late else -rate * motor_v[k]  # as it is made to
    if is_modelled:
        expand_state(sizes, data)
        body_poses(work, data.q_free)
        bias_accelerations(work, data.v_free, rest_acceleration(work))
        body_forces(work)
        collect_forces(work, bias)
        for k in range(sizes.nv):
            a[k] = (data.readings[k, SLOW] if is_late else data.last[k]) - bias[k]
        if factorize(work) == OK:
            solve_in_place(work, a)
        else:
            a[:] = 0.0
    move_on(session, data, data.readings, data.state, v, a, is_stale, dt)
    if sizes.springs > 0:
        move_on(session, data, data.motor_readings, motor_q, motor_v, a, is_stale, dt)
    fallback_torque(work, session, sizes, data, dt, tau)
    if is_modelled:
        brake_within_limits(sizes, data, bias, tau, dt)


@kernel
def brake_within_limits(sizes, data, bias, tau, dt):
    """Brake all joints less, and later, where one lacks effort or rate: cut alone, it would be
    thrown by the others."""
    for k in range(sizes.nv):
        bias[k] = tau[k] - bias[k]
    scale_into(data.effort, bias, tau)
    step = 1.0
    for k in range(sizes.nv):
        change = abs(tau[k] - data.last[k])
        if change > data.rate[k] * dt:
            step = min(step, data.rate[k] * dt / change)
    for k in range(sizes.nv):
        tau[k] = data.last[k] + step * (tau[k] - data.last[k])


@kernel
def missing(session, joint, speed, is_stale, dt):
    """Whether q and v of a joint's encoder are unknown, and s by which its estimate is late: since
    the reading stopped, once that is found."""
    W = session.frozen_after
    is_frozen = is_stale or joint[DOUBT] >= W
    q_stands, v_stands = joint[Q_STILL] >= W, joint[V_STILL] >= W
    no_q = is_frozen and (is_stale or q_stands or not v_stands)
    no_v = is_frozen and (is_stale or v_stands or not q_stands)
    late = dt
    if W <= joint[DOUBT] < math.inf and q_stands:
        # A joint that stood did not move before it was in doubt.
        moved = abs(joint[DRIFT]) > DRIFT_SHARE * W * speed
        late = min(joint[Q_STILL], 2.0 * W) if moved else W
    return no_q, no_v, late


@kernel
def coast(session, data, readings, q, v, is_stale, dt):
    """Move estimates of positions by half of the time. Returns whether one was late."""
    is_late = False
    for k in range(len(readings)):
        no_q, _, late = missing(session, readings[k], data.own_speed[k], is_stale, dt)
        if no_q and data.coordinate[k] >= 0:
            q[data.coordinate[k]] += 0.5 * late * v[k]
            is_late |= late > dt
    return is_late


@kernel
def move_on(session, data, readings, q, v, a, is_stale, dt):
    """The rest, after `coast`, with accelerations a (nv,)."""
    for k in range(len(readings)):
        i, joint = data.coordinate[k], readings[k]
        no_q, no_v, late = missing(session, joint, data.own_speed[k], is_stale, dt)
        if i < 0 or no_v:
            v[k] += a[k] * late
        elif joint[V_STILL] >= session.frozen_after > joint[Q_STILL]:
            v[k] = joint[RATE]  # also of a joint that is not found yet
        else:
            v[k] = joint[V]
        if no_q and i >= 0:
            q[i] += 0.5 * late * v[k]
        elif i >= 0:
            q[i] = joint[Q]
        if joint[DOUBT] >= session.frozen_after:
            joint[DOUBT] = math.inf


@kernel
def trust_sensors(session, data):
    """Begin again, with all joints: the session is resumed."""
    session.checked = 0
    data.readings[:, DOUBT] = 0.0
    data.motor_readings[:, DOUBT] = 0.0
