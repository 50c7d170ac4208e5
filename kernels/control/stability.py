"""Whether a law with its gains is stable on a loop that samples, holds and is late.

At rest a law's torque answers to small errors by δτ = −K δq − D δv with matrices that depend on
the configuration. Between two states the torque is held, and it acts `delay` seconds after the
state that it answers to. With M = L Lᵀ, x = Lᵀ δq, A = L⁻¹ K L⁻ᵀ and B = L⁻¹ D L⁻ᵀ,

    ẍ(t) = u(t − delay),     u_k = −A x_k − B ẋ_k

is linear from one state to the next, exactly: its eigenvalues must lie within the unit circle.
A loop that is late by many periods would be a large problem; `resampled` keeps it small.
Gravity is left out, which the laws compensate: that they do so late changes rates by
delay · gravity / length of a link, less than 1/s.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import own_joints
from torqued.kernels.control.law import Array, Fields, Gains, Law
from torqued.kernels.control.poses import Poses, coupled_groups, poses_of
from torqued.kernels.input_checks import choice
from torqued.kernels.model.rotors import REMEDY, TYPICAL

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Default seconds from a state to its torque: two periods of a 1 kHz loop.
DEFAULT_DELAY = 0.002
#: s, the longest that is checked.
MAX_DELAY = 0.05
#: Inputs that are still to act, in the problem whose eigenvalues are computed.
MAX_PAST = 4
#: How far from the unit circle rounding may put what lies on it: a robot that floats.
ROUNDING = 1e-6
#: Sizes from which on eigenvalues take too long to be computed at every pose.
LARGE = 40
#: Poses that are looked at exactly then: those where a power of the step's matrix is largest.
SUSPECTS = 6
#: Squarings for that power.
SQUARINGS = 9
#: Gains, and 1/s² and 1/s: beyond these nothing is computed but that it is unstable.
HUGE = 1e15
#: Smallest factor that is tried, and how finely one is searched for.
MIN_FACTOR, FINENESS = 1e-3, 0.02
#: What happens to unstable gains of a user: they are refused, or used with a warning.
CHECKS = ("refuse", "warn")


@dataclass(frozen=True)
class Stability:
    """What a check has found."""

    stable: bool
    margin: float  # 1/s, how fast the slowest or the growing error of the worst pose decays
    pose: Array  # (nq,) the worst one
    #: Stable everywhere with rates multiplied by this: stiffness by its square, damping by it.
    #: Zero where none down to MIN_FACTOR is.
    factor: float
    #: Why they would be refused, where unstable gains are in use on a user's word; else "".
    overridden: str = ""


_CHECKED: WeakKeyDictionary[Robot, dict[str, Stability]] = WeakKeyDictionary()


def check_gains(
    robot: Robot,
    law: Law,
    gains: Gains,
    fields: Fields,
    period: float = 1e-3,
    delay: float = DEFAULT_DELAY,
) -> Stability | None:
    """The law over all poses of the robot; nothing for laws that are not judged by this.

    `period` s of the loop, `delay` s from a state to its torque.
    """
    if law.linearization is None and law.radii is None:
        return None
    known = _CHECKED.setdefault(robot, {})
    key = digest(law, gains, fields, period, delay)
    if key not in known:
        known[key] = checked(robot, law, gains, fields, period, delay)
    return known[key]


def require_stable(
    robot: Robot,
    law: Law,
    gains: Gains,
    fields: Fields,
    period: float = 1e-3,
    delay: float = DEFAULT_DELAY,
    check: str = "refuse",
) -> tuple[Gains, Stability | None]:
    """The gains as they are to be used: those that a user gave as they are, or refused unless
    `check` is "warn"; those that were not given are reduced where necessary."""
    choice("check", check, CHECKS)
    found = check_gains(robot, law, gains, fields, period, delay)
    if found is None or found.stable:
        return gains, found
    if named_gains(fields) or found.factor == 0.0:
        cause = missing_rotors(robot, law, gains, fields, period, delay)
        error = refusal(law, gains, found, delay, cause)
        if check == "refuse":
            raise error
        return gains, replace(found, overridden=str(error))
    return scaled(law, gains, found.factor), found


def named_gains(fields: Fields) -> bool:
    """Whether a user chose gains: as such, or with a task."""
    tasks = [task for task in fields.get("tasks") or () if isinstance(task, Mapping)]
    return bool(fields.get("gains")) or any("stiffness" in t or "damping" in t for t in tasks)


def missing_rotors(
    robot: Robot, law: Law, gains: Gains, fields: Fields, period: float, delay: float
) -> str:
    """Which joints lack the rotors that would make unstable gains stable; "" if none would."""
    limits = robot.limits
    lacking = (limits.armature == 0.0) & np.isfinite(limits.effort) & (limits.effort > 0.0)
    if law.radii is not None or not lacking.any():  # springs: motors are apart from links
        return ""
    rotors = np.diag(np.where(lacking, TYPICAL * limits.effort, 0.0))
    poses = poses_of(robot) if law.stances is None else law.stances(robot, fields)
    if poses.free is not None:
        rotors = poses.free.transpose(0, 2, 1) @ rotors @ poses.free
    driven = replace(poses, M=poses.M + rotors)
    radius, _ = worst_radius(law, robot, gains, fields, driven, period, delay)
    if radius > 1.0 + ROUNDING:
        return ""
    inertia = np.diagonal(poses_of(robot).M, axis1=1, axis2=2).min(axis=0)
    joints = [joint for joint in own_joints(robot.model) if lacking[joint.v]]
    joints.sort(key=lambda joint: -limits.effort[joint.v] / inertia[joint.v])  # worst first
    names = [joint.name for joint in joints]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (
        f". The model has no rotor inertia at {', '.join(names[:3])}{more}; with {TYPICAL:g} kg m² "
        f"per N m of effort there these gains are stable: {REMEDY}"
    )


def refusal(law: Law, gains: Gains, found: Stability, delay: float, cause: str = "") -> InputError:
    pose = ", ".join(f"{x:.3g}" for x in found.pose)
    powers = ", ".join(
        f"{name} × {found.factor ** law.power(name):.3g}"
        for name, value in gains.items()
        if law.power(name) and np.any(value)
    )
    if found.factor == 0.0:
        powers = f"nothing down to rates × {MIN_FACTOR:g}"
        if not law.scaling:
            powers = "less delay, or gains closer to the robot's own dynamics"
    return InputError(
        f"gains are unstable with a delay of {1e3 * delay:g} ms: at q = [{pose}] errors grow by "
        f"{-found.margin:.3g}/s; stable: {powers}{cause}",
        "gains",
        None,
        powers,
    )


def checked_delay(value: float) -> float:
    """A session's `delay` in s."""
    if not 0.0 <= value <= MAX_DELAY:
        raise InputError(
            f"delay is {value}, expected 0 … {MAX_DELAY:g} s", "delay", value, "0 … 0.05 s"
        )
    return value


def scaled(law: Law, gains: Gains, factor: float) -> Gains:
    """Gains for the same motion, slower by a factor: rates by it, stiffness by its square."""
    return {name: factor ** law.power(name) * value for name, value in gains.items()}


def digest(law: Law, gains: Gains, fields: Mapping[str, Any], period: float, delay: float) -> str:
    """Of all that a check depends on."""
    total = hashlib.sha256(repr((law.entry, period, delay)).encode())
    for name in law.options:
        total.update(repr((name, fields.get(name))).encode())
    for name, value in gains.items():
        total.update(name.encode() + np.ascontiguousarray(value, float).tobytes())
    return total.hexdigest()


def checked(
    robot: Robot, law: Law, gains: Gains, fields: Fields, period: float, delay: float
) -> Stability:
    """The check itself."""
    poses = poses_of(robot) if law.stances is None else law.stances(robot, fields)
    radius, worst = worst_radius(law, robot, gains, fields, poses, period, delay)
    margin, factor = -math.log(max(radius, 1e-300)) / period, 1.0
    first = worst
    while radius > 1.0 + ROUNDING and factor > MIN_FACTOR and law.scaling:
        factor = stable_factor(law, robot, gains, fields, poses.only(worst), period, delay, factor)
        slower = scaled(law, gains, factor)
        radius, worst = worst_radius(law, robot, slower, fields, poses, period, delay)
        factor = factor if radius <= 1.0 + ROUNDING else factor * (1.0 - FINENESS)
    factor = factor if radius <= 1.0 + ROUNDING else 0.0
    return Stability(margin >= -ROUNDING / period, margin, poses.q[first].copy(), factor)


def stable_factor(
    law: Law,
    robot: Robot,
    gains: Gains,
    fields: Fields,
    pose: Poses,
    period: float,
    delay: float,
    highest: float,
) -> float:
    """The largest factor below `highest` that is stable at one pose, by bisection."""
    low, high = MIN_FACTOR, highest
    while high / low > 1.0 + FINENESS:
        middle = math.sqrt(low * high)
        slower = scaled(law, gains, middle)
        radius, _ = worst_radius(law, robot, slower, fields, pose, period, delay)
        low, high = (middle, high) if radius <= 1.0 + ROUNDING else (low, middle)
    return low


def worst_radius(
    law: Law, robot: Robot, gains: Gains, fields: Fields, poses: Poses, period: float, delay: float
) -> tuple[float, int]:
    """The largest size of an eigenvalue over poses, and where it is."""
    scaled = [np.abs(value).max(initial=0.0) for name, value in gains.items() if law.power(name)]
    if max(scaled, default=0.0) > HUGE:
        return math.inf, 0
    if law.radii is not None:
        radii = law.radii(robot, gains, fields, poses, period, delay)
    else:
        assert law.linearization is not None
        K, D = law.linearization(robot, gains, fields, poses)
        radii = spectral_radii(poses.M, K, D, period, delay)
    worst = int(np.argmax(radii))
    return float(radii[worst]), worst


def spectral_radii(M: Array, K: Array, D: Array, period: float, delay: float) -> Array:
    """(N,) largest sizes of eigenvalues of the sampled loops with M, K, D (N, n, n)."""
    radii = np.zeros(len(M))
    step, late = resampled(period, delay)
    for group in coupled_groups(M, K, D):
        part = np.ix_(np.arange(len(M)), group, group)
        with np.errstate(over="ignore", invalid="ignore"):
            A, B = normalized(M[part], K[part], D[part])
            radii = np.maximum(radii, group_radii(A, B, step, late))
    return np.asarray(radii ** (period / step))


def resampled(period: float, delay: float) -> tuple[float, float]:
    """Period and delay, at most MAX_PAST periods, of a loop that stands for the given one.

    A torque that is held for a period T is late by T / 2 on average, so the loop of a longer period
    with the same delay + T / 2 is as late. A rate r is stable up to r · delay = π / 2: over the
    longer period that is at most 0.35 rad, and a hold of it weakens a torque by 0.5 %.
    """
    longer = (delay + 0.5 * period) / (MAX_PAST + 0.5)
    return (longer, MAX_PAST * longer) if longer > period else (period, delay)


def normalized(M: Array, K: Array, D: Array) -> tuple[Array, Array]:
    """A = L⁻¹ K L⁻ᵀ and B = L⁻¹ D L⁻ᵀ with M = L Lᵀ."""
    L = np.linalg.cholesky(M)

    def both_sides(X: Array) -> Array:
        half = np.linalg.solve(L, X).transpose(0, 2, 1)
        return np.asarray(np.linalg.solve(L, half).transpose(0, 2, 1))

    return both_sides(K), both_sides(D)


def group_radii(A: Array, B: Array, period: float, delay: float) -> Array:
    """(N,) of joints that are coupled."""
    if share_modes(A, B):
        # One mode after the other: both matrices are diagonal in the same coordinates.
        values, vectors = np.linalg.eigh(0.5 * (A + A.transpose(0, 2, 1)))
        rates = np.einsum("nij,nik,nkj->nj", vectors, B, vectors)
        modes = step_matrix(values.reshape(-1, 1, 1), rates.reshape(-1, 1, 1), period, delay)
        return np.asarray(radius(modes).reshape(values.shape).max(axis=1))
    return worst_radii(step_matrix(A, B, period, delay))


def worst_radii(step: Array) -> Array:
    """(N,) as `radius`; of large matrices only the worst ones, and zero for others."""
    if step.shape[-1] <= LARGE:
        return radius(step)
    # A power shows which poses are worth the time: what grows in it beyond bounds is unstable.
    power = step
    for _ in range(SQUARINGS):
        power = np.clip(power @ power, -1e100, 1e100)
    suspects = np.argsort(np.abs(power).max(axis=(1, 2)))[-SUSPECTS:]
    radii = np.zeros(len(step))
    radii[suspects] = radius(step[suspects])
    return radii


def share_modes(A: Array, B: Array) -> bool:
    """Whether A and B are symmetric and commute, at every pose."""
    if max(np.abs(A).max(), np.abs(B).max()) > HUGE:
        return False
    size = 1e-7 * (1e-300 + np.abs(A).max() * np.abs(B).max())
    symmetric = all(
        np.abs(X - X.transpose(0, 2, 1)).max() <= 1e-9 * np.abs(X).max() for X in (A, B)
    )
    return symmetric and bool(np.abs(A @ B - B @ A).max() <= size)


def radius(step: Array) -> Array:
    """(N,) largest sizes of eigenvalues; infinite where numbers are."""
    sizes = np.full(len(step), np.inf)
    finite = np.isfinite(step).all(axis=(1, 2))
    sizes[finite] = np.abs(np.linalg.eigvals(step[finite])).max(axis=-1)
    return sizes


def step_matrix(A: Array, B: Array, period: float, delay: float) -> Array:
    """(N, m, m) from one state to the next: of x, ẋ and the inputs that are still to act."""
    count, n = A.shape[:2]
    whole = math.floor(delay / period + 1e-9)
    late = max(0.0, delay - whole * period)  # s of this period in which an older input acts
    late = late if late > 1e-9 * period else 0.0
    past = whole + (1 if late else 0)
    step = np.zeros((count, (2 + past) * n, (2 + past) * n))
    one = np.eye(n)

    def block(i: int, j: int) -> Array:
        return step[:, i * n : (i + 1) * n, j * n : (j + 1) * n]

    def act(input_: int, on_x: float, on_v: float) -> None:
        """An input of so many periods ago moves x and ẋ."""
        if input_ == 0:
            for row, share in ((0, on_x), (1, on_v)):
                block(row, 0)[:] -= share * A
                block(row, 1)[:] -= share * B
        else:
            block(0, 1 + input_)[:] += on_x * one
            block(1, 1 + input_)[:] += on_v * one

    block(0, 0)[:], block(0, 1)[:], block(1, 1)[:] = one, period * one, one
    left = period - late
    act(whole, 0.5 * left**2, left)
    if late:
        act(whole + 1, period * late - 0.5 * late**2, late)
    if past:
        block(2, 0)[:], block(2, 1)[:] = -A, -B
    for k in range(1, past):
        block(2 + k, 1 + k)[:] = one
    return step
