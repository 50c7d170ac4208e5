"""Errors that are bounded before they become torque.

    σ(e) = e                      for |e| ≤ h,      h = L / 2
    σ(e) = ± (2 h − h² / |e|)     beyond: grows on, smoothly, and stays below L

Inside the spring is what its stiffness says; far away it pulls with K L and no more, so that the
speed that it can make of an error is bounded. Odd, monotone, with a continuous slope.

A spring that pulls so little does not hold a joint against the others. Where |e| > h the reference
moves in addition, towards q_ref and with a speed w(e) that is bounded too:

    w(e) = ± u x² / (x² + x_0²),    x = |e| − h,    x_0 = u / STEEPNESS

and what of the motion is not w(e) is braked. Because w and σ have the same sign, w(e)ᵀ K σ(e) is
never negative for a diagonal K: energy that the law takes away.

Where a spring is too weak at all errors, w(e) has a part y(e) = Λ e from the start, bounded by u as
errors are; both together make w = y + x − x y / u, below u again.
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import inner, times


@kernel
def saturated(e, limit):
    """σ(e)."""
    h = 0.5 * limit
    if abs(e) <= h:
        return e
    return math.copysign(2.0 * h - h * h / abs(e), e)


@kernel
def slope(e, limit):
    """dσ/de."""
    h = 0.5 * limit
    if abs(e) <= h:
        return 1.0
    return h * h / (e * e)


@kernel
def potential(e, limit):
    """∫ σ de from 0 to e."""
    h, x = 0.5 * limit, abs(e)
    if x <= h:
        return 0.5 * x * x
    return 2.0 * h * x - 1.5 * h * h - h * h * math.log(x / h)


#: 1/s, about two thirds of which w(e) grows by at most.
STEEPNESS = 15.0


@kernel
def approach(e, limit, speed):
    """w(e) and dw/de."""
    x = abs(e) - 0.5 * limit
    if x <= 0.0 or speed <= 0.0:
        return 0.0, 0.0
    x0 = speed / STEEPNESS
    size = x * x + x0 * x0
    return math.copysign(speed * x * x / size, e), 2.0 * speed * x * x0 * x0 / (size * size)


@kernel
def drawn_in(e, limit, speed, rate):
    """w(e) and dw/de with the bandwidth `rate`; without a bound where `speed` is zero."""
    x, x_slope = approach(e, limit, speed)
    if rate <= 0.0:
        return x, x_slope
    if speed <= 0.0:
        return rate * e, rate
    bound = speed / rate
    y, y_slope = rate * saturated(e, bound), rate * slope(e, bound)
    left_x, left_y = 1.0 - abs(x) / speed, 1.0 - abs(y) / speed
    return x + y * left_x, x_slope * left_y + y_slope * left_x


@kernel
def fill_approach(gains, limits, speeds, rates, e, w, w_slope):
    """The same of all joints; zero where the stiffness, which is the first gain, couples them."""
    n = len(e)
    alone = is_diagonal(gains, 0, n)
    for k in range(n):
        w[k], w_slope[k] = 0.0, 0.0
        if alone:
            w[k], w_slope[k] = drawn_in(e[k], limits[k], speeds[k], rates[k])


@kernel
def is_diagonal(gains, start, n):
    """Whether the square matrix that begins at `start` of the gains couples nothing."""
    for i in range(n):
        for k in range(n):
            if i != k and gains[start + n * i + k] != 0.0:
                return False
    return True


@kernel
def bounded_spring(gains, start, limits, e, pull):
    """pull = the gradient of the spring's potential, which is returned.

    A diagonal K has a bound for each joint, K σ(e). One that couples joints is bounded as a whole,
    by the length u of e that K measures: K e σ(u)/u, with the bound of the joint that has least.
    """
    n = len(e)
    energy = 0.0
    if is_diagonal(gains, start, n):
        for k in range(n):
            stiffness = gains[start + n * k + k]
            pull[k] = stiffness * saturated(e[k], limits[k])
            energy += stiffness * potential(e[k], limits[k])
        return energy
    times(gains, start, e, pull)
    u = math.sqrt(max(0.0, inner(e, pull)))
    limit = math.inf
    for k in range(n):
        limit = min(limit, limits[k] * math.sqrt(gains[start + n * k + k]))
    if u > 0.5 * limit:
        share = saturated(u, limit) / u
        for k in range(n):
            pull[k] *= share
    return potential(u, limit)
