"""Small vectors, rotations, inertias and Coriolis factors as tuples of numbers.

Tuples live in registers: nothing here touches memory (`memory.py` does). Rotations are nine
numbers row by row, symmetric matrices six (xx, xy, xz, yy, yz, zz), 6-D vectors
[angular; linear], all in one world-aligned frame (docs/NOTATION.md).
"""

from torqued.kernels.compilation.jit import exact_kernel, kernel

ZERO3 = (0.0, 0.0, 0.0)
ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@kernel
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def scale(a, s):
    return (a[0] * s, a[1] * s, a[2] * s)


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@kernel
def rotate(R, x):
    return (
        R[0] * x[0] + R[1] * x[1] + R[2] * x[2],
        R[3] * x[0] + R[4] * x[1] + R[5] * x[2],
        R[6] * x[0] + R[7] * x[1] + R[8] * x[2],
    )


@kernel
def rotate_back(R, x):
    """Rᵀ x."""
    return (
        R[0] * x[0] + R[3] * x[1] + R[6] * x[2],
        R[1] * x[0] + R[4] * x[1] + R[7] * x[2],
        R[2] * x[0] + R[5] * x[1] + R[8] * x[2],
    )


@kernel
def compose(A, B):
    """A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@kernel
def transpose(R):
    return (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])


@kernel
def turn_about_z(R, c, s):
    """R Rz(θ) with c = cos θ, s = sin θ."""
    return (
        R[0] * c + R[1] * s,
        R[1] * c - R[0] * s,
        R[2],
        R[3] * c + R[4] * s,
        R[4] * c - R[3] * s,
        R[5],
        R[6] * c + R[7] * s,
        R[7] * c - R[6] * s,
        R[8],
    )


@kernel
def column(R, k):
    return (R[k], R[3 + k], R[6 + k])


@kernel
def quaternion_rotation(x, y, z, w):
    """The rotation of a quaternion x y z w, scaled to unit length."""
    n = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - n * (y * y + z * z),
        n * (x * y - z * w),
        n * (x * z + y * w),
        n * (x * y + z * w),
        1.0 - n * (x * x + z * z),
        n * (y * z - x * w),
        n * (x * z - y * w),
        n * (y * z + x * w),
        1.0 - n * (x * x + y * y),
    )


@kernel
def symmetric_times(Q, x):
    return (
        Q[0] * x[0] + Q[1] * x[1] + Q[2] * x[2],
        Q[1] * x[0] + Q[3] * x[1] + Q[4] * x[2],
        Q[2] * x[0] + Q[4] * x[1] + Q[5] * x[2],
    )


@kernel
def rotate_symmetric(R, Q):
    """R Q Rᵀ for symmetric Q."""
    x = symmetric_times(Q, (R[0], R[1], R[2]))
    y = symmetric_times(Q, (R[3], R[4], R[5]))
    z = symmetric_times(Q, (R[6], R[7], R[8]))
    return (
        dot(x, (R[0], R[1], R[2])),
        dot(x, (R[3], R[4], R[5])),
        dot(x, (R[6], R[7], R[8])),
        dot(y, (R[3], R[4], R[5])),
        dot(y, (R[6], R[7], R[8])),
        dot(z, (R[6], R[7], R[8])),
    )


@kernel
def angular(x):
    return (x[0], x[1], x[2])


@kernel
def linear(x):
    return (x[3], x[4], x[5])


@kernel
def join(a, b):
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@kernel
def add6(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@kernel
def subtract6(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])


@kernel
def scale6(a, s):
    return (a[0] * s, a[1] * s, a[2] * s, a[3] * s, a[4] * s, a[5] * s)


@kernel
def add_scaled6(a, b, s):
    """a + s b."""
    return (
        a[0] + b[0] * s,
        a[1] + b[1] * s,
        a[2] + b[2] * s,
        a[3] + b[3] * s,
        a[4] + b[4] * s,
        a[5] + b[5] * s,
    )


@exact_kernel
def dot6(a, b):
    # Two short sums that run beside each other; reordering would make them one long one.
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@kernel
def cross_motion(v, s):
    """v × s, the rate of a motion vector s that moves with twist v ([EW21] appendix A)."""
    w = angular(v)
    return join(cross(w, angular(s)), add(cross(w, linear(s)), cross(linear(v), angular(s))))


@kernel
def cross_force(v, f):
    """v ×* f, the rate of a force vector f that moves with twist v."""
    w = angular(v)
    return join(add(cross(w, angular(f)), cross(linear(v), linear(f))), cross(w, linear(f)))


@kernel
def inertia_times(inertia, x):
    """I x for an inertia of ten numbers: mass m, first moment h = m c, Ī about the origin."""
    h = (inertia[1], inertia[2], inertia[3])
    rotational = (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9])
    w = angular(x)
    u = linear(x)
    return join(
        add(symmetric_times(rotational, w), cross(h, u)), sub(scale(u, inertia[0]), cross(h, w))
    )


@kernel
def coriolis_factor(inertia, v):
    """B(v, I) of [EW21] eq. 10 as twelve numbers: T row by row, then ℓ.

    B = [T, 0; −ℓ×, 0],   T = ω× (Ī − ½ tr(Ī) 1) − h× u×,   ℓ = m u + ω × h
    """
    m, h = inertia[0], (inertia[1], inertia[2], inertia[3])
    half_trace = 0.5 * (inertia[4] + inertia[7] + inertia[9])
    xx, yy, zz = inertia[4] - half_trace, inertia[7] - half_trace, inertia[9] - half_trace
    xy, xz, yz = inertia[5], inertia[6], inertia[8]
    w = angular(v)
    u = linear(v)
    hu = dot(h, u)
    momentum = add(scale(u, m), cross(w, h))
    # h× u× = u hᵀ − (h·u) 1
    return (
        w[1] * xz - w[2] * xy - u[0] * h[0] + hu,
        w[1] * yz - w[2] * yy - u[0] * h[1],
        w[1] * zz - w[2] * yz - u[0] * h[2],
        w[2] * xx - w[0] * xz - u[1] * h[0],
        w[2] * xy - w[0] * yz - u[1] * h[1] + hu,
        w[2] * xz - w[0] * zz - u[1] * h[2],
        w[0] * xy - w[1] * xx - u[2] * h[0],
        w[0] * yy - w[1] * xy - u[2] * h[1],
        w[0] * yz - w[1] * xz - u[2] * h[2] + hu,
        momentum[0],
        momentum[1],
        momentum[2],
    )


@kernel
def factor_times(B, x):
    """B x = [T ω; −ℓ × ω]."""
    w = angular(x)
    momentum = (B[9], B[10], B[11])
    return join(rotate(B, w), cross(w, momentum))


@kernel
def factor_transposed_times(B, x):
    """The angular part of Bᵀ x = [Tᵀ ω + ℓ × u; 0]."""
    momentum = (B[9], B[10], B[11])
    return add(rotate_back(B, angular(x)), cross(momentum, linear(x)))
