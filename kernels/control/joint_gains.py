"""Default gains of joints: by how the robot is to behave, at all of its poses.

A spring of constant stiffness has a potential, and one that depends on q has none of its own. So K
is constant, and what a joint may have at most is set by the pose where it is lightest: no mode of
K and M(q), ω² = eigenvalues of M⁻¹ K, may be faster than the loop can follow at any pose. Damping
may depend on q. With

    D(q) = r M(q) + c K                      (Rayleigh damping)

every mode of K and M(q) is damped by itself, with the ratio ½ (r/ω + c ω), which is nearly the
same for all of them: a design by generalized eigenvalues that needs no eigenvalues in the tick.

A joint that some rare pose leaves next to no stiffness (two axes line up there without mass between
them) is also drawn in with the bandwidth Λ: damping what is not −Λ e of its motion makes the
stiffness Λ D(q), which grows with what the joint weighs, and takes no potential (saturation.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from torqued.kernels.control.law import Array
from torqued.kernels.control.poses import coupled_groups, poses_of

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: rad/s: a joint by itself with its typical inertia.
FREQUENCY = 20.0
#: rad/s of the fastest mode at any pose. Its damping is then about 250/s, which two milliseconds
#: of delay leave a phase margin of some 40 degrees.
FASTEST = 125.0
#: rad at which a default spring takes a joint's whole effort, at the latest: a joint that weighs
#: next to nothing in a model without rotors would have a spring that no drive feels.
FULL_EFFORT = 1.0
#: Of the slowest and of the fastest mode; those between have less, down to 0.57 of it.
DAMPING_RATIO = 1.0
#: Share of the stiffness that a frequency asks for, below which a joint counts as weak.
WEAK = 0.5
#: How far apart modes are that get the full ratio.
DECADE = 10.0
#: Share of a velocity limit that a bounded error makes a joint move with; where a spring and the
#: motion of the reference add up (saturation.py), those of both.
SPEED_SHARE = 0.8
SPRING_SHARE, APPROACH_SHARE = 0.25, 0.5
#: rad, where a joint has no velocity limit: errors are not bounded.
UNBOUNDED = 1e6
#: Steps of the search for a stiffness, and of the iteration for the fastest mode in each; rounds in
#: which some joints alone make up for what it has left.
STEPS, POWERS, ROUNDS = 24, 4, 8

#: By robot and by what was asked for: requests come with the same gains again and again.
_KNOWN: WeakKeyDictionary[Robot, dict[tuple[str, bytes], Array]] = WeakKeyDictionary()
#: How many answers are kept for each robot.
MAX_KNOWN = 64


def remembered(robot: Robot, kind: str, of: Array, compute: Callable[[], Array]) -> Array:
    """What `compute` gives for a robot and the array `of`, computed once."""
    known, key = _KNOWN.setdefault(robot, {}), (kind, of.tobytes())
    if key not in known:
        if len(known) >= MAX_KNOWN:
            known.clear()
        known[key] = compute()
    return known[key].copy()


def stiffness_for(robot: Robot, frequency: Array, floor: bool = False) -> Array:
    """(nv,) N m/rad that give joints of typical inertia a frequency (nv,), rad/s, and with `floor`
    at least that of FULL_EFFORT; less where some pose has modes that are too fast then."""
    effort = robot.limits.effort
    raised = floor & np.isfinite(effort)
    least = np.where(raised, np.where(raised, effort, 0.0) / FULL_EFFORT, 0.0)

    def compute() -> Array:
        return stiffness_at(poses_of(robot).M, frequency, least)

    return remembered(robot, f"stiffness {floor}", frequency, compute)


def stiffness_at(M: Array, frequency: Array, least: Array) -> Array:
    """(nv,) for poses with M (N, nv, nv); joints that do not act on each other apart."""
    k = np.empty(M.shape[-1])
    for group in coupled_groups(M):
        part = M[np.ix_(np.arange(len(M)), group, group)]
        k[group] = group_stiffness(part, frequency[group], least[group])
    return k


def bandwidth_for(robot: Robot, frequency: Array, stiffness: Array) -> Array:
    """(nv,) 1/s: Λ of joints whose stiffness (nv,) had to be less than WEAK of what a frequency
    (nv,) asks for; that frequency where nothing is left."""
    typical = np.diagonal(poses_of(robot).M, axis1=1, axis2=2).mean(axis=0)
    share = stiffness / (frequency**2 * typical)
    return np.asarray(frequency * np.maximum(0.0, 1.0 - share / WEAK))


def group_stiffness(M: Array, frequency: Array, least: Array) -> Array:
    """(n,) for joints that are coupled, with M (N, n, n), frequency and N m/rad at least (n,)."""
    inverse = np.asarray(np.linalg.inv(M), np.float64)
    mobility = np.diagonal(inverse, axis1=1, axis2=2)
    typical = np.diagonal(M, axis1=1, axis2=2).mean(axis=0)
    alone = FASTEST**2 / mobility.max(axis=0)  # what a joint may have by itself
    k = slowed(inverse, np.minimum(frequency**2 * typical, alone), np.zeros(len(alone)))
    raised = np.maximum(k, np.minimum(least, alone))
    # Joints that are raised take nothing from the others.
    return k if np.array_equal(raised, k) else slowed(inverse, raised, k)


def slowed(inverse: Array, k: Array, base: Array) -> Array:
    """Stiffness k (n,) without modes that are too fast for inverses of M (N, n, n), down to `base`,
    which has none."""
    fastest = FASTEST**2
    mode = np.sqrt(k * np.diagonal(inverse, axis1=1, axis2=2))  # (N, n), in coordinates √k q
    for _ in range(STEPS):
        square, mode = fastest_mode(inverse, k, mode)
        excess = np.log(np.maximum(square / fastest, 1.0))
        if excess.max() < 0.05:
            break
        # Joints pay for a mode that is too fast by their part in it.
        k = np.maximum(base, k * np.exp(-(mode**2 * excess[:, None]).max(axis=0)))
    for _ in range(ROUNDS if base.any() else 1):  # what the search has left
        for _ in range(STEPS):
            square, mode = fastest_mode(inverse, k, mode)
        k = np.maximum(base, k * min(1.0, fastest / square.max()))
    return k


def fastest_mode(inverse: Array, k: Array, mode: Array) -> tuple[Array, Array]:
    """ω² (N,) and unit vectors (N, n) of √k M⁻¹ √k, by powers; `mode` is where to begin."""
    root = np.sqrt(k)
    for _ in range(POWERS):
        mode = root * np.matmul(inverse, (root * mode)[:, :, None])[:, :, 0]
        size = np.linalg.norm(mode, axis=1, keepdims=True)
        mode = mode / size
    turned = np.matmul(inverse, (root * mode)[:, :, None])[:, :, 0]
    return np.einsum("ni,ni->n", root * mode, turned), mode


def rayleigh(robot: Robot, K: Array, ratio: float) -> tuple[float, float]:
    """r (1/s) and c (s) of D = r M + c K: `ratio` for the slowest and fastest modes of K."""
    # Of a matrix of order one: gains may have any size.
    size = float(np.abs(K).max(initial=0.0))
    part = K / size
    low, high = np.sqrt(size) * remembered(
        robot, "modes", part, lambda: modes(poses_of(robot).M, part)
    )
    return 2.0 * ratio * low * high / (low + high), 2.0 * ratio / (low + high)


def modes(M: Array, K: Array) -> Array:
    """(2,) rad/s: a typical slow mode of K, and the fastest at any of the poses."""
    low, high = np.inf, 0.0
    for group in coupled_groups(M, K[None]):
        L = np.linalg.cholesky(M[np.ix_(np.arange(len(M)), group, group)])
        half = np.linalg.solve(L, np.broadcast_to(K[np.ix_(group, group)], L.shape))
        A = np.linalg.solve(L, half.transpose(0, 2, 1))
        squares = np.linalg.eigvalsh(0.5 * (A + A.transpose(0, 2, 1)))
        high = max(high, float(np.sqrt(squares[:, -1].max())))
        low = min(low, float(np.sqrt(np.median(np.maximum(squares[:, 0], 0.0)))))
    return np.array([max(low, high / DECADE), high])


def speed_bound(robot: Robot, share: float = SPEED_SHARE) -> Array:
    """(nv,) rad/s that errors may make joints move with; infinite where there is no limit."""
    limits = robot.limits.velocity
    bounds: Array = share * np.where(limits > 0.0, limits, np.inf)
    return bounds


def free_inertia(robot: Robot) -> Array:
    """(nv,) what joints weigh while all others give way, 1 / (M⁻¹)_jj; the median over poses."""

    def compute() -> Array:
        mobility = np.diagonal(np.linalg.inv(poses_of(robot).M), axis1=1, axis2=2)
        return np.asarray(1.0 / np.median(mobility, axis=0))

    return remembered(robot, "free inertia", np.zeros(0), compute)


def bounded(limit: Array) -> Array:
    """Bounds of errors as compiled code takes them: finite, and not zero."""
    return np.clip(limit, 1e-6, UNBOUNDED)
