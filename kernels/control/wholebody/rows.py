"""The quadratic program as a least-distance problem, row by row.

With H = L⁻¹ L⁻ᵀ (L is the inverse of a Cholesky factor) and force weight ε the variables

    u = [L⁻ᵀ a + L g;  √ε (f − f_ref)]

make the objective ½ ‖u‖², and a row A_a a + A_f f becomes
[A_a Lᵀ, A_f / √ε] u − A_a Lᵀ L g + A_f f_ref.
H does not couple accelerations and forces, which a solver of dense matrices cannot know.
Rows get unit length: the solver takes shorter ones than 1e-5 for zero, whatever their units.
"""

import math

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.control.wholebody.contacts import EDGES, independent
from torqued.kernels.control.wholebody.daqp import (
    ACTIVE_LOWER,
    ACTIVE_UPPER,
    EQUALITY,
    INEQUALITY,
    UNBOUNDED,
)
from torqued.kernels.control.wholebody.layout import CONTACT, DYNAMICS, FRICTION, JOINT, TORQUE
from torqued.kernels.control.wholebody.limits import acceleration_bounds


@routine
def invert_factor(H, L):
    """L = inverse of the Cholesky factor of H, from H's lower triangle, which is destroyed.

    Returns whether H is positive definite.
    """
    n = H.shape[0]
    for j in range(n):
        pivot = H[j, j]
        for k in range(j):
            pivot -= H[j, k] * H[j, k]
        if not pivot > 1e-14 * H[j, j]:
            return False
        pivot = math.sqrt(pivot)
        H[j, j] = pivot
        inverse = 1.0 / pivot
        for i in range(j + 1, n):
            x = H[i, j]
            for k in range(j):
                x -= H[i, k] * H[j, k]
            H[i, j] = x * inverse
    for i in range(n):
        for j in range(n):
            L[i, j] = 0.0
        # Row i of the inverse: (eᵢ − Σ_{k<i} H_ik · row k) / H_ii.
        for k in range(i):
            x = H[i, k]
            for j in range(k + 1):
                L[i, j] -= x * L[k, j]
        inverse = 1.0 / H[i, i]
        for j in range(i):
            L[i, j] *= inverse
        L[i, i] = inverse
    return True


@routine
def transform(L, row, out):
    """out[:n] = L row; returns the sum of squares."""
    n = L.shape[0]
    total = 0.0
    for i in range(n):
        x = 0.0
        for j in range(i + 1):
            x += L[i, j] * row[j]
        out[i] = x
        total += x * x
    return total


@kernel
def finish_row(program, r, out, total, width, shift, lower, upper, identity, class_of):
    """Scale a row to unit length and give it its bounds, which `shift` is to be added to."""
    scale = 1.0 / math.sqrt(total) if total > 0.0 else 0.0
    for k in range(width):
        out[k] *= scale
    program.lower[r], program.upper[r], program.scale[r] = lower, upper, scale
    program.identity[r], program.class_of[r] = identity, class_of
    program.solver_lower[r] = scale * (lower + shift) if lower > -UNBOUNDED else -UNBOUNDED
    program.solver_upper[r] = scale * (upper + shift) if upper < UNBOUNDED else UNBOUNDED
    if lower == upper:
        program.sense[r] = EQUALITY
        return
    hint = program.hint[identity]
    program.sense[r] = INEQUALITY
    if hint > 0.0 and upper < UNBOUNDED:
        program.sense[r] = ACTIVE_UPPER
    elif hint < 0.0 and lower > -UNBOUNDED:
        program.sense[r] = ACTIVE_LOWER


@kernel
def product(w, out, n):
    x = 0.0
    for k in range(n):
        x += w[k] * out[k]
    return x


@kernel
def shift_of_forces(program, out, n, width):
    """What a row's bounds move by because forces are counted from the preferred ones."""
    x = 0.0
    for k in range(n, width):
        x -= program.preferred[k - n] * out[k]
    return x


@kernel
def dynamics_rows(sizes, program, width, per_force):
    """Rows 0 … nv: the torques of all columns, zero for the base."""
    n = sizes.nv
    first_point = sizes.task_rows + sizes.contact_rows
    for i in range(n):
        out = program.A[i * width : (i + 1) * width]
        total = transform(program.L, program.M[i], out)
        for k in range(sizes.contacts):
            contact = program.contact[k]
            if contact.variable < 0:
                continue
            row = first_point + 3 * contact.point
            for j in range(3 * contact.points):
                x = -per_force * program.J[row + j, i]
                out[n + contact.variable + j] = x
                total += x * x
        most = program.effort[i] if i >= sizes.base else 0.0
        most = min(most, UNBOUNDED)
        shift = product(program.w, out, n) + shift_of_forces(program, out, n, width)
        lower = -most - program.bias[i] if most < UNBOUNDED else -UNBOUNDED
        upper = most - program.bias[i] if most < UNBOUNDED else UNBOUNDED
        kind = TORQUE if i >= sizes.base else DYNAMICS
        finish_row(program, i, out, total, width, shift, lower, upper, i, kind)
    return n


@kernel
def contact_rows(sizes, program, width, r):
    """Accelerations of contacts, without those that follow from others."""
    n, count = sizes.nv, 0
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable < 0:
            continue
        for row in range(contact.row, contact.row + contact.rows):
            if not independent(program.G, count, program.J[row]):
                continue
            count += 1
            out = program.A[r * width : (r + 1) * width]
            total = transform(program.L, program.J[row], out)
            for j in range(n, width):
                out[j] = 0.0
            x = -program.rate[row]
            shift = product(program.w, out, n)
            identity = n + row - sizes.task_rows
            finish_row(program, r, out, total, width, shift, x, x, identity, CONTACT)
            r += 1
    return r


@kernel
def friction_rows(sizes, program, width, per_force, r):
    """Four edges per point, and the sum of normal forces of a contact where it has a limit."""
    n = sizes.nv
    edges = n + sizes.contact_rows
    for k in range(sizes.contacts):
        contact = program.contact[k]
        if contact.variable < 0:
            continue
        mu = contact.friction
        for i in range(contact.points):
            for edge in range(EDGES):
                out = program.A[r * width : (r + 1) * width]
                out[:] = 0.0
                at = n + contact.variable + 3 * i
                out[at + edge // 2] = per_force if edge % 2 == 0 else -per_force
                out[at + 2] = -mu * per_force
                total = per_force * per_force * (1.0 + mu * mu)
                identity = edges + EDGES * (contact.point + i) + edge
                s = shift_of_forces(program, out, n, width)
                finish_row(program, r, out, total, width, s, -UNBOUNDED, 0.0, identity, FRICTION)
                r += 1
        if contact.most < UNBOUNDED:
            out = program.A[r * width : (r + 1) * width]
            out[:] = 0.0
            for i in range(contact.points):
                out[n + contact.variable + 3 * i + 2] = per_force
            total = per_force * per_force * contact.points
            most = max(0.0, contact.most)
            identity = edges + EDGES * sizes.points + k
            s = shift_of_forces(program, out, n, width)
            finish_row(program, r, out, total, width, s, -UNBOUNDED, most, identity, FRICTION)
            r += 1
    return r


@kernel
def limit_rows(sizes, program, state, width, rate, r):
    """Accelerations of joints that have limits."""
    n = sizes.nv
    first = n + sizes.contact_rows + EDGES * sizes.points + sizes.contacts
    for i in range(sizes.base, n):
        lower, upper = acceleration_bounds(program, state, sizes.nq, i, rate)
        if lower <= -UNBOUNDED and upper >= UNBOUNDED:
            continue
        out = program.A[r * width : (r + 1) * width]
        total = 0.0
        for k in range(n):
            x = program.L[k, i]
            out[k] = x
            total += x * x
        for k in range(n, width):
            out[k] = 0.0
        shift = product(program.w, out, n)
        finish_row(program, r, out, total, width, shift, lower, upper, first + i, JOINT)
        r += 1
    return r
