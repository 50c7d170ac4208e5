"""The frame Hessian ∂J/∂q (6, nv, nv): H[:, j, k] is the derivative of column j along column k.

With the columns J_j = (ω_j, u_j) as the representation has them, every block is made of the three
cross products of [M18] eq. 5, 15 and 25. k is either above j on the way to the frame (or moves the
same body), or below:

              above j                        below j
    body      0                              [J_j, J_k]                 eq. 5
    spatial   [J_k, J_j]                     0                          eq. 15
    hybrid    (ω_k × ω_j, ω_k × u_j)         (0, ω_j × u_k)             eq. 25
    mixed     (0, ω_k × u_j)                 (ω_j × ω_k, ω_j × u_k)

For joints with quasi-velocities, k is a direction of v: H @ v is J̇ in any case. Eq. 25 of the paper
has the lower case only, as it takes the axes of j before k; the upper one follows from eq. 24.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.frames import BODY, HYBRID, MIXED, SPATIAL, frame_placement, represent
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.primitives.layout import FRAMES, INTEGER, MATRIX, TENSOR, VECTOR, WORK
from torqued.kernels.primitives.spatial import rotate_back
from torqued.kernels.primitives.tuples import load6
from torqued.kernels.primitives.workspace import open_work


@kernel
def factors_above(representation):
    """What ω_j × ω_k, ω_j × u_k and u_j × ω_k count in a column k above j."""
    if representation == SPATIAL:
        return -1.0, -1.0, -1.0
    if representation == HYBRID:
        return -1.0, 0.0, -1.0
    if representation == MIXED:
        return 0.0, 0.0, -1.0
    return 0.0, 0.0, 0.0


@kernel
def factors_below(representation):
    """The same for a column k below j."""
    if representation == BODY:
        return 1.0, 1.0, 1.0
    if representation == HYBRID:
        return 0.0, 1.0, 0.0
    if representation == MIXED:
        return 1.0, 1.0, 0.0
    return 0.0, 0.0, 0.0


@kernel
def fill_angular(J, H, j, first, last, factor):
    """The upper half of row j for columns first … last, three numbers a pass over them."""
    x, y, z = factor * J[0, j], factor * J[1, j], factor * J[2, j]
    for k in range(first, last):
        H[0, j, k] = y * J[2, k] - z * J[1, k]
    for k in range(first, last):
        H[1, j, k] = z * J[0, k] - x * J[2, k]
    for k in range(first, last):
        H[2, j, k] = x * J[1, k] - y * J[0, k]


@kernel
def fill_linear(J, H, j, first, last, of_turning, of_sliding):
    """The lower half: of_turning ω_j × u_k + of_sliding u_j × ω_k."""
    x, y, z = of_turning * J[0, j], of_turning * J[1, j], of_turning * J[2, j]
    a, b, c = of_sliding * J[3, j], of_sliding * J[4, j], of_sliding * J[5, j]
    for k in range(first, last):
        H[3, j, k] = y * J[5, k] - z * J[4, k] + b * J[2, k] - c * J[1, k]
    for k in range(first, last):
        H[4, j, k] = z * J[3, k] - x * J[5, k] + c * J[0, k] - a * J[2, k]
    for k in range(first, last):
        H[5, j, k] = x * J[4, k] - y * J[3, k] + a * J[1, k] - b * J[0, k]


@kernel
def fill_columns(work, frame, R, p, representation, J):
    """J, with the angular half in world axes where the representation is mixed."""
    hub = HYBRID if representation == MIXED else representation
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            x = represent(work, hub, R, p, load6(work.columns[c].S))
            for r in range(6):
                J[r, c] = x[r]
        b = body.above


@kernel
def turn_angular(work, frame, R, J):
    """The angular half of J into the frame's axes."""
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            x = rotate_back(R, (J[0, c], J[1, c], J[2, c]))
            for r in range(3):
                J[r, c] = x[r]
        b = body.above


@kernel
def fill_halves(work, frame, representation, J, H, lower):
    """One half of H, for every pair of columns on the way to the frame."""
    angular_above, turning_above, sliding_above = factors_above(representation)
    angular_below, turning_below, sliding_below = factors_below(representation)
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for j in range(body.run, body.column + body.columns):
            # Columns from the root on have growing numbers: one place parts above from below.
            moved = work.bodies[work.body_of[j]]
            below = moved.column + moved.columns
            other = frame.body
            while other >= 0:
                run = work.bodies[other]
                first, last = run.run, run.column + run.columns
                middle = min(max(below, first), last)
                if lower:
                    fill_linear(J, H, j, first, middle, turning_above, sliding_above)
                    fill_linear(J, H, j, middle, last, turning_below, sliding_below)
                else:
                    fill_angular(J, H, j, first, middle, angular_above)
                    fill_angular(J, H, j, middle, last, angular_below)
                other = run.above
        b = body.above


@entry(WORK, VECTOR, FRAMES, INTEGER, MATRIX, TENSOR)
def frame_hessian(handle, q, frames, representation, J, H):
    """J (6, nv) and H (6, nv, nv) of one frame; zero for columns that do not move it."""
    work = open_work(handle)
    body_poses(work, q)
    frame = frames[0]
    whole = False
    if frame.body >= 0:
        body = work.bodies[frame.body]
        whole = body.run == 0 and body.column + body.columns == len(work.columns)
    if not whole:
        J[:, :] = 0.0
        H[:, :, :] = 0.0
    R, p = frame_placement(work, frame)
    fill_columns(work, frame, R, p, representation, J)
    fill_halves(work, frame, representation, J, H, True)
    if representation == MIXED:
        turn_angular(work, frame, R, J)
    fill_halves(work, frame, representation, J, H, False)
