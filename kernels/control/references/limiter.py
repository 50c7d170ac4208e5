"""Jumps become motion: a reference that is never faster, nor changes faster, than its limits.

A cascade closes the error to what is commanded: the error sets a speed from which it can still be
braked, the error of speed an acceleration, and that changes with a bounded jerk. Near its end each
stage is linear, so that the reference comes to rest without overshoot:

    v = v_c + f(e; 0.3 j/a, a)        a = a_c + f(v − w; j/a, j)

    f(e; k, a) = k e            where |e| < a/k²
                 √(2 a (|e| − a/2k²))      beyond, with e's sign

Once half of the jerk does it, what is left of the error ends on a quintic, in a given time: from
then on the reference is what is commanded, to the bit.
"""

import math

from torqued.kernels.compilation.jit import kernel

#: Ticks' worth of speed by which a command may step without LIMITED_REFERENCE: times of states and
#: of references differ. A frame follows such a step as it is.
SLACK = 5.0
#: Share of the acceleration that braking counts on: the rest is for what the jerk takes to build.
BRAKING = 0.7
#: Share of the largest speed with which an error is closed: the robot has noise and errors of its
#: own on top of its reference.
CATCHING_UP = 0.9
#: 1/s at which the jerk of a limited reference becomes one that can be followed through springs.
JERK_RATE = 60.0
#: What is left of an error, in ticks at full speed, when a frame follows a command as it is again,
#: and by which a position may be beyond a joint's end.
CLOSE = 0.01
#: Time in which the last of an error ends, in units of a/j, and the share of the jerk for it.
ENDING, ENDING_SHARE = 4.0, 0.5
#: rad or m, and per second.
ROUNDING = 1e-11
#: Rate at which the last of an error is closed, in units of j/a: the fastest without overshoot.
CLOSING = 0.3


@kernel
def clip(x, most):
    return min(max(x, -most), most)


@kernel
def approach(error, gain, most):
    """The rate at which an error is closed so that it can be stopped with `most`; error ≥ 0."""
    linear = most / (gain * gain)
    if error <= linear:
        return gain * error
    return math.sqrt(2.0 * most * (error - 0.5 * linear))


@kernel
def signed_approach(error, gain, most):
    return math.copysign(approach(abs(error), gain, most), error)


@kernel
def shape(e, w, a, v_c, a_c, v_most, a_most, j_most, dt, share, v_end):
    """Acceleration after a tick of a scalar that is e short of what is commanded then.

    Of a_most no more than a share is to be used. The jerk is not reduced by it: an acceleration
    that has become too large ends as soon as it can. The same with speeds above v_most, as long as
    they stay below v_end.
    """
    rate, a_used = j_most / a_most, share * a_most
    ahead, w_ahead = e - (w + 0.5 * a_c * dt) * dt, w + a_c * dt  # without a correction
    wanted = clip(v_c + signed_approach(ahead, CLOSING * rate, BRAKING * a_used), v_most)
    push = a_c + signed_approach(wanted - w_ahead, rate, BRAKING * rate * a_used)
    up = signed_approach(v_end - w, rate, BRAKING * rate * a_used)
    down = signed_approach(v_end + w, rate, BRAKING * rate * a_used)
    return a + clip(clip(min(max(push, -down), up), a_used) - a, j_most * dt)


@kernel
def closes(gap, w, a, seconds, j_most):
    """Whether a gap can be closed within a time by a jerk; that of a quintic is a parabola."""
    c3, c4, c5 = quintic_coefficients(seconds, -gap, w, a)
    first, more, most = 6.0 * c3, 24.0 * c4 * seconds, 60.0 * c5 * seconds * seconds
    middle, last = first + 0.5 * more + 0.25 * most, first + more + most
    return max(abs(first), abs(middle), abs(last)) <= j_most


@kernel
def continues(step, w, a, to_w, v_most, a_most, j_most, dt, strict):
    """Whether a reference of speed w and acceleration a may be a step further, with to_w, after dt:
    within limits by differences.

    What is commanded may, unless `strict`, have steps in its acceleration, and speeds that are
    differences: its mean speed lies between w and to_w.
    """
    bend, off = abs(to_w - w), abs(step - 0.5 * (w + to_w) * dt)
    jerk, still = abs(to_w - w - a * dt), (to_w - w) * bend / (2.0 * j_most * dt * dt)
    even = off <= 0.5 * j_most * dt**3 + ROUNDING + (0.0 if strict else 0.5 * bend * dt)
    smooth = jerk <= j_most * dt * dt + ROUNDING and abs(to_w + still) <= v_most + ROUNDING
    inside = abs(to_w) <= v_most + ROUNDING and bend <= a_most * dt + ROUNDING
    return inside and even and (smooth or not strict)


@kernel
def stopping_distance(w, a_most, j_most):
    """How far a scalar of speed w still goes until it can stand."""
    return w * (abs(w) / (2.0 * BRAKING * a_most) + 0.5 * a_most / j_most)


@kernel
def quintic_coefficients(T, way, w, a):
    """Of t³, t⁴ and t⁵ in the way that begins with w, a and ends at rest at T."""
    c3 = (20.0 * way - 12.0 * w * T - 3.0 * a * T * T) / (2.0 * T**3)
    c4 = (-30.0 * way + 16.0 * w * T + 3.0 * a * T * T) / (2.0 * T**4)
    return c3, c4, (12.0 * way - 6.0 * w * T - a * T * T) / (2.0 * T**5)


@kernel
def quintic(t, T, way, w, a):
    """Distance, speed, acceleration at t of the way that begins with w, a and ends at rest at T."""
    if t >= T:
        return way, 0.0, 0.0
    c3, c4, c5 = quintic_coefficients(T, way, w, a)
    x = t * (w + t * (0.5 * a + t * (c3 + t * (c4 + t * c5))))
    rate = w + t * (a + t * (3.0 * c3 + t * (4.0 * c4 + t * 5.0 * c5)))
    return x, rate, a + t * (6.0 * c3 + t * (12.0 * c4 + t * 20.0 * c5))


@kernel
def quintic_rates(t, T, way, w, a):
    """Jerk and snap of the same."""
    if t >= T:
        return 0.0, 0.0
    c3, c4, c5 = quintic_coefficients(T, way, w, a)
    return 6.0 * c3 + t * (24.0 * c4 + t * 60.0 * c5), 24.0 * c4 + t * 120.0 * c5


@kernel
def smooth_jerk(j, wanted, dt):
    """Jerk after a tick, and its mean rate: a limited reference has steps in its own."""
    step = (1.0 - math.exp(-JERK_RATE * dt)) * (wanted - j)
    return j + step, step / dt
