"""The vectors that a column c and each column x of its path bring into second derivatives.

Four columns x at once; a 3-vector is three groups of four numbers.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.lanes import add_scaled4, load4, scale4, store4


@kernel
def three(rows, first):
    """Three rows of four, from place `first`."""
    return load4(rows, first), load4(rows, first + 4), load4(rows, first + 8)


@kernel
def put_three(rows, first, x):
    store4(rows, first, x[0])
    store4(rows, first + 4, x[1])
    store4(rows, first + 8, x[2])


@kernel
def add_matrix(y, A, x):
    """y + A x of nine numbers row by row."""
    return (
        add_scaled4(add_scaled4(add_scaled4(y[0], x[0], A[0]), x[1], A[1]), x[2], A[2]),
        add_scaled4(add_scaled4(add_scaled4(y[1], x[0], A[3]), x[1], A[4]), x[2], A[5]),
        add_scaled4(add_scaled4(add_scaled4(y[2], x[0], A[6]), x[1], A[7]), x[2], A[8]),
    )


@kernel
def add_cross(y, a, x):
    """y + a × x."""
    return (
        add_scaled4(add_scaled4(y[0], x[2], a[1]), x[1], -a[2]),
        add_scaled4(add_scaled4(y[1], x[0], a[2]), x[2], -a[0]),
        add_scaled4(add_scaled4(y[2], x[1], a[0]), x[0], -a[1]),
    )


@kernel
def cross_three(a, x):
    """a × x."""
    return (
        add_scaled4(scale4(x[2], a[1]), x[1], -a[2]),
        add_scaled4(scale4(x[0], a[2]), x[2], -a[0]),
        add_scaled4(scale4(x[1], a[0]), x[0], -a[1]),
    )


@kernel
def matrix_times(A, x):
    return (
        add_scaled4(add_scaled4(scale4(x[0], A[0]), x[1], A[1]), x[2], A[2]),
        add_scaled4(add_scaled4(scale4(x[0], A[3]), x[1], A[4]), x[2], A[5]),
        add_scaled4(add_scaled4(scale4(x[0], A[6]), x[1], A[7]), x[2], A[8]),
    )


@kernel
def transposed_times(A, x):
    return (
        add_scaled4(add_scaled4(scale4(x[0], A[0]), x[1], A[3]), x[2], A[6]),
        add_scaled4(add_scaled4(scale4(x[0], A[1]), x[1], A[4]), x[2], A[7]),
        add_scaled4(add_scaled4(scale4(x[0], A[2]), x[1], A[5]), x[2], A[8]),
    )


@kernel
def minus(a):
    return (-a[0], -a[1], -a[2])


@kernel
def momentum_of(B):
    """ℓ of a factor of twelve numbers."""
    return (B[9], B[10], B[11])


@kernel
def symmetric_part(B):
    """T + Tᵀ, row by row."""
    xy, xz, yz = B[1] + B[3], B[2] + B[6], B[5] + B[7]
    return (2.0 * B[0], xy, xz, xy, 2.0 * B[4], yz, xz, yz, 2.0 * B[8])


@kernel
def force_crossed(y, z, f, w, u):
    """(y, z) + x ×* f of columns x = (w, u): −m × w − n × u and −n × w, for f = (m, n)."""
    m, n = (-f[0], -f[1], -f[2]), (-f[3], -f[4], -f[5])
    return add_cross(add_cross(y, m, w), n, u), add_cross(z, n, w)


@kernel
def fill_pair_block(block, pair, BS, B_slope, F3, G, H):
    """`pair` of column c with the four columns x of a path block.

    BS = B(S_c), B_slope = 2 Ḃ_c, F3 = 2 B^Cᵀ S_c, G = ∂F_c/∂q_c, H = ∂F_c/∂v_c. K_c = BS + BSᵀ.
    """
    w, u = three(block.S, 0), three(block.S, 12)
    spin, slide = three(block.spin, 0), three(block.slide, 0)
    ell = momentum_of(BS)
    # B x = [T ω; −ℓ × ω],  Bᵀ x = [Tᵀ ω + ℓ × u; 0]
    put_three(pair.B, 0, matrix_times(BS, w))
    put_three(pair.B, 12, cross_three(minus(ell), w))
    h = add_cross(transposed_times(BS, w), ell, u)
    put_three(pair.h, 0, (scale4(h[0], -1.0), scale4(h[1], -1.0), scale4(h[2], -1.0)))
    turned = add_cross(transposed_times(BS, spin), ell, slide)
    turned = (scale4(turned[0], -2.0), scale4(turned[1], -2.0), scale4(turned[2], -2.0))
    put_three(pair.turn, 0, add_cross(turned, minus(F3), w))
    put_three(pair.slope, 0, add_cross(transposed_times(B_slope, w), momentum_of(B_slope), u))
    K, down = symmetric_part(BS), minus(ell)
    slope_down = minus(momentum_of(B_slope))
    x, y = three(block.second, 0), three(block.second, 12)
    top = add_matrix(add_cross(matrix_times(K, x), ell, y), B_slope, spin)
    low = add_cross(cross_three(down, x), slope_down, spin)
    top, low = force_crossed(top, low, G, w, u)
    put_three(pair.q, 0, top)
    put_three(pair.q, 12, low)
    x, y = three(block.rate, 0), three(block.rate, 12)
    put_three(pair.v, 0, add_matrix(add_cross(matrix_times(K, x), ell, y), B_slope, w))
    put_three(pair.v, 12, add_cross(cross_three(down, x), slope_down, w))
    top, low = matrix_times(BS, spin), cross_three(down, spin)
    top = (scale4(top[0], 2.0), scale4(top[1], 2.0), scale4(top[2], 2.0))
    low = (scale4(low[0], 2.0), scale4(low[1], 2.0), scale4(low[2], 2.0))
    top, low = force_crossed(top, low, H, w, u)
    put_three(pair.force, 0, top)
    put_three(pair.force, 12, low)
