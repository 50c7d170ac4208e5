"""exp, log, dexp and its inverse on SO(3) and SE(3), in numbers on tuples ([M18] section 7).

Rotation vectors w, twists X = (w, u) [angular; linear]. dexp is the right-trivialized differential,
as [M18] eq. 89 has it: V^s = dexp_X Ẋ for C = exp X, and V^b = dexp_{−X} Ẋ.

    SO(3)   exp = 1 + a w× + b w×²          dexp = 1 + b w× + c w×²     dexp⁻¹ = 1 − ½ w× + k w×²
    SE(3)   exp = (exp w, dexp_w u)         dexp = [dexp_w, 0; Q, dexp_w]

    a = sin θ / θ    b = (1 − cos θ) / θ²    c = (θ − sin θ) / θ³    k = (1 − ½ θ cot ½θ) / θ²
    Q = ½ u× + c (w× u× + u× w× + w× u× w×) + d (w×² u× + u× w×² − 3 w× u× w×)
          + e (w× u× w×² + w×² u× w×)
    d = (θ² + 2 cos θ − 2) / 2θ⁴      e = (2θ − 3 sin θ + θ cos θ) / 2θ⁵

Quotients lose their digits to cancellation as θ goes to zero; there they are series, up to angles
where the quotient is as good. Every coefficient has a relative error below 4e-15 for θ up to 6.
"""

import math

from torqued.kernels.compilation.jit import exact_kernel, kernel
from torqued.kernels.contacts.rows import rotation_vector
from torqued.kernels.dynamics.manifold import sin_quotient
from torqued.kernels.primitives.spatial import add, angular, cross, dot, join, linear, scale, sub

#: Below these angles series take the place of quotients.
SERIES_UP_TO, INVERSE_SERIES_UP_TO = 2.0, 1.0


@exact_kernel
def c_and_d(angle):
    """c and d."""
    y = angle * angle
    if angle >= SERIES_UP_TO:
        c = (angle - math.sin(angle)) / (y * angle)
        # 2 − 2 cos θ = 4 sin² ½θ
        half = 2.0 * math.sin(0.5 * angle)
        return c, (y - half * half) / (2.0 * y * y)
    # Σ (−y)^n / (2n + 3)!  and  Σ (−y)^n / (2n + 4)!
    c, d = 1.0, 1.0
    for n in range(12, 0, -1):
        c = 1.0 - c * y / ((2 * n + 2) * (2 * n + 3))
        d = 1.0 - d * y / ((2 * n + 3) * (2 * n + 4))
    return c / 6.0, d / 24.0


@exact_kernel
def e_quotient(angle):
    """e."""
    y = angle * angle
    if angle >= SERIES_UP_TO:
        numerator = 2.0 * angle - 3.0 * math.sin(angle) + angle * math.cos(angle)
        return numerator / (2.0 * y * y * angle)
    # Σ (−y)^n (n + 1) / (2n + 5)!
    e, term = 0.0, 1.0 / 120.0
    for n in range(13):
        e += term * (n + 1)
        term = -term * y / ((2 * n + 6) * (2 * n + 7))
    return e


@exact_kernel
def k_quotient(angle):
    """k; grows beyond all bounds at 2π, where dexp has no inverse."""
    y = angle * angle
    if angle >= INVERSE_SERIES_UP_TO:
        return (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / y
    # Σ |B_2n| y^(n−1) / (2n)!, with Bernoulli's numbers
    k = 174611.0 / 802857662698291200000.0
    k = 43867.0 / 5109094217170944000.0 + y * k
    k = 3617.0 / 10670622842880000.0 + y * k
    k = 1.0 / 74724249600.0 + y * k
    k = 691.0 / 1307674368000.0 + y * k
    k = 1.0 / 47900160.0 + y * k
    k = 1.0 / 1209600.0 + y * k
    k = 1.0 / 30240.0 + y * k
    k = 1.0 / 720.0 + y * k
    return 1.0 / 12.0 + y * k


@kernel
def exp_rotation(w):
    """The rotation matrix of a rotation vector, nine numbers row by row."""
    angle = math.sqrt(dot(w, w))
    a, half = sin_quotient(angle), sin_quotient(0.5 * angle)
    b = 0.5 * half * half
    xx, yy, zz = b * w[0] * w[0], b * w[1] * w[1], b * w[2] * w[2]
    xy, xz, yz = b * w[0] * w[1], b * w[0] * w[2], b * w[1] * w[2]
    x, y, z = a * w[0], a * w[1], a * w[2]
    return (
        1.0 - yy - zz, xy - z, xz + y,
        xy + z, 1.0 - xx - zz, yz - x,
        xz - y, yz + x, 1.0 - xx - yy,
    )  # fmt: skip


@kernel
def log_rotation(R):
    """The rotation vector of a rotation matrix, at most π long; at π one of the two."""
    return rotation_vector(R)


@kernel
def dexp_rotation(w, x):
    """dexp_w x."""
    angle = math.sqrt(dot(w, w))
    half = sin_quotient(0.5 * angle)
    c, _ = c_and_d(angle)
    wx = cross(w, x)
    return add(x, add(scale(wx, 0.5 * half * half), scale(cross(w, wx), c)))


@kernel
def dexp_inverse_rotation(w, x):
    """dexp_w⁻¹ x, for |w| < 2π."""
    wx = cross(w, x)
    k = k_quotient(math.sqrt(dot(w, w)))
    return add(sub(x, scale(wx, 0.5)), scale(cross(w, wx), k))


@kernel
def coupling(X, x):
    """Q x for a 3-vector x."""
    w, u = angular(X), linear(X)
    angle = math.sqrt(dot(w, w))
    c, d = c_and_d(angle)
    e = e_quotient(angle)
    ux, wx = cross(u, x), cross(w, x)
    wux, uwx = cross(w, ux), cross(u, wx)
    wwx = cross(w, wx)
    wuwx = cross(w, uwx)
    wwux, uwwx = cross(w, wux), cross(u, wwx)
    wuwwx, wwuwx = cross(w, uwwx), cross(w, wuwx)
    first = add(scale(ux, 0.5), scale(add(add(wux, uwx), wuwx), c))
    second = scale(sub(add(wwux, uwwx), scale(wuwx, 3.0)), d)
    return add(first, add(second, scale(add(wuwwx, wwuwx), e)))


@kernel
def dexp_motion(X, x):
    """dexp_X x on SE(3)."""
    w = angular(X)
    turn = dexp_rotation(w, angular(x))
    return join(turn, add(coupling(X, angular(x)), dexp_rotation(w, linear(x))))


@kernel
def dexp_inverse_motion(X, x):
    """dexp_X⁻¹ x on SE(3), for |w| < 2π: [J⁻¹, 0; −J⁻¹ Q J⁻¹, J⁻¹]."""
    w = angular(X)
    turn = dexp_inverse_rotation(w, angular(x))
    return join(turn, dexp_inverse_rotation(w, sub(linear(x), coupling(X, turn))))
