"""Tasks: what the robot should do, as rows J a + rate → 0 with weights ([BK12] eq. 36).

    kind         rows  references, in this order
    posture      -     position (nq), velocity (nv), acceleration (nv)
    point        3     position (3), velocity (3), acceleration (3), world axes
    orientation  3     quaternion x y z w (4), angular velocity (3) and acceleration (3)
    frame        6     position (3) and quaternion (4), then twist (6) and its rate (6)
    com          3     position (3), velocity (3), acceleration (3)
    momentum     6     centroidal momentum (6) and its rate (6)

Twists and momenta are [angular; linear] in world axes; of a task that is relative to another frame
b, poses and twists are those seen from b, in its axes:

    r = R_bᵀ (p − p_b)     ṙ = R_bᵀ (u − u_b − ω_b × (p − p_b))     ω = R_bᵀ (ω − ω_b)

What is wanted is

    acceleration + damping · (velocity error) + stiffness · (position error)
"""

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.contacts.rows import rotation_vector
from torqued.kernels.dynamics.centroidal import (
    fill_momentum_matrix,
    mass_and_moment,
    momentum_about,
)
from torqued.kernels.dynamics.frames import (
    HYBRID,
    body_motion,
    frame_placement,
    represent,
    represent_rate,
)
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.primitives.spatial import (
    ZERO6,
    add,
    add6,
    add_scaled6,
    angular,
    compose,
    cross,
    dot,
    join,
    linear,
    quaternion_rotation,
    rotate_back,
    scale,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load3, load6

POSTURE, POINT, ORIENTATION, FRAME_TASK, COM, MOMENTUM = 0, 1, 2, 3, 4, 5
KINDS = {
    "posture": POSTURE,
    "point": POINT,
    "orientation": ORIENTATION,
    "frame": FRAME_TASK,
    "com": COM,
    "momentum": MOMENTUM,
}
ROWS = {POSTURE: 0, POINT: 3, ORIENTATION: 3, FRAME_TASK: 6, COM: 3, MOMENTUM: 6}

#: Numbers of a task among the gains: weight, stiffness, damping.
TASK_GAINS = 3


@kernel
def at(state, k):
    """A 3-vector of the references."""
    return (state[k], state[k + 1], state[k + 2])


@kernel
def norm(x):
    return dot(x, x) ** 0.5


@kernel
def put(task, row, x, values):
    """x[rows of the task] = three numbers."""
    k = task.row + row
    x[k], x[k + 1], x[k + 2] = values[0], values[1], values[2]


@kernel
def fill_rows(work, task, first, last, J):
    """Rows `first` … `last` of the frame's hybrid Jacobian; needs body_poses."""
    R, p = frame_placement(work, task.frame)
    for r in range(task.row, task.row + task.rows):
        J[r, :] = 0.0
    b = task.frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            x = represent(work, HYBRID, R, p, load6(work.columns[c].S))
            for r in range(first, last):
                J[task.row + r - first, c] = x[r]
        b = body.above
    if task.relative != 0:
        see_rows_from(work, task, p, first, last, J)


@kernel
def see_rows_from(work, task, p, first, last, J):
    """Rows of a frame at p as seen from the task's other frame."""
    R, _ = frame_placement(work, task.other)
    b = task.other.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            x = represent(work, HYBRID, R, p, load6(work.columns[c].S))  # of b's point at p
            for r in range(first, last):
                J[task.row + r - first, c] -= x[r]
        b = body.above
    for r in range(task.row, task.row + task.rows, 3):
        for c in range(J.shape[1]):
            x = rotate_back(R, (J[r, c], J[r + 1, c], J[r + 2, c]))
            J[r, c], J[r + 1, c], J[r + 2, c] = x[0], x[1], x[2]


@kernel
def motion_of(work, frame, R, p):
    """Hybrid twist and J̇ v of the point p that moves with a frame; needs bias_accelerations."""
    twist, acceleration = body_motion(work, frame)
    if frame.body >= 0:
        acceleration = add_scaled6(acceleration, rest_acceleration(work), -1.0)
    drift = represent_rate(work, HYBRID, R, p, twist, acceleration)
    return represent(work, HYBRID, R, p, twist), drift


@kernel
def frame_state(work, task):
    """Rotation, position, twist and J̇ v of a task's frame, in world axes or seen from another."""
    R, p = frame_placement(work, task.frame)
    twist, drift = motion_of(work, task.frame, R, p)
    if task.relative == 0:
        return R, add(p, load3(work.origin)), twist, drift
    R_b, p_b = frame_placement(work, task.other)
    carried, carried_drift = motion_of(work, task.other, R_b, p)
    w_b, w, u = angular(carried), angular(twist), sub(linear(twist), linear(carried))
    # Seen from axes that turn: d/dt R_bᵀ x = R_bᵀ (ẋ − ω_b × x)
    turn = sub(sub(angular(drift), angular(carried_drift)), cross(w_b, w))
    shift = sub(sub(linear(drift), linear(carried_drift)), scale(cross(w_b, u), 2.0))
    return (
        compose(transpose(R_b), R),
        rotate_back(R_b, sub(p, p_b)),
        join(rotate_back(R_b, sub(w, w_b)), rotate_back(R_b, u)),
        join(rotate_back(R_b, turn), rotate_back(R_b, shift)),
    )


@kernel
def wanted(error, velocity, target_velocity, target_acceleration, stiffness, damping):
    """The acceleration that a task asks for."""
    x = add(scale(error, stiffness), scale(sub(target_velocity, velocity), damping))
    return add(target_acceleration, x)


@routine
def fill_frame_task(work, task, state, stiffness, damping, error, J, rate):
    """Rows of a point, an orientation or a whole frame."""
    R, position, twist, drift = frame_state(work, task)
    k = task.references
    row = 0
    if task.kind == FRAME_TASK:
        fill_rows(work, task, 0, 6, J)
    elif task.kind == ORIENTATION:
        fill_rows(work, task, 0, 3, J)
    else:
        fill_rows(work, task, 3, 6, J)
    if task.kind != POINT:
        turn, moves = (k + 3, k + 7) if task.kind == FRAME_TASK else (k, k + 4)
        target = quaternion_rotation(state[turn], state[turn + 1], state[turn + 2], state[turn + 3])
        e = rotation_vector(compose(target, transpose(R)))
        accelerations = moves + (6 if task.kind == FRAME_TASK else 3)
        w = angular(twist)
        want = wanted(e, w, at(state, moves), at(state, accelerations), stiffness, damping)
        put(task, 0, rate, sub(angular(drift), want))
        error[0] = norm(e)
        row = 3
    if task.kind != ORIENTATION:
        moves = k + 10 if task.kind == FRAME_TASK else k + 3
        accelerations = moves + (6 if task.kind == FRAME_TASK else 3)
        e = sub(at(state, k), position)
        u = linear(twist)
        want = wanted(e, u, at(state, moves), at(state, accelerations), stiffness, damping)
        put(task, row, rate, sub(linear(drift), want))
        error[1] = norm(e)


@routine
def whole_momentum(work, v, momentum):
    """Mass, center of mass, momentum and its rate while v stays constant; fills A_G (6, nv_free).

    Momentum is about the center of mass, which is relative to the origin; needs body_poses,
    composite_inertias, bias_accelerations, collect_forces.
    """
    mass, moment = mass_and_moment(work)
    c = scale(moment, 1.0 / mass if mass > 0.0 else 0.0)
    fill_momentum_matrix(work, c, momentum)
    h, force = ZERO6, ZERO6
    for k in range(len(v)):
        h = add_scaled6(h, column6(momentum, k), v[k])
    for i in range(len(work.bodies)):
        if work.bodies[i].parent < 0:
            force = add6(force, load6(work.states[i].f))
    # The forces hold against gravity too, whose moment about the center of mass is zero.
    rate = momentum_about(force, c)
    rate = join(angular(rate), add(linear(rate), scale(load3(work.world[0].gravity), mass)))
    return mass, c, h, rate


@kernel
def column6(A, k):
    return (A[0, k], A[1, k], A[2, k], A[3, k], A[4, k], A[5, k])


@kernel
def fill_com_task(work, task, state, whole, momentum, stiffness, damping, error, J, rate):
    """Rows of the center of mass."""
    mass, c, h, drift = whole
    inverse = 1.0 / mass if mass > 0.0 else 0.0
    for r in range(3):
        for k in range(J.shape[1]):
            J[task.row + r, k] = momentum[3 + r, k] * inverse
    k = task.references
    e = sub(at(state, k), add(c, load3(work.origin)))
    speed = scale(linear(h), inverse)
    want = wanted(e, speed, at(state, k + 3), at(state, k + 6), stiffness, damping)
    put(task, 0, rate, sub(scale(linear(drift), inverse), want))
    error[1] = norm(e)


@kernel
def fill_momentum_task(task, state, whole, momentum, damping, error, J, rate):
    """Rows of the centroidal momentum: its rate → wanted rate + damping · (momentum error)."""
    _, _, h, drift = whole
    for r in range(6):
        for k in range(J.shape[1]):
            J[task.row + r, k] = momentum[r, k]
    k = task.references
    turn, shift = sub(at(state, k), angular(h)), sub(at(state, k + 3), linear(h))
    put(task, 0, rate, sub(angular(drift), add(at(state, k + 6), scale(turn, damping))))
    put(task, 3, rate, sub(linear(drift), add(at(state, k + 9), scale(shift, damping))))
    error[0], error[1] = norm(turn), norm(shift)
