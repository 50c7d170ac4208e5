"""Passivity-based balancing of a floating base in contact ([ORH11]: Ott, Roa, Hirzinger 2011).

The wrench that the ground should exert on the robot, taken about the center of mass c,

    F = −m gravity + K_c (c_ref − c) + D_c (ċ_ref − ċ)
    T = K_R · (rotation from the base's orientation to the wanted one) + D_R (ω_ref − ω)

is shared out over the contacts within their friction pyramids, and joints exert what passes these
forces on: τ = −(J_p − J_c)ᵀ f + posture stiffness · error − posture damping · v. No inverse of the
inertia and no acceleration enters: what the law adds to the robot is springs and dampers. A task
pulls at its frame through the joints between it and the base, τ = Jᵀ W, and that of a foot takes
the place of the posture's springs in its leg while the foot is in the air.
"""

import math

from torqued.common.status import SOLVER
from torqued.kernels.compilation.jit import entry, kernel, routine
from torqued.kernels.contacts.rows import rotation_vector
from torqued.kernels.control.wholebody.assemble import (
    expand_state,
    fill_com_rows,
    posture_error,
    project,
)
from torqued.kernels.control.wholebody.contacts import EDGES, activate, fill_contact
from torqued.kernels.control.wholebody.daqp import UNBOUNDED
from torqued.kernels.control.wholebody.law import all_finite, fade_torque, keep_torque, put_forces
from torqued.kernels.control.wholebody.layout import (
    FRICTION,
    INPUT,
    NOTHING,
    open_program,
    program_sizes,
)
from torqued.kernels.control.wholebody.rows import finish_row, invert_factor, product
from torqued.kernels.control.wholebody.solve import solve_rows
from torqued.kernels.control.wholebody.tasks import (
    FRAME_TASK,
    ORIENTATION,
    POINT,
    at,
    whole_momentum,
)
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.frames import HYBRID, body_motion, frame_placement, represent
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.primitives.layout import INTEGER, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    ZERO6,
    add,
    angular,
    compose,
    cross,
    dot6,
    join,
    linear,
    quaternion_rotation,
    rotate,
    scale,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load3, load6, load9
from torqued.kernels.primitives.workspace import open_work

#: Gains: stiffness and damping of the center of mass, of the orientation, weight of moments
#: against forces, weight of forces; then stiffness (nv) and damping (nv) of the posture.
#: Then stiffness and damping of each task.
COMMON_GAINS = 6
#: Share of the posture's damping in a leg that swings: its task damps it, and moves it.
SWINGING = 0.2
#: Errors of a task that count, rad and m: what is further away is not drawn in faster.
MAX_TURN, MAX_WAY = 0.6, 0.2


@routine
def wanted_wrench(work, program, state, first, gains):
    """Moment and force about the center of mass, and where that is relative to the origin."""
    mass, c, h, _ = whole_momentum(work, program.v_free, program.momentum)
    inverse = 1.0 / mass if mass > 0.0 else 0.0
    e = sub(at(state, first), add(c, load3(work.origin)))
    slower = sub(at(state, first + 3), scale(linear(h), inverse))
    force = add(scale(e, gains[0]), scale(slower, gains[1]))
    force = sub(force, scale(load3(work.world[0].gravity), mass))
    R = load9(work.states[0].R)
    k = first + 6
    target = quaternion_rotation(state[k], state[k + 1], state[k + 2], state[k + 3])
    turn = rotation_vector(compose(target, transpose(R)))
    spin = sub(at(state, first + 10), angular(load6(work.states[0].v)))
    moment = add(scale(turn, gains[2]), scale(spin, gains[3]))
    return mass, c, join(moment, force)


@kernel
def wrench_column(work, program, k, point, axis, c):
    """[moment about c; force] of a unit force of a contact's point along one of its axes."""
    contact = program.contact[k]
    E = load9(program.axes[k])
    force = (E[axis], E[3 + axis], E[6 + axis])
    R, p = load9(contact.frame.R), load3(contact.frame.p)
    if contact.frame.body >= 0:
        state = work.states[contact.frame.body]
        p = add(load3(state.p), rotate(load9(state.R), p))
        R = compose(load9(state.R), R)
    r = add(p, rotate(R, load3(program.offset[point])))
    return join(cross(sub(r, c), force), force)


@routine
def fill_distribution(work, sizes, program, c, wrench, moment_weight, force_weight):
    """H and g of ½ ‖G f − wrench‖² + ½ force_weight ‖f‖²; G in the first rows of `distribution`."""
    n = 0
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable < 0:
            continue
        for i in range(contact.point, contact.point + contact.points):
            for axis in range(3):
                x = wrench_column(work, program, k, i, axis, c)
                for r in range(6):
                    program.distribution[r, n] = x[r]
                n += 1
    for i in range(n):
        gradient = 0.0
        for r in range(6):
            weight = moment_weight if r < 3 else 1.0
            gradient -= weight * program.distribution[r, i] * wrench[r]
        program.g[i] = gradient
        for j in range(i + 1):
            x = force_weight if i == j else 0.0
            for r in range(6):
                weight = moment_weight if r < 3 else 1.0
                x += weight * program.distribution[r, i] * program.distribution[r, j]
            program.H[i, j] = x
    return n


@kernel
def sparse_row(L, n, first, x, out):
    """out = L row, where the row has three numbers x from `first` on. Returns its square sum."""
    total = 0.0
    for i in range(n):
        y = 0.0
        for j in range(min(3, max(0, i + 1 - first))):
            y += L[i, first + j] * x[j]
        out[i] = y
        total += y * y
    return total


@routine
def fill_friction(sizes, program, n):
    """Rows of all active contacts. Returns their number."""
    r = 0
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable < 0:
            continue
        mu = contact.friction
        for i in range(contact.points):
            for edge in range(EDGES):
                sign = 1.0 if edge % 2 == 0 else -1.0
                x = (sign, 0.0, -mu) if edge < 2 else (0.0, sign, -mu)
                out = program.A[r * n : (r + 1) * n]
                total = sparse_row(program.L, n, contact.variable + 3 * i, x, out)
                shift = product(program.w, out, n)
                identity = EDGES * (contact.point + i) + edge
                finish_row(program, r, out, total, n, shift, -UNBOUNDED, 0.0, identity, FRICTION)
                r += 1
        if contact.most < UNBOUNDED:
            out = program.A[r * n : (r + 1) * n]
            total = 0.0
            for i in range(n):
                y = 0.0
                for j in range(contact.points):
                    y += program.L[i, contact.variable + 3 * j + 2]
                out[i] = y
                total += y * y
            shift = product(program.w, out, n)
            identity = EDGES * sizes.points + k
            most = max(0.0, contact.most)
            finish_row(program, r, out, total, n, shift, -UNBOUNDED, most, identity, FRICTION)
            r += 1
    return r


@kernel
def distribute(work, sizes, program, c, wrench, gains):
    """Forces of all points. Returns the class that could not be met and the iterations."""
    program.force[:, :] = 0.0
    n = fill_distribution(work, sizes, program, c, wrench, gains[4], gains[5])
    if n == 0:
        return NOTHING, 0
    L = program.L[:n, :n]
    if not gains[5] > 0.0 or not invert_factor(program.H[:n, :n], L):
        return INPUT, 0
    sense = 0.0
    for i in range(n):
        program.w[i] = product(L[i], program.g, i + 1)
        sense += program.w[i]
    if not math.isfinite(sense):
        return INPUT, 0
    rows = fill_friction(sizes, program, n)
    solved, violated, iterations = solve_rows(program, rows, n, False)
    if not solved:
        return violated, iterations
    for i in range(n):
        program.y[i] = 0.0
    for i in range(n):
        x = program.u[i] - program.w[i]
        for k in range(i + 1):
            program.y[k] += L[i, k] * x
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable >= 0:
            for i in range(contact.points):
                for axis in range(3):
                    f = program.y[contact.variable + 3 * i + axis]
                    program.force[contact.point + i, axis] = f
    return violated, iterations


@kernel
def swings(sizes, program, j):
    """Whether joint j is one of a leg whose foot a task moves in the air."""
    found = False
    for k in range(sizes.tasks):
        contact = program.task[k].contact
        if contact >= 0 and program.contact[contact].variable < 0:
            found = found or program.chosen[k, j] != 0.0
    return found


@kernel
def bounded(e, most):
    """A vector no longer than that."""
    size = math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    return scale(e, most / size) if size > most else e


@routine
def add_tasks(work, sizes, program, state, gains):
    """τ += Jᵀ W in the joints between a task's frame and the base."""
    start = COMMON_GAINS + 2 * sizes.nv
    for k in range(sizes.tasks):
        task = program.task[k]
        if task.contact >= 0 and program.contact[task.contact].variable >= 0:
            continue
        stiffness, damping = gains[start + 2 * k], gains[start + 2 * k + 1]
        R, p = frame_placement(work, task.frame)
        position = add(p, load3(work.origin))
        twist = represent(work, HYBRID, R, p, body_motion(work, task.frame)[0])
        first = task.references
        moment, force, row = ZERO3, ZERO3, 0
        if task.kind != POINT:
            turn, moves = (first + 3, first + 7) if task.kind == FRAME_TASK else (first, first + 4)
            x, y, z, w = state[turn], state[turn + 1], state[turn + 2], state[turn + 3]
            target = quaternion_rotation(x, y, z, w)
            e = bounded(rotation_vector(compose(target, transpose(R))), MAX_TURN)
            slower = sub(at(state, moves), angular(twist))
            moment = task_force(task, 0, e, slower, stiffness, damping)
            row = 3
        if task.kind != ORIENTATION:
            moves = first + 10 if task.kind == FRAME_TASK else first + 3
            e = bounded(sub(at(state, first), position), MAX_WAY)
            slower = sub(at(state, moves), linear(twist))
            force = task_force(task, row, e, slower, stiffness, damping)
        wrench = join(add(moment, cross(p, force)), force)
        b = task.frame.body
        while b >= 0:
            body = work.bodies[b]
            for c in range(body.run, body.column + body.columns):
                j = int(program.v_index[c])
                if j >= sizes.base:
                    S = load6(work.columns[c].S)
                    program.tau[j] += program.v_multiplier[c] * dot6(S, wrench)
            b = body.above


@kernel
def task_force(task, row, e, slower, stiffness, damping):
    """Inertia · (stiffness e + damping ė), the rows of a task that begin at `row`."""
    inertia = task.inertia[0 if row == 0 and task.kind != POINT else 1]
    x = scale(add(scale(e, stiffness), scale(slower, damping)), inertia)
    return task.share[row] * x[0], task.share[row + 1] * x[1], task.share[row + 2] * x[2]


@kernel
def pass_on(sizes, program, state, posture, gains):
    """τ = −(J_p − J_c)ᵀ f + posture."""
    nq, nv = sizes.nq, sizes.nv
    total = ZERO3
    for k in range(sizes.contacts):
        contact = program.contact[k]
        for i in range(contact.point, contact.point + contact.points):
            f = (program.force[i, 0], program.force[i, 1], program.force[i, 2])
            total = add(total, rotate(load9(program.axes[k]), f))
    for i in range(nv):
        program.tau[i] = 0.0
    for i in range(sizes.nv_free):
        j = int(program.v_index[i])
        if program.leader[i] != 0.0 and j >= sizes.base and not swings(sizes, program, j):
            program.tau[j] += gains[COMMON_GAINS + j] * program.error_free[i]
    for j in range(sizes.base, nv):
        slower = state[posture + nq + j] - state[nq + j]
        share = SWINGING if swings(sizes, program, j) else 1.0
        program.tau[j] += share * gains[COMMON_GAINS + nv + j] * slower
        for r in range(3):
            program.tau[j] += program.com[r, j] * total[r]
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable < 0:
            continue
        for i in range(contact.point, contact.point + contact.points):
            for axis in range(3):
                f = program.force[i, axis]
                row = program.J[sizes.contact_rows + 3 * i + axis]
                for j in range(sizes.base, nv):
                    program.tau[j] -= row[j] * f


@kernel
def prepare(work, sizes, program, state, first, gains):
    """One walk over the tree: Jacobians, center of mass, wanted wrench. Returns the latter two."""
    expand_state(sizes, program, state)
    body_poses(work, program.q_free)
    body_velocities(work, program.v_free)
    composite_inertias(work)
    last = first + sizes.references
    active = state[last - 2 * sizes.contacts : last - sizes.contacts]
    activate(program, active, state[last - sizes.contacts : last])
    for k in range(sizes.contacts):
        if program.contact[k].variable >= 0:
            fill_contact(work, program, k, sizes.contact_rows, 0.0)
    project(sizes, program)
    mass, c, wrench = wanted_wrench(work, program, state, first, gains)
    fill_com_rows(sizes, program, mass)
    return c, wrench


@routine
def balance_torque(work, address, state, nq, nv, gains, out):
    """Torques and what led to them into `out`. Returns status bits."""
    program = open_program(address)
    sizes = program_sizes(address)
    first = nq + nv
    posture = first + 13
    violated, iterations, wrench = INPUT, 0, ZERO6
    if all_finite(state):
        c, wrench = prepare(work, sizes, program, state, first, gains)
        posture_error(work, sizes, program, state, posture)
        violated, iterations = distribute(work, sizes, program, c, wrench, gains)
    if violated == NOTHING:
        pass_on(sizes, program, state, posture, gains)
        add_tasks(work, sizes, program, state, gains)
        status = keep_torque(sizes, program)
    else:
        status = SOLVER
        fade_torque(sizes, program, state)
    for i in range(nv):
        out[i] = program.tau[i]
    place_out = put_forces(sizes, program, out, nv)
    for r in range(6):
        reached = 0.0
        for k in range(sizes.contacts):
            contact = program.contact[k]
            if contact.variable >= 0:
                for j in range(3 * contact.points):
                    f = program.force[contact.point + j // 3, j % 3]
                    reached += program.distribution[r, contact.variable + j] * f
        out[place_out + r] = wrench[r] if math.isfinite(wrench[r]) else 0.0
        out[place_out + 6 + r] = reached if math.isfinite(reached) else 0.0
    out[place_out + 12] = violated
    out[place_out + 13] = iterations
    return status


@entry(WORK, INTEGER, VECTOR, INTEGER, INTEGER, VECTOR, VECTOR)
def balance(handle, address, state, nq, nv, gains, out):
    """balance_torque for Python."""
    return balance_torque(open_work(handle), address, state, nq, nv, gains, out)
