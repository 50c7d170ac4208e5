"""Limits of joints as bounds on accelerations.

A position limit is approached no faster than a critically damped system of that rate would,
h̋ + 2 λ ḣ + λ² h ≥ 0 with the distance h; a speed limit no faster than by first order. Bounds do
not depend on the period of the loop, and there is no state for which they contradict each other:
a position's yields to a speed's, and both to an acceleration's.
"""

from torqued.kernels.compilation.jit import kernel


@kernel
def acceleration_bounds(program, state, nq, k, rate):
    """Lower and upper bound of acceleration k."""
    v = state[nq + k]
    most = program.acceleration[k]
    speed = program.speed[k]
    lower = within(-rate * (speed + v), -most, most)
    upper = within(rate * (speed - v), -most, most)
    if program.coordinate[k] >= 0.0:
        q = state[int(program.coordinate[k])]
        slow = rate * rate * (program.position_lower[k] - q) - 2.0 * rate * v
        fast = rate * rate * (program.position_upper[k] - q) - 2.0 * rate * v
        lower, upper = within(slow, lower, upper), within(fast, lower, upper)
    return lower, upper


@kernel
def within(x, lower, upper):
    return min(max(x, lower), upper)
