"""Sine and cosine of one angle together, in line: the libraries' calls were a third of a sweep.

The angle is reduced to [−π/4, π/4] with π/2 in three parts (k times the first two is exact for
|k| < 2^20), then two polynomials fitted at Chebyshev nodes give results within about one unit in
the last place. Angles beyond 10^5 rad, infinities and NaN go to the library.
"""

import math

from numba.extending import overload

from torqued.kernels.compilation.jit import exact_kernel
from torqued.kernels.primitives.wide import WIDE, WIDTH, in_quadrant, lane, with_lane

TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.5707963267341256, 6.07710050359346e-11, 2.912732056093356e-20)
MAX_ANGLE = 1e5
ROUNDING = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number

#: (sin r / r − 1) / r² and (cos r − 1 + r²/2) / r⁴ in powers of r².
SINE = (
    -0.16666666666666666,
    0.008333333333330918,
    -0.00019841269836712495,
    2.755731607868067e-06,
    -2.5051126876085338e-08,
    1.5917771759341917e-10,
)
COSINE = (
    0.041666666666666664,
    -0.0013888888888887378,
    2.4801587298736863e-05,
    -2.755731725679604e-07,
    2.087614315990944e-09,
    -1.1382408754153254e-11,
)


@exact_kernel
def polynomial(c, y):
    z = y * y
    return (c[0] + c[1] * y) + z * ((c[2] + c[3] * y) + z * (c[4] + c[5] * y))


def by_quadrant(turns, c, s):
    """(cos, sin) of an angle from those of what is left of it after so many quarter turns."""
    quadrant = int(turns - ROUNDING)
    if quadrant & 1:
        c, s = s, c
    if (quadrant + 1) & 2:
        c = -c
    if quadrant & 2:
        s = -s
    return c, s


def _quadrant_of_lanes(turns, c, s):
    return in_quadrant(turns, c, s)


@overload(by_quadrant, jit_options={"error_model": "numpy", "forceinline": True})
def _by_quadrant(turns, c, s):
    return _quadrant_of_lanes if turns == WIDE else by_quadrant


@exact_kernel
def by_reduction(x):
    """(cos x, sin x) for |x| < MAX_ANGLE. Without reordering: the reduction lives on its order."""
    turns = x * TWO_OVER_PI + ROUNDING
    k = turns - ROUNDING
    r = ((x - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2]
    y = r * r
    s = r + r * y * polynomial(SINE, y)
    c = (1.0 - 0.5 * y) + y * y * polynomial(COSINE, y)
    return by_quadrant(turns, c, s)


def by_library(x):
    """(cos x, sin x) where the reduction does not reach."""
    return math.cos(x), math.sin(x)


def _each_lane(x):
    """Lane after lane, since what a state's neighbours are must not change its result."""
    c, s = x, x
    for k in range(WIDTH):
        angle = lane(x, k)
        if abs(angle) < MAX_ANGLE:
            cosine, sine = by_reduction(angle)
        else:
            cosine, sine = math.cos(angle), math.sin(angle)
        c, s = with_lane(c, k, cosine), with_lane(s, k, sine)
    return c, s


@overload(by_library, jit_options={"error_model": "numpy"})
def _by_library(x):
    return _each_lane if x == WIDE else by_library


@exact_kernel
def cos_sin(x):
    """(cos x, sin x)."""
    if not abs(x) < MAX_ANGLE:
        return by_library(x)
    return by_reduction(x)
