"""The whole-body quadratic program of a tick: state in, torques out."""

import math

from torqued.common.status import CLAMPED, SOLVER
from torqued.kernels.compilation.jit import entry, kernel, routine
from torqued.kernels.control.wholebody.assemble import assemble
from torqued.kernels.control.wholebody.daqp import UNBOUNDED
from torqued.kernels.control.wholebody.layout import INPUT, open_program, program_sizes
from torqued.kernels.control.wholebody.solve import solve
from torqued.kernels.primitives.layout import INTEGER, VECTOR, WORK
from torqued.kernels.primitives.spatial import rotate
from torqued.kernels.primitives.tuples import load9
from torqued.kernels.primitives.workspace import open_work

#: By which a feasible torque may exceed its limit, relative to that: the solver's rounding.
ROUNDING = 1e-6


@kernel
def keep_torque(sizes, program):
    """Cut this tick's torque to its limits and remember it. Returns status bits."""
    status = 0
    for i in range(sizes.nv):
        most = program.effort[i] if i >= sizes.base else 0.0
        if abs(program.tau[i]) > most * (1.0 + ROUNDING) and i >= sizes.base:
            status = CLAMPED
        program.tau[i] = min(max(program.tau[i], -most), most)
        program.held[i] = program.tau[i]
    program.failures[0] = 0.0
    return status


@kernel
def fade_torque(sizes, program, state):
    """There is none: the last feasible one fades into damping."""
    program.failures[0] += 1.0
    period, fade, damping = program.options[0], program.options[1], program.options[2]
    share = max(0.0, 1.0 - program.failures[0] * period / fade) if fade > 0.0 else 0.0
    for i in range(sizes.nv):
        brake = -damping * state[sizes.nq + i] if i >= sizes.base else 0.0
        if not math.isfinite(brake):
            brake = 0.0
        most = program.effort[i] if i >= sizes.base else 0.0
        program.tau[i] = min(max(share * program.held[i] + (1.0 - share) * brake, -most), most)
        program.a[i] = 0.0
    program.force[:, :] = 0.0
    program.axes[:, :] = 0.0  # they may hold what made no sense


@kernel
def put_forces(sizes, program, out, at):
    """Forces on the robot in world axes; returns where the next output begins."""
    for k in range(sizes.contacts):
        contact = program.contact[k]
        E = load9(program.axes[k])
        for i in range(contact.point, contact.point + contact.points):
            f = rotate(E, (program.force[i, 0], program.force[i, 1], program.force[i, 2]))
            for r in range(3):
                out[at + 3 * i + r] = f[r]
    return at + 3 * sizes.points


@kernel
def all_finite(state):
    """Whether there is neither NaN nor infinity in it."""
    finite = True
    for k in range(len(state)):
        finite = finite and math.isfinite(state[k])
    return finite


@routine
def whole_body_torque(work, address, state, nq, nv, gains, out):
    """Torques and what led to them into `out`. Returns status bits."""
    program = open_program(address)
    sizes = program_sizes(address)
    solved, violated, iterations = False, INPUT, 0
    if all_finite(state):
        forces = assemble(work, sizes, program, state, gains)
        solved, violated, iterations = solve(sizes, program, state, gains, forces)
    if solved:
        status = keep_torque(sizes, program)
    else:
        status = SOLVER
        fade_torque(sizes, program, state)
    for i in range(nv):
        out[i] = program.tau[i]
        out[nv + i] = program.a[i]
    at = put_forces(sizes, program, out, 2 * nv)
    for k in range(sizes.tasks):
        for r in range(2):
            error = program.error[k, r]
            out[at + r] = error if math.isfinite(error) else UNBOUNDED
        at += 2
    out[at] = violated
    out[at + 1] = iterations
    return status


@entry(WORK, INTEGER, VECTOR, INTEGER, INTEGER, VECTOR, VECTOR)
def whole_body(handle, address, state, nq, nv, gains, out):
    """whole_body_torque for Python."""
    return whole_body_torque(open_work(handle), address, state, nq, nv, gains, out)


@entry(WORK, INTEGER, VECTOR, VECTOR)
def assemble_whole_body(handle, address, state, gains):
    """The first half, for measurements. Returns the number of force variables."""
    program = open_program(address)
    sizes = program_sizes(address)
    return assemble(open_work(handle), sizes, program, state, gains)


@entry(INTEGER, VECTOR, VECTOR, INTEGER)
def solve_whole_body(address, state, gains, forces):
    """The second half, after the first. Returns the class that could not be met."""
    program = open_program(address)
    _, violated, _ = solve(program_sizes(address), program, state, gains, forces)
    return violated
