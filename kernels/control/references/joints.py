"""The references of joints, tick by tick. Joints with one coordinate each; others are copied."""

from __future__ import annotations

import math

from torqued.common.status import LIMITED_REFERENCE
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.references.limiter import (
    CATCHING_UP,
    follows,
    quintic,
    shape,
    stopping_distance,
)
from torqued.kernels.control.references.motions import JointMotion


@kernel
def parts_of(motion, sizes):
    """Where the numbers of a joint motion begin."""
    nq, nv, k = sizes.nq, sizes.nv, motion.memory
    w = k + nq
    start = w + 3 * nv
    way = start + nq
    return JointMotion(k, w, w + nv, w + 2 * nv, start, way, way + nv, way + 2 * nv, way + 3 * nv)


@kernel
def wrapped(x):
    """The same angle in (−π, π]."""
    return x - 2.0 * math.pi * math.ceil(x / (2.0 * math.pi) - 0.5)


@kernel
def latch_joints(motion, sizes, data):
    """Hold the present position of the joints, from rest."""
    at, m = parts_of(motion, sizes), data.motion
    for i in range(sizes.nq):
        m[at.p + i] = data.latched[motion.position + i] = data.state[i]
    for k in range(sizes.nv):
        m[at.w + k] = m[at.a + k] = 0.0
        m[at.locked + k] = 0.0


@kernel
def brake_joints(motion, sizes, data):
    """Hold where the reference can come to rest."""
    at, m = parts_of(motion, sizes), data.motion
    for i in range(sizes.nq):
        data.latched[motion.position + i] = m[at.p + i]
    for k in range(sizes.nv):
        i = data.coordinate[k]
        m[at.locked + k] = 0.0
        if i >= 0:
            way = stopping_distance(m[at.w + k], data.acceleration[k], data.jerk[k])
            data.latched[motion.position + i] += way


@kernel
def plan_joints(motion, sizes, data):
    """Begin a movement to the ordered position."""
    at, m = parts_of(motion, sizes), data.motion
    for i in range(sizes.nq):
        m[at.start + i] = m[at.p + i]
        data.latched[motion.position + i] = data.ordered[motion.position + i]
    for k in range(sizes.nv):
        i = data.coordinate[k]
        way = data.ordered[motion.position + i] - m[at.p + i] if i >= 0 else 0.0
        m[at.way + k] = wrapped(way) if data.wraps[k] else way
        m[at.start_w + k], m[at.start_a + k] = m[at.w + k], m[at.a + k]


@kernel
def copy_joints(motion, sizes, data, given):
    """References in effect as commanded, or held; no limits."""
    start = sizes.nq + sizes.nv
    source = data.command if given else data.latched
    for i in range(sizes.nq):
        data.state[start + motion.position + i] = source[motion.position + i]
    for k in range(sizes.nv):
        if motion.velocity >= 0:
            x = data.command[motion.velocity + k]
            data.state[start + motion.velocity + k] = x if given and math.isfinite(x) else 0.0
        if motion.acceleration >= 0:
            x = data.command[motion.acceleration + k]
            data.state[start + motion.acceleration + k] = x if given and math.isfinite(x) else 0.0


@kernel
def jump_joints(motion, sizes, data):
    """Take what is in effect for where the reference is."""
    at, m, start = parts_of(motion, sizes), data.motion, sizes.nq + sizes.nv
    for i in range(sizes.nq):
        m[at.p + i] = data.state[start + motion.position + i]
    for k in range(sizes.nv):
        m[at.w + k] = data.state[start + motion.velocity + k] if motion.velocity >= 0 else 0.0
        m[at.a + k] = 0.0
        m[at.locked + k] = 1.0


@kernel
def follow_joints(motion, sizes, data, given, t, T, dt):
    """One tick of the way to what is commanded, planned or held. Returns status bits."""
    copy_joints(motion, sizes, data, given)
    at, m, start = parts_of(motion, sizes), data.motion, sizes.nq + sizes.nv
    planned = motion.planned != 0 and not given
    status = 0
    for k in range(sizes.nv):
        i = data.coordinate[k]
        if i < 0:
            continue
        p, w, a = m[at.p + i], m[at.w + k], m[at.a + k]
        target, v_c, a_c = data.state[start + motion.position + i], 0.0, 0.0
        if planned:
            x, v_c, a_c = quintic(t, T, m[at.way + k], m[at.start_w + k], m[at.start_a + k])
            target = m[at.start + i] + x
        elif given:
            if motion.velocity >= 0:
                v_c = data.state[start + motion.velocity + k]
            if motion.acceleration >= 0:
                a_c = data.state[start + motion.acceleration + k]
        v_most, a_most, j_most = data.speed[k], data.acceleration[k], data.jerk[k]
        inside = target
        if given or planned:  # what is held was there without being asked for
            inside = min(max(target, data.lower[k]), data.upper[k])
        if inside != target:  # where it has to stop, nothing else of the command makes sense
            v_c = a_c = 0.0
            status = LIMITED_REFERENCE
        e = inside - p
        if data.wraps[k]:
            e = wrapped(e)
        if follows(m[at.locked + k] != 0.0, e, v_c - w, v_most, a_most, dt) and abs(v_c) <= v_most:
            p, w, a = p + e, v_c, a_c
            m[at.locked + k] = 1.0
        else:
            most = max(CATCHING_UP * v_most, min(abs(v_c), v_most))
            w, a = shape(e, w, a, v_c, a_c, most, a_most, j_most, dt)
            p += w * dt
            m[at.locked + k] = 0.0
            if given or planned:
                status = LIMITED_REFERENCE
        m[at.p + i], m[at.w + k], m[at.a + k] = p, w, a
        data.state[start + motion.position + i] = p
        # A command of positions alone has no speed to feed forward until it is limited.
        if motion.velocity >= 0:
            data.state[start + motion.velocity + k] = w
        if motion.acceleration >= 0:
            data.state[start + motion.acceleration + k] = a
    return status
