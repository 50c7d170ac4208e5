"""Solve, and believe nothing that has not been checked.

A solution counts when it meets every constraint in natural units and its value is within a small
gap of a bound that the multipliers prove (weak duality: for any λ, −½ ‖Aᵀλ‖² − Σ λ⁺ upper +
Σ λ⁻ lower is at most ½ ‖u‖²). The solver's exit flag is only believed when it says no, and then
its multipliers name the constraints that contradict each other.
"""

from __future__ import annotations

import math

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.control.wholebody.daqp import (
    EQUALITY,
    INEQUALITY,
    INFEASIBLE,
    iterations_of,
    least_distance,
)
from torqued.kernels.control.wholebody.layout import DYNAMICS, INPUT, NOTHING
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

#: Multipliers of an infeasibility proof below this share of the largest are rounding.
SHARE = 1e-6


@routine
def fill_rows(sizes, plan, state, gains, forces):
    """All rows of the solver. Returns their number, 0 where the numbers make no sense."""
    start = 3 * sizes.tasks + sizes.contacts
    force_weight, rate = gains[start + 2], gains[start + 3]
    if not force_weight > 0.0 or not invert_factor(plan.H, plan.L):
        return 0
    sense = transform(plan.L, plan.g, plan.w)
    for i in range(sizes.nv):
        sense += plan.bias[i]
    if not math.isfinite(sense):
        return 0
    width = sizes.nv + forces
    per_force = 1.0 / math.sqrt(force_weight)
    r = dynamics_rows(sizes, plan, width, per_force)
    r = contact_rows(sizes, plan, width, r)
    r = friction_rows(sizes, plan, width, per_force, r)
    return limit_rows(sizes, plan, state, width, rate, r)


@kernel
def recover(sizes, plan, per_force):
    """a, f and τ from the solver's u."""
    n = sizes.nv
    for i in range(n):
        plan.a[i] = 0.0
    for i in range(n):
        x = plan.u[i] - plan.w[i]
        for k in range(i + 1):
            plan.a[k] += plan.L[i, k] * x
    plan.force[:, :] = 0.0
    for i in range(n):
        x = plan.bias[i]
        for k in range(n):
            x += plan.M[i, k] * plan.a[k]
        plan.tau[i] = x
    first_point = sizes.task_rows + sizes.contact_rows
    for k in range(sizes.contacts):
        contact = plan.contact[k]
        if contact.variable < 0:
            continue
        for i in range(contact.points):
            for j in range(3):
                f = per_force * plan.u[n + contact.variable + 3 * i + j]
                plan.force[contact.point + i, j] = f
                row = plan.J[first_point + 3 * (contact.point + i) + j]
                for c in range(n):
                    plan.tau[c] -= row[c] * f


@kernel
def worst_violation(plan, rows, width):
    """Class of the constraint that is violated, NOTHING if none is."""
    A, u = plan.A, plan.u
    for r in range(rows):
        start = r * width
        x = 0.0
        for k in range(width):
            x += A[start + k] * u[k]
        over = max(x - plan.solver_upper[r], plan.solver_lower[r] - x)
        # Rows were scaled: one unit (newton, rad/s²) has become `scale`.
        if not over <= FEASIBLE * plan.scale[r]:
            size = 0.0
            for k in range(width):
                size += abs(A[start + k] * u[k])
            if not over <= FEASIBLE * (plan.scale[r] + size):
                return int(plan.class_of[r])
    return NOTHING


@kernel
def gap(plan, rows, width):
    """Primal value less the value that the multipliers prove, and the primal value."""
    for k in range(width):
        plan.y[k] = 0.0
    proven = 0.0
    for r in range(rows):
        x = plan.dual[r]
        if x == 0.0:
            continue
        row = plan.A[r * width : (r + 1) * width]
        for k in range(width):
            plan.y[k] += x * row[k]
        proven -= x * (plan.solver_upper[r] if x > 0.0 else plan.solver_lower[r])
    value = 0.0
    for k in range(width):
        value += 0.5 * plan.u[k] * plan.u[k]
        proven -= 0.5 * plan.y[k] * plan.y[k]
    return value - proven, value


@kernel
def contradiction(plan, rows):
    """The least important class with a part in the proof that there is no solution."""
    largest = 0.0
    for r in range(rows):
        largest = max(largest, abs(plan.dual[r]))
    blamed = NOTHING
    for r in range(rows):
        if abs(plan.dual[r]) > SHARE * largest:
            blamed = max(blamed, int(plan.class_of[r]))
    return blamed if blamed != NOTHING else DYNAMICS


@routine
def attempt(plan, rows, width):
    """One call of the solver. Returns the class that could not be met, NOTHING for success."""
    flag = least_distance(plan.solver[0], width, rows)
    if flag == INFEASIBLE:
        return contradiction(plan, rows)
    violated = worst_violation(plan, rows, width)
    if flag <= 0 or violated != NOTHING:
        return max(violated, DYNAMICS)
    difference, value = gap(plan, rows, width)
    if not abs(difference) <= GAP * (1.0 + value):
        return DYNAMICS
    return NOTHING


@kernel
def solve_rows(plan, rows, width):
    """u and dual of the filled rows. Returns the class that could not be met and the iterations."""
    violated = attempt(plan, rows, width)
    iterations = iterations_of(plan.solver[0])
    if violated != NOTHING:
        # A start from the last tick's constraints may lead astray where one from none does not.
        for r in range(rows):
            if plan.sense[r] != EQUALITY:
                plan.sense[r] = INEQUALITY
        violated = attempt(plan, rows, width)
        iterations += iterations_of(plan.solver[0])
    plan.hint[:] = 0.0
    if violated == NOTHING:
        for r in range(rows):
            plan.hint[int(plan.identity[r])] = plan.dual[r]
    return violated, iterations


@kernel
def solve(sizes, plan, state, gains, forces):
    """a, force, tau of this tick. Returns the class that could not be met and the iterations."""
    rows = fill_rows(sizes, plan, state, gains, forces)
    if rows == 0:
        return INPUT, 0
    violated, iterations = solve_rows(plan, rows, sizes.nv + forces)
    if violated == NOTHING:
        recover(sizes, plan, 1.0 / math.sqrt(gains[3 * sizes.tasks + sizes.contacts + 2]))
    return violated, iterations
