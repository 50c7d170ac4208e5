"""Whether the law `elastic` is stable on a loop that samples, holds and is late.

At rest, with gravity left out as in stability.py, robot and law are linear: x = (q, v, θ, θ̇) of

    M q̈ = K z + D ż        B θ̈ = u(t − delay) − K z − D ż        z = θ − q

and u the law's torque for a reference at zero, with z̈ as its own state where springs are
damped. Between two states u is held: the step from one to the next is exact, by an exponential.
A longer period cannot stand for many late ones here as in stability.py: springs may be faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control.poses import coupled_groups
from torqued.kernels.control.springs import Array, Springs
from torqued.kernels.control.stability import HUGE, worst_radii

#: Terms of the exponential's series, of a matrix halved until it is smaller than this.
TERMS, SMALL = 12, 0.125
#: Gains in rad/s.
FREQUENCIES = ("frequency", "spring_frequency")
#: Periods that a torque may be late by: the size of the problem grows with them.
MAX_PERIODS = 6
#: Poses that are computed at once: the size of their matrices.
AT_ONCE = 64


def elastic_radii(
    M: Array, springs: Springs, gains: Mapping[str, Array], period: float, delay: float
) -> Array:
    """(N,) largest sizes of eigenvalues of the sampled loops at poses with M (N, n, n)."""
    sizes = [springs.stiffness, springs.damping, *(gains[name] ** 2 for name in FREQUENCIES)]
    if max(float(x.max()) for x in sizes) > HUGE:  # nothing is computed but that it is unstable
        return np.full(len(M), np.inf)
    longest = MAX_PERIODS * period
    if delay > longest:
        allowed = f"0 … {longest:g} s, {MAX_PERIODS} periods, with the law 'elastic'"
        raise InputError(f"delay is {delay:g}, expected {allowed}", "delay", delay, allowed)
    radii = np.zeros(len(M))
    for group in coupled_groups(M):
        parts = (springs.stiffness, springs.motor_inertia, springs.damping)
        own = Springs(*(part[group] for part in parts))
        theirs = {name: value[group] for name, value in gains.items()}
        for start in range(0, len(M), AT_ONCE):
            part = M[start : start + AT_ONCE, group[:, None], group]
            with np.errstate(over="ignore", invalid="ignore"):
                found = worst_radii(step_of(part, own, theirs, period, delay))
            radii[start : start + AT_ONCE] = np.maximum(radii[start : start + AT_ONCE], found)
    return radii


def step_of(
    M: Array, springs: Springs, gains: Mapping[str, Array], period: float, delay: float
) -> Array:
    """(N, m, m) from one state to the next: of x, z̈ and the inputs that are still to act."""
    count, n = M.shape[:2]
    A, B = plant(M, springs)
    F, G = feedback(M, springs, gains, period)
    whole = math.floor(delay / period + 1e-9)
    late = max(0.0, delay - whole * period)  # s of this period in which an older input acts
    late = late if late > 1e-9 * period else 0.0
    past = whole + (1 if late else 0)
    step = np.zeros((count, (5 + past) * n, (5 + past) * n))
    x, filtered = slice(0, 4 * n), slice(0, 5 * n)
    before, after = held(A, B, late), held(A, B, period - late)
    step[:, x, x] = after[0] @ before[0]

    def act(inputs_ago: int, share: Array) -> None:
        """An input of so many periods ago moves x."""
        if inputs_ago == 0:
            step[:, x, filtered] += share @ F
        else:
            at = (4 + inputs_ago) * n
            step[:, x, at : at + n] += share

    act(whole, after[1])
    if late:
        act(whole + 1, after[0] @ before[1])
    step[:, 4 * n : 5 * n, filtered] = G
    if past:
        step[:, 5 * n : 6 * n, filtered] = F
    for k in range(1, past):
        step[:, (5 + k) * n : (6 + k) * n, (4 + k) * n : (5 + k) * n] = np.eye(n)
    if not springs.damping.any():  # z̈ is not a state
        kept = np.r_[0 : 4 * n, 5 * n : step.shape[1]]
        step = step[:, kept[:, None], kept]
    return step


def plant(M: Array, springs: Springs) -> tuple[Array, Array]:
    """ẋ = A x + B u: A (N, 4n, 4n), B (N, 4n, n)."""
    count, n = M.shape[:2]
    one, inverse = np.eye(n), np.linalg.inv(M)
    K, D = np.diag(springs.stiffness), np.diag(springs.damping)
    spring = np.hstack([-K, -D, K, D])  # τ_J of (q, v, θ, θ̇)
    A, B = np.zeros((count, 4 * n, 4 * n)), np.zeros((count, 4 * n, n))
    A[:, :n, n : 2 * n] = A[:, 2 * n : 3 * n, 3 * n :] = one
    A[:, n : 2 * n] = inverse @ spring
    A[:, 3 * n :] = -spring / springs.motor_inertia[:, None]
    B[:, 3 * n :] = np.diag(1.0 / springs.motor_inertia)
    return A, B


def feedback(
    M: Array, springs: Springs, gains: Mapping[str, Array], period: float
) -> tuple[Array, Array]:
    """u and the next z̈ as (N, n, 5n) of (q, v, θ, θ̇, z̈): the law at rest."""
    count, n = M.shape[:2]
    omega, omega2 = gains["frequency"], gains["spring_frequency"]
    b, c = 2.0 * gains["damping_ratio"] * omega, omega**2
    b2, c2 = 2.0 * gains["spring_damping_ratio"] * omega2, omega2**2
    K, D, J = springs.stiffness, springs.damping, springs.motor_inertia
    inverse: Array = np.asarray(np.linalg.inv(M), np.float64)
    one, zero = np.eye(n), np.zeros((n, n))
    spring = np.hstack([-np.diag(K), -np.diag(D), np.diag(K), np.diag(D), zero])
    rate = np.hstack([zero, -np.diag(K), zero, np.diag(K), np.diag(D)])
    q = np.broadcast_to(np.hstack([one, zero, zero, zero, zero]), (count, n, 5 * n))
    v = np.roll(q, n, axis=2)
    a: Array = np.asarray(inverse @ spring)
    jerk: Array = np.asarray(inverse @ rate)

    def times(gain: Array, x: Array) -> Array:
        return np.asarray(gain[:, None] * x)

    y, y1 = a + times(b, v) + times(c, q), jerk + times(b, a) + times(c, v)
    snap = -times(b, jerk) - times(c, a) - times(b2, y1) - times(c2, y)
    share = np.where(D > 0.0, -np.expm1(-K / np.maximum(D, 1e-300) * period), 1.0)
    z2 = np.zeros((count, n, 5 * n))
    z2[:, :, 4 * n :] = one
    z2 = times(1.0 - share, z2) + times(share / K, M @ snap)
    return spring + times(J, a + z2), z2


def held(A: Array, B: Array, seconds: float) -> tuple[Array, Array]:
    """What x and an input that is held make of x after some time."""
    count, m, n = B.shape
    both = np.zeros((count, m + n, m + n))
    both[:, :m, :m], both[:, :m, m:] = seconds * A, seconds * B
    found = exponential(both)
    return found[:, :m, :m], found[:, :m, m:]


def exponential(X: Array) -> Array:
    """Of matrices (N, m, m): a series of what is halved often enough, squared as often."""
    size = float(np.abs(X).sum(axis=-1).max(initial=0.0))
    if not size < HUGE:
        return np.full_like(X, np.inf)
    halvings = max(0, math.ceil(math.log2(max(size, SMALL) / SMALL)))
    X = X / 2.0**halvings
    term = np.broadcast_to(np.eye(X.shape[-1]), X.shape).copy()
    total = term.copy()
    for k in range(1, TERMS):
        term = term @ X / k
        total += term
    for _ in range(halvings):
        total = total @ total
    return total
