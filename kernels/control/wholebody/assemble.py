"""One walk over the tree, then everything that the quadratic program is made of.

minimise   Σ weight ‖J a + rate‖² + force_weight ‖f‖²         over a and f
subject to M a + bias − Σ J_pᵀ f_p  in  [−effort, effort]     (zero for the base)
           J_c a + rate_c = 0,  f_p in its friction pyramid,  a within limits of joints
"""

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.control.wholebody.contacts import activate, fill_contact
from torqued.kernels.control.wholebody.tasks import (
    COM,
    MOMENTUM,
    POSTURE,
    TASK_GAINS,
    fill_com_task,
    fill_frame_task,
    fill_momentum_task,
    whole_momentum,
)
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.manifold import load_quaternion, logarithm, quaternion_product
from torqued.kernels.dynamics.mimic import (
    expand,
    expand_position,
    project_matrix,
    project_rows,
    project_vector,
)
from torqued.kernels.dynamics.rnea import body_forces, collect_forces, rest_acceleration
from torqued.kernels.primitives.layout import FLOATING, SPHERICAL

#: Gains after those of tasks and contacts: weight of accelerations where no task has a say,
#: damping of joints there, weight of forces, rate of limits.
COMMON_GAINS = 4


@kernel
def expand_q(program, q, q_free):
    """q of the free tree: mimic joints follow their leaders."""
    expand_position(program.q_index, program.q_multiplier, program.q_offset, q, q_free)


@kernel
def expand_state(sizes, program, state):
    """q and v of the free tree, from those in front of the state."""
    expand_q(program, state, program.q_free)
    expand(program.v_index, program.v_multiplier, state[sizes.nq :], program.v_free)


@routine
def walk(work, sizes, program, state):
    """M and bias of the free tree, and all that tasks and contacts need of it."""
    expand_state(sizes, program, state)
    body_poses(work, program.q_free)
    bias_accelerations(work, program.v_free, rest_acceleration(work))
    composite_inertias(work)
    fill_mass_matrix(work, program.M_free)
    body_forces(work)
    collect_forces(work, program.bias_free)


@routine
def project(sizes, program):
    """From the free tree to the robot's own coordinates, where joints mimic others."""
    if not sizes.follows:
        return
    index, multiplier = program.v_index, program.v_multiplier
    project_vector(index, multiplier, program.bias_free, program.bias)
    project_matrix(index, multiplier, program.M_free, program.M)
    project_rows(index, multiplier, program.J_free, program.J)


@kernel
def fill_com_rows(sizes, program, mass):
    """com (3, nv) from the momentum matrix of the free tree."""
    project_rows(program.v_index, program.v_multiplier, program.momentum[3:], program.com)
    inverse = 1.0 / mass if mass > 0.0 else 0.0
    for r in range(3):
        for k in range(sizes.nv):
            program.com[r, k] *= inverse


@kernel
def posture_error(work, sizes, program, state, reference):
    """error_free = how far the joints are from q at `reference` in the state.

    A floating base has no posture: it is where contacts and tasks put it.
    """
    expand_q(program, state[reference:], program.reference_free)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        k, c = body.q, body.column
        if body.kind == FLOATING:
            for r in range(6):
                program.error_free[c + r] = 0.0
        elif body.kind == SPHERICAL:
            x, y, z, w = load_quaternion(program.q_free, k)
            turn = quaternion_product((-x, -y, -z, w), load_quaternion(program.reference_free, k))
            e = logarithm(turn[0], turn[1], turn[2], turn[3])
            for r in range(3):
                program.error_free[c + r] = e[r]
        else:
            program.error_free[c] = program.reference_free[k] - program.q_free[k]


@kernel
def add_posture(work, sizes, program, k, state, weight, stiffness, damping):
    """A posture's share of H and g, which is diagonal."""
    nq, nv = sizes.nq, sizes.nv
    start = program.task[k].references
    posture_error(work, sizes, program, state, start)
    total = 0.0
    for i in range(sizes.nv_free):
        j = int(program.v_index[i])
        if program.chosen[k, j] == 0.0 or program.leader[i] == 0.0:
            continue  # a follower would count its leader twice
        error = program.error_free[i]
        total += error * error
        slower = state[start + nq + j] - state[nq + j]
        want = state[start + nq + nv + j] + damping * slower + stiffness * error
        program.H[j, j] += weight
        program.g[j] -= weight * want
    program.error[k, 0] = total**0.5
    program.error[k, 1] = 0.0


@kernel
def fill_tasks(work, sizes, program, state, gains):
    """Rows of all tasks in J_free, rate and weight."""
    needs_momentum = False
    for k in range(sizes.tasks):
        kind = program.task[k].kind
        needs_momentum = needs_momentum or kind in (COM, MOMENTUM)
    whole = (0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    if needs_momentum:
        whole = whole_momentum(work, program.v_free, program.momentum)
    for k in range(sizes.tasks):
        task, error = program.task[k], program.error[k]
        weight, stiffness, damping = gains[3 * k], gains[3 * k + 1], gains[3 * k + 2]
        J, rate, momentum = program.J_free, program.rate, program.momentum
        if task.kind == POSTURE:
            continue
        if task.kind == COM:
            fill_com_task(work, task, state, whole, momentum, stiffness, damping, error, J, rate)
        elif task.kind == MOMENTUM:
            fill_momentum_task(task, state, whole, momentum, damping, error, J, rate)
        else:
            fill_frame_task(work, task, state, stiffness, damping, error, J, rate)
        for r in range(task.rows):
            program.weight[task.row + r] = weight * task.share[r]


@routine
def add_rows(sizes, program):
    """H += Jᵀ W J and g += Jᵀ W rate over the rows of tasks; the lower triangle."""
    for r in range(sizes.task_rows):
        if program.weight[r] == 0.0:
            continue
        row = program.J[r]
        for i in range(sizes.nv):
            x = program.weight[r] * row[i]
            if x != 0.0:
                program.g[i] += x * program.rate[r]
                for j in range(i + 1):
                    program.H[i, j] += x * row[j]


@routine
def assemble(work, sizes, program, state, gains):
    """Everything but the solver's own form. Returns the number of force variables."""
    walk(work, sizes, program, state)
    references = sizes.nq + sizes.nv + sizes.references
    contacts = sizes.contacts
    first = references - 3 * contacts  # active, max_force, contact_force
    active, most = state[first : first + contacts], state[first + contacts : first + 2 * contacts]
    forces = activate(program, active, most)
    fill_tasks(work, sizes, program, state, gains)
    start = TASK_GAINS * sizes.tasks
    first_point = sizes.task_rows + sizes.contact_rows
    for k in range(contacts):
        if program.contact[k].variable >= 0:
            fill_contact(work, program, k, first_point, gains[start + k])
    project(sizes, program)
    start += contacts
    program.H[:, :] = 0.0
    for i in range(sizes.nv):
        program.H[i, i] = gains[start]
        program.g[i] = (
            0.0 if i < sizes.base else gains[start] * gains[start + 1] * state[sizes.nq + i]
        )
    for k in range(sizes.tasks):
        if program.task[k].kind == POSTURE:
            weight, stiffness = gains[3 * k], gains[3 * k + 1]
            add_posture(work, sizes, program, k, state, weight, stiffness, gains[3 * k + 2])
    add_rows(sizes, program)
    return forces
