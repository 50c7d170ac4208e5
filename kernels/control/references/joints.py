"""The references of joints, tick by tick. Joints with one coordinate each; others are copied."""

import math

from torqued.common.status import LIMITED_REFERENCE
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.references.limiter import (
    BRAKING,
    CATCHING_UP,
    CLOSE,
    CLOSING,
    ENDING,
    ENDING_SHARE,
    ROUNDING,
    SLACK,
    clip,
    closes,
    continues,
    quintic,
    quintic_rates,
    shape,
    signed_approach,
    smooth_jerk,
    stopping_distance,
)
from torqued.kernels.control.references.motions import JointMotion
from torqued.kernels.control.references.pace import STOP_SHARE, pace_of
from torqued.kernels.control.references.via_points import IN_EFFECT, on_path, part_of_path
from torqued.kernels.control.session_arrays import first_reference

#: Share of the largest speed below which a joint does not count as moving.
STANDING = 1e-3


@kernel
def parts_of(motion, sizes):
    """Where the numbers of a joint motion begin."""
    nq, nv, k = sizes.nq, sizes.nv, motion.memory
    w = k + nq
    gap = w + 5 * nv
    start = gap + 4 * nv
    way = start + nq
    moving, end = (w, w + nv, w + 2 * nv, w + 3 * nv, w + 4 * nv), way + 3 * nv
    apart = gap, gap + nv, gap + 2 * nv, gap + 3 * nv
    return JointMotion(k, *moving, *apart, start, way, way + nv, way + 2 * nv, end, end + nq)


@kernel
def wrapped(x):
    """The same angle in (−π, π]."""
    return x - 2.0 * math.pi * math.ceil(x / (2.0 * math.pi) - 0.5)


@kernel
def begin(m, at, k, left):
    """The way of a joint to something else, which takes `left` s."""
    m[at.left + k] = left
    for first in (at.late, at.gap, at.gap_w, at.gap_a, at.mean):
        m[first + k] = 0.0


@kernel
def latch_joints(motion, sizes, data):
    """Hold the present position of the joints, from rest."""
    motion.resting = 0
    at, m = parts_of(motion, sizes), data.motion
    for i in range(sizes.nq):
        m[at.p + i] = data.latched[motion.position + i] = data.state[i]
    for k in range(sizes.nv):
        m[at.w + k] = m[at.a + k] = m[at.j + k] = 0.0
        begin(m, at, k, 0.0)


@kernel
def brake_joints(motion, sizes, data):
    """Hold where the reference can come to rest."""
    motion.resting = 0
    at, m = parts_of(motion, sizes), data.motion
    for i in range(sizes.nq):
        data.latched[motion.position + i] = m[at.p + i]
    for k in range(sizes.nv):
        i = data.coordinate[k]
        begin(m, at, k, math.inf)
        if i >= 0:
            way = stopping_distance(m[at.w + k], data.acceleration[k], data.jerk[k])
            data.latched[motion.position + i] += way


@kernel
def plan_joints(motion, sizes, data):
    """Begin a movement to the ordered position."""
    motion.resting = 0
    at, m = parts_of(motion, sizes), data.motion
    for i in range(sizes.nq):
        m[at.start + i] = m[at.p + i]
        data.latched[motion.position + i] = data.ordered[motion.position + i]
    for k in range(sizes.nv):
        i = data.coordinate[k]
        way = data.ordered[motion.position + i] - m[at.p + i] if i >= 0 else 0.0
        m[at.way + k] = wrapped(way) if data.wraps[k] else way
        m[at.start_w + k], m[at.start_a + k] = m[at.w + k], m[at.a + k]
        begin(m, at, k, 0.0)


@kernel
def copy_joints(motion, sizes, data, given):
    """References in effect as commanded, or held; no limits."""
    start = first_reference(sizes)
    source = data.command if given else data.latched
    for i in range(sizes.nq):
        data.state[start + motion.position + i] = source[motion.position + i]
    for first in (motion.velocity, motion.acceleration, motion.jerk, motion.snap):
        if first >= 0:
            for k in range(sizes.nv):
                x = data.command[first + k]
                data.state[start + first + k] = x if given and math.isfinite(x) else 0.0


@kernel
def jump_joints(motion, sizes, data):
    """Take what is in effect for where the reference is."""
    motion.resting = 0
    at, m, start = parts_of(motion, sizes), data.motion, first_reference(sizes)
    for i in range(sizes.nq):
        m[at.p + i] = data.state[start + motion.position + i]
    for k in range(sizes.nv):
        m[at.w + k] = data.state[start + motion.velocity + k] if motion.velocity >= 0 else 0.0
        m[at.a + k] = m[at.j + k] = 0.0
        begin(m, at, k, 0.0)


@kernel
def has(source, first, k):
    """Whether the k-th number of a reference that begins at `first` is given."""
    return first >= 0 and math.isfinite(source[first + k])


@kernel
def aim(motion, sizes, data, given, t, T, dt):
    """Where each joint is to go: e (nv,) from where its reference is, with v_c, a_c, and its jerk
    and snap; rows 0 to 2, 8 and 9 of the scratch. Speeds and accelerations that are not given are
    differences, within limits. Returns status bits."""
    at, m, start = parts_of(motion, sizes), data.motion, first_reference(sizes)
    planned = motion.planned != 0 and not given
    part = part_of_path(data, t) if planned else 0
    status = 0
    for k in range(sizes.nv):
        i = data.coordinate[k]
        data.rows[0, k] = data.rows[1, k] = data.rows[2, k] = 0.0
        data.rows[8, k] = data.rows[9, k] = 0.0
        if i < 0:
            continue
        target, v_c, a_c = data.state[start + motion.position + i], 0.0, 0.0
        j_c, s_c = 0.0, 0.0
        if planned and data.knots[IN_EFFECT] > 0:
            target, v_c, a_c, j_c, s_c = on_path(data, sizes.nv, part, k, t)
        elif planned:
            x, v_c, a_c = quintic(t, T, m[at.way + k], m[at.start_w + k], m[at.start_a + k])
            target = m[at.start + i] + x
            j_c, s_c = quintic_rates(t, T, m[at.way + k], m[at.start_w + k], m[at.start_a + k])
        elif given:
            if motion.jerk >= 0:
                j_c = data.state[start + motion.jerk + k]
            if motion.snap >= 0:
                s_c = data.state[start + motion.snap + k]
        inside = target
        p = m[at.p + i]
        if given or planned:  # what is held was there without being asked for
            # Outside of its limits a joint may stay and go back, but no further.
            inside = min(max(target, min(data.lower[k], p)), max(data.upper[k], p))
        e = inside - p
        e = wrapped(e) if data.wraps[k] else e
        if given:
            mean, before = clip((e - m[at.gap + k]) / dt, data.speed[k]), m[at.mean + k]
            has_speed = has(data.command, motion.velocity, k)
            v_c = 1.5 * mean - 0.5 * before
            # Beyond their limits given rates would lead away from the position they come with.
            if has_speed:
                v_c = clip(data.command[motion.velocity + k], data.speed[k])
            bend = v_c - m[at.w + k] - m[at.gap_w + k] if has_speed else mean - before
            a_c = clip(bend / dt, data.acceleration[k])
            if has(data.command, motion.acceleration, k):
                a_c = clip(data.command[motion.acceleration + k], data.acceleration[k])
            m[at.mean + k] = mean
        if abs(inside - target) > CLOSE * data.speed[k] * dt:
            # Where it has to stop, nothing else of the command makes sense.
            v_c = a_c = j_c = s_c = 0.0
            status = LIMITED_REFERENCE
        data.rows[0, k] = e
        data.rows[1, k], data.rows[2, k] = v_c, a_c
        data.rows[8, k], data.rows[9, k] = j_c, s_c
    return status


@kernel
def as_commanded(motion, sizes, data, k, given, dt):
    """Whether a joint's reference may be what is commanded but for a gap, and that; after aim."""
    at, m = parts_of(motion, sizes), data.motion
    left, w, a = m[at.left + k], m[at.w + k], m[at.a + k]
    gap, gap_w, gap_a = m[at.gap + k], m[at.gap_w + k], m[at.gap_a + k]
    if left == math.inf:
        return False, gap, gap_w, gap_a
    x, gap_w, gap_a = quintic(dt, left, -gap, gap_w, gap_a)
    gap += x
    step, to_w = data.rows[0, k] - gap, data.rows[1, k] - gap_w
    a_most, j_most = data.acceleration[k], data.jerk[k]
    strict = left > 0.0 or not given or not has(data.command, motion.velocity, k)
    fits = continues(step, w, a, to_w, data.speed[k], a_most, j_most, dt, strict)
    fits = fits and abs(data.rows[2, k] - gap_a) <= a_most * (1.0 + ROUNDING)
    return fits, gap, gap_w, gap_a


@kernel
def find_pace(work, motion, sizes, data, given, dt):
    """λ and α of joints on their way, and whether they may go on; pace.py. Needs aim.

    What is commanded within limits is followed whatever it takes; a planned movement is not.
    """
    if sizes.torques == 0 or sizes.unactuated > 0:
        return 1.0, 1.0, True
    at, m, going = parts_of(motion, sizes), data.motion, data.rows[3]
    moving = False
    for k in range(sizes.nv):
        going[k] = 0.0
        if data.coordinate[k] < 0 or (given and as_commanded(motion, sizes, data, k, given, dt)[0]):
            continue
        v_most, a_most = data.speed[k], data.acceleration[k]
        gain = CLOSING * data.jerk[k] / a_most
        closing = signed_approach(data.rows[0, k], gain, BRAKING * a_most)
        going[k] = clip(data.rows[1, k] + closing, v_most) / v_most
        if abs(going[k]) < STANDING:
            going[k] = 0.0
        moving = moving or going[k] != 0.0
    if not moving:
        return 1.0, 1.0, True
    p, ahead = m[at.p : at.p + sizes.nq], m[at.ahead : at.ahead + sizes.nq]
    return pace_of(work, sizes, data, p, data.rows[0], going, ahead)


@kernel
def follow_joints(work, motion, sizes, data, given, t, T, dt):
    """One tick of the way to what is commanded, planned or held. Returns status bits."""
    if motion.resting != 0 and not given:
        return 0
    copy_joints(motion, sizes, data, given)
    at, m, start = parts_of(motion, sizes), data.motion, first_reference(sizes)
    status = aim(motion, sizes, data, given, t, T, dt)
    pace, share, goes_on = find_pace(work, motion, sizes, data, given, dt)
    asked = given or motion.planned != 0
    rests = not asked
    for k in range(sizes.nv):
        i = data.coordinate[k]
        if i < 0:
            continue
        p, w, a = m[at.p + i], m[at.w + k], m[at.a + k]
        e, v_c, a_c = data.rows[0, k], data.rows[1, k], data.rows[2, k]
        rests = rests and e == 0.0 and w == 0.0 and a == 0.0 and m[at.j + k] == 0.0
        j, s = data.rows[8, k], data.rows[9, k]
        v_most, a_most, j_most = data.speed[k], data.acceleration[k], data.jerk[k]
        bearable = given or (goes_on and abs(v_c) <= pace * v_most)
        fits, gap, gap_w, gap_a = as_commanded(motion, sizes, data, k, given, dt)
        if bearable and fits:
            to_w, step = v_c - gap_w, e - gap
            left = max(m[at.left + k] - dt, 0.0)
        else:
            left = ENDING * a_most / j_most
            most = pace * max(CATCHING_UP * v_most, min(abs(v_c), v_most))
            used = max(share, STOP_SHARE) if abs(w) > most else share
            if not goes_on:
                e, v_c, a_c = stopping_distance(w, used * a_most, used * j_most), 0.0, 0.0
                left = math.inf
            to_w = w + dt * shape(e, w, a, v_c, a_c, most, a_most, j_most, dt, used, v_most)
            to_w = clip(to_w, max(v_most, abs(w)))
            step = 0.5 * (w + to_w) * dt
            gap, gap_w, gap_a = e - step, v_c - to_w, a_c - (to_w - w) / dt
            if not closes(gap, gap_w, gap_a, left, ENDING_SHARE * share * j_most):
                left = math.inf
            if not goes_on or abs(gap) > SLACK * v_most * dt:
                m[at.late + k] = 1.0
        before, a = a, (to_w - w) / dt
        if left == 0.0:
            m[at.late + k] = 0.0
        else:
            j, s = smooth_jerk(m[at.j + k], (a - before) / dt, dt)
        if asked and m[at.late + k] != 0.0:
            status = LIMITED_REFERENCE
        p, w = p + step, to_w
        m[at.p + i], m[at.w + k], m[at.a + k], m[at.j + k] = p, w, a, j
        m[at.gap + k], m[at.gap_w + k], m[at.gap_a + k] = gap, gap_w, gap_a
        m[at.left + k] = left
        data.state[start + motion.position + i] = p
        if motion.velocity >= 0:
            data.state[start + motion.velocity + k] = w
        if motion.acceleration >= 0:
            data.state[start + motion.acceleration + k] = a_c if left == 0.0 and given else a
        if motion.jerk >= 0:
            data.state[start + motion.jerk + k] = j
        if motion.snap >= 0:
            data.state[start + motion.snap + k] = s
    motion.resting = 1 if rests else 0
    return status
