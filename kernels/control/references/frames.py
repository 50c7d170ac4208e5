"""The references of frames and of the center of mass, tick by tick, along screws.

A pose moves by a twist in its own axes: T ← T exp(x dt). The way to a target is the twist
x = log(T⁻¹ T_target), whose direction stays what it is while the frame moves along it. The size of
a twist is the larger of its angular and linear parts, each in units of a speed: both are within
their own limits, and they arrive together.

What passes as it is has the largest speeds for units. A jump has those with which the frame goes
straight ahead, times a scale: that with which the reference, or what is commanded, goes already.
"""

import math

from torqued.common.status import LIMITED_REFERENCE
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import expand_q
from torqued.kernels.control.references.limiter import (
    BRAKING,
    CLOSE,
    CLOSING,
    SLACK,
    approach,
    quintic,
)
from torqued.kernels.control.references.motions import (
    COM,
    JOINTS,
    POSE,
    RATE,
    SCALE,
    START,
    START_TWIST,
    TWIST,
    WAY,
)
from torqued.kernels.control.session_arrays import first_reference
from torqued.kernels.dynamics.centroidal import relative_com
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.manifold import (
    exponential_quaternion,
    load_quaternion,
    logarithm,
    quaternion_product,
    shift,
    shift_inverse,
    store_quaternion,
)
from torqued.kernels.primitives.spatial import (
    ZERO3,
    add,
    add6,
    angular,
    compose,
    cross,
    dot,
    join,
    linear,
    quaternion_rotation,
    rotate,
    rotate_back,
    scale6,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load3, load6, store6


@kernel
def quaternion_of(R):
    """x y z w of a rotation, by the largest of its parts."""
    trace = R[0] + R[4] + R[8]
    if trace > 0.0:
        s = 2.0 * math.sqrt(1.0 + trace)
        return (R[7] - R[5]) / s, (R[2] - R[6]) / s, (R[3] - R[1]) / s, 0.25 * s
    if R[0] > R[4] and R[0] > R[8]:
        s = 2.0 * math.sqrt(1.0 + R[0] - R[4] - R[8])
        return 0.25 * s, (R[1] + R[3]) / s, (R[2] + R[6]) / s, (R[7] - R[5]) / s
    if R[4] > R[8]:
        s = 2.0 * math.sqrt(1.0 - R[0] + R[4] - R[8])
        return (R[1] + R[3]) / s, 0.25 * s, (R[5] + R[7]) / s, (R[2] - R[6]) / s
    s = 2.0 * math.sqrt(1.0 - R[0] - R[4] + R[8])
    return (R[2] + R[6]) / s, (R[5] + R[7]) / s, 0.25 * s, (R[3] - R[1]) / s


@kernel
def present_pose(work, motion):
    """Quaternion and position of what moves; needs body_poses."""
    if motion.kind == COM:
        composite_inertias(work)
        return (0.0, 0.0, 0.0, 1.0), add(relative_com(work), load3(work.origin))
    R, p = frame_placement(work, motion.frame)
    if motion.relative != 0:
        R_b, p_b = frame_placement(work, motion.other)
        return quaternion_of(compose(transpose(R_b), R)), rotate_back(R_b, sub(p, p_b))
    return quaternion_of(R), add(p, load3(work.origin))


@kernel
def latch_frame(work, motion, data):
    """Hold the present pose, from rest; needs body_poses."""
    turn, p = present_pose(work, motion)
    m, k = data.motion, motion.memory
    for i in range(3):
        m[k + POSE + i] = p[i]
        if motion.position >= 0:
            data.latched[motion.position + i] = p[i]
    has_turn = motion.orientation >= 0
    store_quaternion(m, k + POSE + 3, turn if has_turn else (0.0, 0.0, 0.0, 1.0))
    if has_turn:
        store_quaternion(data.latched, motion.orientation, turn)
    for i in range(12):
        m[k + TWIST + i] = 0.0
    m[k + SCALE] = 1.0
    motion.locked = 0


@kernel
def store_latched(motion, data, p, turn):
    if motion.position >= 0:
        for i in range(3):
            data.latched[motion.position + i] = p[i]
    if motion.orientation >= 0:
        store_quaternion(data.latched, motion.orientation, turn)


@kernel
def moved(p, turn, x):
    """The pose at position p that turned by a quaternion, moved by a twist in its own axes."""
    R = quaternion_rotation(*turn)
    p = add(p, rotate(R, shift(angular(x), linear(x))))
    return p, quaternion_product(turn, exponential_quaternion(angular(x)))


@kernel
def way_between(p, turn, to_p, to_turn):
    """The twist, in the axes of the first pose, that moves it to the second."""
    back = (-turn[0], -turn[1], -turn[2], turn[3])
    q = quaternion_product(back, to_turn)
    w = logarithm(q[0], q[1], q[2], q[3])
    R = quaternion_rotation(*turn)
    return join(w, shift_inverse(w, rotate_back(R, sub(to_p, p))))


@kernel
def size_of(x, units):
    """Of a twist, in units of speeds (angular, linear)."""
    w, u = angular(x), linear(x)
    return math.sqrt(max(dot(w, w) / units[0] ** 2, dot(u, u) / units[1] ** 2))


@kernel
def units_of(limits, scale):
    """Of a jump: the speeds of limits.py, up to the largest ones."""
    return min(scale * limits[2], limits[0]), min(scale * limits[3], limits[1])


@kernel
def shortened(x, size, most):
    """A vector of a size, at most so long."""
    return scale6(x, most / size) if size > most else x


@kernel
def approach6(x, units, gain, most):
    """The rate at which a twist is closed; limiter.py."""
    size = size_of(x, units)
    return scale6(x, approach(size, gain, most) / size) if size > 0.0 else x


@kernel
def brake_frame(motion, data):
    """Hold where the reference can come to rest."""
    m, k, limits = data.motion, motion.memory, motion.limits
    x = load6(m[k + TWIST : k + TWIST + 6])
    scale = m[k + SCALE] = max(1.0, size_of(x, (limits[2], limits[3])))
    size = size_of(x, units_of(limits, scale))
    way = scale6(x, size / (2.0 * BRAKING * limits[4]) + 0.5 * limits[4] / limits[5])
    p, turn = moved(load3(m[k : k + 3]), load_quaternion(m, k + 3), way)
    store_latched(motion, data, p, turn)
    motion.locked = 0


@kernel
def plan_frame(motion, data):
    """Begin a movement to the ordered pose; what of it is not ordered stays."""
    m, k = data.motion, motion.memory
    for i in range(7):
        m[k + START + i] = m[k + POSE + i]
    p, turn = target_of(motion, data, data.ordered)
    store_latched(motion, data, p, turn)
    way = way_between(load3(m[k : k + 3]), load_quaternion(m, k + 3), p, turn)
    store6(m[k + WAY : k + WAY + 6], way)
    for i in range(6):
        m[k + START_TWIST + i] = m[k + TWIST + i]


@kernel
def target_of(motion, data, source):
    """The pose that is commanded; what of it is not given is held."""
    p, turn = ZERO3, (0.0, 0.0, 0.0, 1.0)
    if motion.position >= 0:
        i = motion.position
        given = math.isfinite(source[i])
        p = load3(source[i : i + 3]) if given else load3(data.latched[i : i + 3])
    if motion.orientation >= 0:
        i = motion.orientation
        given = math.isfinite(source[i])
        turn = load_quaternion(source, i) if given else load_quaternion(data.latched, i)
        n = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2 + turn[3] ** 2)
        s = 1.0 / max(n, 1e-300)
        turn = (turn[0] * s, turn[1] * s, turn[2] * s, turn[3] * s)
    return p, turn


@kernel
def commanded6(motion, start, source):
    """A commanded twist or its rate [angular; linear] in world axes, zero where none is given."""
    if start < 0 or not math.isfinite(source[start]):
        return join(ZERO3, ZERO3)
    if motion.position >= 0 and motion.orientation >= 0:
        return load6(source[start : start + 6])
    x = load3(source[start : start + 3])
    return join(ZERO3, x) if motion.position >= 0 else join(x, ZERO3)


@kernel
def store_motion(motion, state, start, x):
    """Put a twist or its rate where a law looks for it."""
    if start < 0:
        return
    if motion.position >= 0 and motion.orientation >= 0:
        for i in range(6):
            state[start + i] = x[i]
    else:
        first = 3 if motion.position >= 0 else 0
        for i in range(3):
            state[start + i] = x[first + i]


@kernel
def store_frame(motion, data, references, p, turn, twist, rate):
    """The references in effect, twists in world axes."""
    if motion.position >= 0:
        for i in range(3):
            references[motion.position + i] = p[i]
    if motion.orientation >= 0:
        store_quaternion(references, motion.orientation, turn)
    store_motion(motion, references, motion.velocity, twist)
    store_motion(motion, references, motion.acceleration, rate)


@kernel
def copy_frame(motion, sizes, data, given):
    """References in effect as commanded, or held; no limits."""
    references = data.state[first_reference(sizes) :]
    source = data.command if given else data.latched
    p, turn = target_of(motion, data, source)
    twist = rate = join(ZERO3, ZERO3)
    if given:
        twist = commanded6(motion, motion.velocity, data.command)
        rate = commanded6(motion, motion.acceleration, data.command)
    store_frame(motion, data, references, p, turn, twist, rate)


@kernel
def in_axes(turn, x):
    """A twist in world axes, in those of a frame."""
    R = quaternion_rotation(*turn)
    return join(rotate_back(R, angular(x)), rotate_back(R, linear(x)))


@kernel
def jump_frame(motion, sizes, data):
    """Take what is in effect for where the reference is."""
    m, k, references = data.motion, motion.memory, data.state[first_reference(sizes) :]
    p, turn = target_of(motion, data, references)
    for i in range(3):
        m[k + i] = p[i]
    store_quaternion(m, k + 3, turn)
    x = in_axes(turn, commanded6(motion, motion.velocity, references))
    store6(m[k + TWIST : k + TWIST + 6], x)
    store6(m[k + RATE : k + RATE + 6], join(ZERO3, ZERO3))
    motion.locked = 1


@kernel
def shape6(e, x, rate, x_c, rate_c, limits, scale, dt):
    """Twist and its rate after a tick, of a pose that is a twist e short of what is commanded."""
    units, a_most, j_most = units_of(limits, scale), limits[4], limits[5]
    closing = approach6(e, units, CLOSING * j_most / a_most, BRAKING * a_most)
    wanted = add6(x_c, shortened(closing, size_of(closing, units), 1.0))
    wanted = shortened(wanted, size_of(wanted, limits), 1.0)
    change = add6(wanted, scale6(x, -1.0))
    push = approach6(change, units, j_most / a_most, BRAKING * j_most)
    push = add6(rate_c, shortened(push, size_of(push, units), a_most))
    push = shortened(push, size_of(push, limits), a_most)
    jerk = add6(push, scale6(rate, -1.0))
    most = j_most + size_of(rate_c, units) * j_most / a_most
    rate = add6(rate, shortened(jerk, size_of(jerk, units), most * dt))
    x = add6(x, scale6(rate, dt))
    return shortened(x, size_of(x, limits), 1.0), rate


@kernel
def planned_pose(m, k, t, T):
    """The pose of a planned movement at time t."""
    p, turn = load3(m[k + START : k + START + 3]), load_quaternion(m, k + START + 3)
    way, begun = load6(m[k + WAY : k + WAY + 6]), load6(m[k + START_TWIST : k + START_TWIST + 6])
    x = scale6(way, quintic(t, T, 1.0, 0.0, 0.0)[0])
    return moved(p, turn, add6(x, scale6(begun, quintic(t, T, 0.0, 1.0, 0.0)[0])))


@kernel
def follow_frame(work, motion, sizes, data, given, t, T, dt):
    """One tick of the way to what is commanded, planned or held. Returns status bits.

    In a planned movement of joints too, frames go along with these.
    """
    m, k, limits = data.motion, motion.memory, motion.limits
    references = data.state[first_reference(sizes) :]
    p, turn = load3(m[k : k + 3]), load_quaternion(m, k + 3)
    x, rate = load6(m[k + TWIST : k + TWIST + 6]), load6(m[k + RATE : k + RATE + 6])
    source = data.command if given else data.latched
    to_p, to_turn = target_of(motion, data, source)
    x_c = rate_c = join(ZERO3, ZERO3)
    planned = motion.planned != 0 and not given
    if planned:
        to_p, to_turn = planned_pose(m, k, t, T)
        for j in range(len(data.motions)):
            joints = data.motions[j]
            if joints.kind == JOINTS and joints.planned != 0 and sizes.unactuated == 0:
                expand_q(data, m[joints.memory : joints.memory + sizes.nq], data.q_other)
                body_poses(work, data.q_other)
                to_turn, to_p = present_pose(work, motion)
    elif given:
        x_c = in_axes(to_turn, commanded6(motion, motion.velocity, data.command))
        rate_c = in_axes(to_turn, commanded6(motion, motion.acceleration, data.command))
    e = way_between(p, turn, to_p, to_turn)
    status = 0
    if planned:
        # Within limits by its length: the twist of this tick is what it takes to get there.
        x_c = scale6(e, 1.0 / dt)
        rate_c = scale6(add6(x_c, scale6(x, -1.0)), 1.0 / dt)
    change = add6(x_c, scale6(x, -1.0))
    ticks = dt if not motion.locked else SLACK * dt
    near = CLOSE * dt if not motion.locked else SLACK * dt
    typical, off = (limits[2], limits[3]), add6(e, scale6(add6(x, x_c), -0.5 * dt))
    is_near = planned or size_of(off, typical) <= near
    is_slow = size_of(x_c, limits) <= 1.0 and size_of(change, limits) <= limits[4] * ticks
    if is_near and is_slow:
        p, turn, x, rate = to_p, to_turn, x_c, rate_c
        motion.locked = 1
    else:
        if planned:  # too fast: it is followed as if it stood still
            x_c = rate_c = join(ZERO3, ZERO3)
        scale = max(1.0, size_of(x, typical), size_of(x_c, typical))
        scale = m[k + SCALE] = max(scale, 0.0 if motion.locked else m[k + SCALE])
        rate_c = join(angular(rate_c), sub(linear(rate_c), cross(angular(x_c), linear(x_c))))
        x, rate = shape6(e, x, rate, x_c, rate_c, limits, scale, dt)
        p, turn = moved(p, turn, scale6(x, dt))
        motion.locked = 0
        if given or planned:
            status = LIMITED_REFERENCE
    for i in range(3):
        m[k + i] = p[i]
    store_quaternion(m, k + 3, turn)
    store6(m[k + TWIST : k + TWIST + 6], x)
    store6(m[k + RATE : k + RATE + 6], rate)
    # In world axes; the point's acceleration has the turning of its velocity in it.
    R = quaternion_rotation(*turn)
    twist = join(rotate(R, angular(x)), rotate(R, linear(x)))
    if motion.locked and given:
        bend = join(rotate(R, angular(rate)), rotate(R, linear(rate)))
    else:
        turned = add(linear(rate), cross(angular(x), linear(x)))
        bend = join(rotate(R, angular(rate)), rotate(R, turned))
    store_frame(motion, data, references, p, turn, twist, bend)
    return status
