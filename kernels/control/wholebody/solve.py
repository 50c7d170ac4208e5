"""Solve, and believe nothing that has not been checked.

A solution counts when it meets every constraint in natural units and its value is within a small
gap of a bound that the multipliers prove (weak duality: for any λ, −½ ‖Aᵀλ‖² − Σ λ⁺ upper +
Σ λ⁻ lower is at most ½ ‖u‖²). The solver's exit flag is only believed when it says no; which
constraints contradict each other is then asked by leaving some out.
"""

import math

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.control.wholebody.daqp import (
    EQUALITY,
    IGNORED,
    INEQUALITY,
    INFEASIBLE,
    iteration_limit,
    iterations_of,
    least_distance,
    limit_iterations,
)
from torqued.kernels.control.wholebody.layout import DYNAMICS, INPUT, JOINT, NOTHING
from torqued.kernels.control.wholebody.rows import (
    contact_rows,
    dynamics_rows,
    friction_rows,
    invert_factor,
    limit_rows,
    transform,
)

#: Largest violation of a constraint, relative to its terms and to one unit.
FEASIBLE = 1e-6

#: Largest gap between value and bound, relative to the value and one.
GAP = 1e-6


@routine
def fill_rows(sizes, program, state, gains, forces):
    """All rows of the solver. Returns their number, 0 where the numbers make no sense."""
    start = 3 * sizes.tasks + sizes.contacts
    force_weight, rate = gains[start + 2], gains[start + 3]
    if not force_weight > 0.0 or not invert_factor(program.H, program.L):
        return 0
    sense = transform(program.L, program.g, program.w)
    for i in range(sizes.nv):
        sense += program.bias[i]
    if not math.isfinite(sense):
        return 0
    width = sizes.nv + forces
    per_force = 1.0 / math.sqrt(force_weight)
    fill_preferred(sizes, program, state, math.sqrt(force_weight))
    r = dynamics_rows(sizes, program, width, per_force)
    r = contact_rows(sizes, program, width, r)
    r = friction_rows(sizes, program, width, per_force, r)
    return limit_rows(sizes, program, state, width, rate, r)


@kernel
def fill_preferred(sizes, program, state, scale):
    """Forces that active contacts should have as far as tasks leave it open: their normal ones,
    evenly over their points, no more than the contact may have."""
    start = sizes.nq + sizes.nv + sizes.references - sizes.contacts
    program.preferred[:] = 0.0
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable >= 0:
            f = min(max(state[start + k], 0.0), max(0.0, contact.most)) / contact.points
            for i in range(contact.points):
                program.preferred[contact.variable + 3 * i + 2] = scale * f


@kernel
def recover(sizes, program, per_force):
    """a, f and τ from the solver's u."""
    n = sizes.nv
    for i in range(n):
        program.a[i] = 0.0
    for i in range(n):
        x = program.u[i] - program.w[i]
        for k in range(i + 1):
            program.a[k] += program.L[i, k] * x
    program.force[:, :] = 0.0
    for i in range(n):
        x = program.bias[i]
        for k in range(n):
            x += program.M[i, k] * program.a[k]
        program.tau[i] = x
    first_point = sizes.task_rows + sizes.contact_rows
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable < 0:
            continue
        for i in range(contact.points):
            for j in range(3):
                at = contact.variable + 3 * i + j
                f = per_force * (program.u[n + at] + program.preferred[at])
                program.force[contact.point + i, j] = f
                row = program.J[first_point + 3 * (contact.point + i) + j]
                for c in range(n):
                    program.tau[c] -= row[c] * f


@kernel
def worst_violation(program, rows, width):
    """Class of the constraint that is violated, NOTHING if none is."""
    A, u = program.A, program.u
    for r in range(rows):
        if program.sense[r] == IGNORED:
            continue
        start = r * width
        x = 0.0
        for k in range(width):
            x += A[start + k] * u[k]
        over = max(x - program.solver_upper[r], program.solver_lower[r] - x)
        # Rows were scaled: one unit (newton, rad/s²) has become `scale`.
        if not over <= FEASIBLE * program.scale[r]:
            size = 0.0
            for k in range(width):
                size += abs(A[start + k] * u[k])
            if not over <= FEASIBLE * (program.scale[r] + size):
                return int(program.class_of[r])
    return NOTHING


@kernel
def gap(program, rows, width):
    """Primal value less the value that the multipliers prove, and the primal value."""
    for k in range(width):
        program.y[k] = 0.0
    proven = 0.0
    for r in range(rows):
        x = program.dual[r]
        if x == 0.0:
            continue
        row = program.A[r * width : (r + 1) * width]
        for k in range(width):
            program.y[k] += x * row[k]
        proven -= x * (program.solver_upper[r] if x > 0.0 else program.solver_lower[r])
    value = 0.0
    for k in range(width):
        value += 0.5 * program.u[k] * program.u[k]
        proven -= 0.5 * program.y[k] * program.y[k]
    return value - proven, value


@kernel
def least_important(program, rows, before):
    """The last class that has rows, before another one."""
    found = NOTHING
    for r in range(rows):
        if program.class_of[r] < before:
            found = max(found, int(program.class_of[r]))
    return found


@kernel
def contradiction(program, rows, width, iterations):
    """The class whose rows contradict those of more important ones, of rows without a solution; the
    iterations that are left; and the solver's last flag, for the rows without that class.

    Found by leaving out one class after the other, least important first, until a solution exists:
    the order in which a solver takes rows does not matter. The search ends after so many
    iterations; the classes before the returned one may then contradict each other already.
    """
    solver = program.solver[0]
    most, blamed = iteration_limit(solver), least_important(program, rows, JOINT + 1)
    more, flag = least_important(program, rows, blamed), INFEASIBLE
    while more != NOTHING and iterations > 0:
        for r in range(rows):
            if program.class_of[r] > more:
                program.sense[r] = IGNORED
        limit_iterations(solver, iterations)
        flag = least_distance(solver, width, rows)
        iterations -= iterations_of(solver)
        if flag != INFEASIBLE:
            break
        blamed, more = more, least_important(program, rows, more)
    limit_iterations(solver, most)
    return blamed, iterations, flag


@kernel
def judged(program, rows, width, flag):
    """Class that could not be met after a call of the solver, NOTHING for success, INFEASIBLE where
    the solver proves that there is no solution."""
    if flag == INFEASIBLE:
        return INFEASIBLE
    violated = worst_violation(program, rows, width)
    if flag <= 0 or violated != NOTHING:
        return max(violated, DYNAMICS)
    difference, value = gap(program, rows, width)
    if not abs(difference) <= GAP * (1.0 + value):
        return DYNAMICS
    return NOTHING


@routine
def attempt(program, rows, width):
    """One call of the solver, judged."""
    return judged(program, rows, width, least_distance(program.solver[0], width, rows))


@kernel
def solve_rows(program, rows, width, yields):
    """u and dual of the filled rows. Returns whether there are some, the class that could not be
    met, and the iterations.

    With `yields` bounds of joints that contradict all else are left out, and still named.
    """
    violated = attempt(program, rows, width)
    iterations = iterations_of(program.solver[0])
    solved = violated == NOTHING
    if not solved:
        # A start from the last tick's constraints may lead astray where one from none does not.
        for r in range(rows):
            if program.sense[r] != EQUALITY:
                program.sense[r] = INEQUALITY
        violated = attempt(program, rows, width)
        iterations += iterations_of(program.solver[0])
        solved = violated == NOTHING
        if violated == INFEASIBLE:  # within the time of the two attempts
            most = 2 * iteration_limit(program.solver[0])
            violated, left, flag = contradiction(program, rows, width, most - iterations)
            iterations = most - left
            if yields and violated == JOINT:
                solved = judged(program, rows, width, flag) == NOTHING
    program.hint[:] = 0.0
    if solved:
        for r in range(rows):
            program.hint[int(program.identity[r])] = program.dual[r]
    return solved, violated, iterations


@kernel
def solve(sizes, program, state, gains, forces):
    """a, force, tau of this tick. Returns whether there are some, the class that could not be met
    and the iterations.

    A robot that stands has nothing else to stand on: its joints' bounds yield, and walls hold them.
    """
    rows = fill_rows(sizes, program, state, gains, forces)
    if rows == 0:
        return False, INPUT, 0
    found = solve_rows(program, rows, sizes.nv + forces, sizes.base > 0)
    if found[0]:
        recover(sizes, program, 1.0 / math.sqrt(gains[3 * sizes.tasks + sizes.contacts + 2]))
    return found
