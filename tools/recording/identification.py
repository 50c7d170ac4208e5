"""A payload, joint friction and rotor inertia from a motion, by the regressor: least squares with
errors.

    τ − τ_model(q, v, a) = Y(q, v, a) π + b ∘ v + c ∘ sign(v) + J ∘ a

π are the ten parameters of what a frame carries beyond the model, b and c ≥ 0 each joint's viscous
and Coulomb friction, J ≥ 0 its rotor inertia; τ_model is without rotors. Joints are weighted by how
well they fit.

Accelerations are differences of noisy velocities, and they are in the regressor: least squares on
single samples would find too little inertia, and be sure of it. So the equation is averaged with
smooth windows (its weak form, ∫ φ a dt = −∫ φ' v dt): what is left of the noise shifts the estimate
by much less than its error. Errors come from how the estimate changes without each stretch of the
motion (the jackknife of blocks, [Künsch, "The jackknife and the bootstrap for general stationary
observations", 1989]): it supposes neither that residuals are white nor that they are of one size,
and knows that slow ones were in part explained away by so many parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.input_checks import known_name
from torqued.tools.recording.pseudo_inertia import (
    NAMES,
    factor,
    moved,
    parameters,
    pseudo_inertia,
    unfactor,
)
from torqued.tools.recording.samples import Samples
from torqued.tools.recording.solver_rows import velocity_names

Array = NDArray[np.float64]

#: s of a window that the equation is averaged over, and its samples at the least; windows overlap
#: by half. And s of a stretch that is left out, beyond which residuals are not related.
WINDOW, MIN_SAMPLES, STRETCH = 0.1, 5, 0.5
#: Of a joint's largest speed, and in rad/s or m/s: below it, which way it rubs is not certain.
SLOW, SLOWEST = 0.02, 0.01
#: What is a large change of each parameter: 1 kg, 0.1 kg m, 0.01 kg m²; 1 N m s/rad, 1 N m, and
#: 0.02 kg m² of a rotor.
TYPICAL = np.array([1.0, *[0.1] * 3, *[0.01] * 6])
TYPICAL_OF_JOINTS = (1.0, 1.0, 0.02)
#: A direction is unclear where its error is above this part of a large change, or where it moves
#: the torques by this little beside the clearest one.
UNCLEAR, FLAT = 0.5, 1e-6
#: kg/m³ of the ball that stands in for what could not be seen; and how little it weighs.
DENSITY, PULL = 1000.0, 1e-9


@dataclass(frozen=True)
class Identified:
    """Result of an identification."""

    frame: str
    p: Array  # (10,) in the frame's axes, at its origin
    p_error: Array  # (10,) standard errors
    covariance: Array  # (10, 10) of p
    joints: list[str]
    viscous: Array  # (nv,)
    viscous_error: Array
    coulomb: Array
    coulomb_error: Array
    rotor: Array  # (nv,) kg m²: that of the model included
    rotor_error: Array
    rotor_known: Array  # (nv,) kg m²: found where that is clear, else the model's
    unclear: list[str]  # what the motion does not distinguish
    residual: Array  # (nv,) N m, RMS
    torque: Array  # (nv,) N m, RMS of what was to be explained
    constrained: bool  # whether the plain estimate was no possible body
    samples: int


def identify(samples: Samples, robot: Robot, frame: str) -> Identified:
    """The payload at a frame, and all joints' friction and rotor inertia."""
    if robot.model.base != "fixed":
        raise InputError(
            f"{robot.name!r} has a floating base: contact forces were not recorded", "robot"
        )
    W, y, hop = equations(samples, robot, frame)
    require_motion(W)
    n = robot.nv
    A, b, weights = weighted(W, y, n)
    x = nonnegative_least_squares(A, b, np.arange(10, 10 + 3 * n))
    plain = x[:10]
    constrained = bool(np.linalg.eigvalsh(pseudo_inertia(plain)).min() <= 0.0)
    if constrained:
        x = possible_body(A, b, x)
    error = (y - W @ x) * weights
    covariance = jackknife(W * weights[:, None], error, n * round(STRETCH / hop), A)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    joints = velocity_names(robot)
    residual = y - W @ x
    rows = residual.reshape(-1, n)
    (viscous, coulomb, rotor), errors = x[10:].reshape(3, n), deviation[10:].reshape(3, n)
    seen = is_seen(A)[10 + 2 * n :]
    clear = seen & (errors[2] <= UNCLEAR * np.maximum(TYPICAL_OF_JOINTS[2], rotor))
    return Identified(
        frame=frame,
        p=x[:10],
        p_error=deviation[:10],
        covariance=covariance[:10, :10],
        joints=joints,
        viscous=viscous,
        viscous_error=errors[0],
        coulomb=coulomb,
        coulomb_error=errors[1],
        rotor=rotor,
        rotor_error=errors[2],
        rotor_known=np.where(clear, rotor, robot.limits.armature),
        unclear=unclear(A, covariance, joints),
        residual=np.sqrt((rows**2).mean(axis=0)),
        torque=np.sqrt((y.reshape(-1, n) ** 2).mean(axis=0)),
        constrained=constrained,
        samples=len(samples.time),
    )


def equations(samples: Samples, robot: Robot, frame: str) -> tuple[Array, Array, float]:
    """W x = y, averaged over windows: (N nv, 10 + 3 nv), (N nv,), and s from one to the next."""
    frames = {item.name: item for item in robot.model.frames}
    place = frames[known_name("frame", "frame", frame, frames)]
    if place.body < 0:
        raise InputError(
            f"frame {frame!r} does not move: its payload cannot be identified", "frame"
        )
    T = moved(place.rotation, place.position)
    columns = slice(10 * place.body, 10 * place.body + 10)
    n, count = robot.nv, len(samples.time)
    W, y = np.zeros((count, n, 10 + 3 * n)), np.zeros((count, n))
    slow = np.maximum(SLOWEST, SLOW * np.abs(samples.v).max(axis=0))
    for k in range(count):
        q, v, a = samples.q[k], samples.v[k], samples.a[k]
        W[k, :, :10] = robot.regressor(q, v, a)[:, columns] @ T
        W[k, :, 10 : 10 + n] = np.diag(v)
        W[k, :, 10 + n : 10 + 2 * n] = np.diag(np.sign(v))
        W[k, :, 10 + 2 * n :] = np.diag(a)
        y[k] = samples.tau[k] - robot.inverse_dynamics(q, v, a) + robot.limits.armature * a
    return averaged(W, y, np.abs(samples.v) <= slow, samples.time)


def require_motion(W: Array) -> None:
    """Refuse a recording with fewer equations of moving joints than unknowns."""
    equations = int(np.count_nonzero(W.any(axis=1)))
    unknowns = max(len(TYPICAL), int(np.count_nonzero(W.any(axis=0))))
    if equations < unknowns:
        raise InputError(
            f"the recording has too little motion: {equations} equations for {unknowns} unknowns; "
            f"a joint counts in windows of {WINDOW:g} s in which it is faster than {SLOWEST:g} "
            "rad/s or m/s throughout"
        )


def averaged(
    W: Array, y: Array, still: NDArray[np.bool_], time: Array
) -> tuple[Array, Array, float]:
    """Equations of samples (N, n, …) as those of windows; a joint that is slow in one is not."""
    length = max(WINDOW, MIN_SAMPLES * float(np.median(np.diff(time))))
    hop = 0.5 * length
    rows, sides = [], []
    for start in np.arange(time[0], time[-1] - 0.99 * length, hop):
        inside = slice(*np.searchsorted(time, [start, start + length]))
        share = 1.0 - np.cos(2.0 * np.pi * (time[inside] - start) / length)  # Hann's
        share /= max(1e-12, float(share.sum()))
        moves: NDArray[np.bool_] = np.asarray(~still[inside].any(axis=0))
        rows.append(np.tensordot(share, W[inside], 1) * moves[:, None])
        sides.append(share @ y[inside] * moves)
    return np.concatenate(rows), np.concatenate(sides), hop


def weighted(W: Array, y: Array, n: int) -> tuple[Array, Array, Array]:
    """Normal equations A x = b with joints weighted by how well they fit, and those weights."""
    weights = np.ones(len(y))
    for _ in range(3):
        scaled = W * weights[:, None]
        A, b = scaled.T @ scaled, scaled.T @ (weights * y)
        size = sizes(len(b))
        x = size * np.linalg.lstsq(A * size[:, None] * size, size * b, rcond=FLAT**2)[0]
        rms = np.sqrt(((y - W @ x).reshape(-1, n) ** 2).mean(axis=0))
        torque = np.sqrt((y.reshape(-1, n) ** 2).mean(axis=0))
        least = 1e-6 * (torque + torque.max() + 1e-9)  # a joint that fits exactly is not everything
        weights = np.tile(1.0 / np.maximum(rms, least), len(y) // n)
    scaled = W * weights[:, None]
    return scaled.T @ scaled, scaled.T @ (weights * y), weights


def sizes(count: int) -> Array:
    """What is a large change of each of x: with these as units, small means small."""
    return np.concatenate([TYPICAL, np.repeat(TYPICAL_OF_JOINTS, (count - len(TYPICAL)) // 3)])


def is_seen(A: Array) -> NDArray[np.bool_]:
    """Which of x move the torques at all, with the normal equations A."""
    information = np.diag(A) * sizes(len(A)) ** 2
    return np.asarray(information > FLAT**2 * information.max())


def nonnegative_least_squares(A: Array, b: Array, which: NDArray[np.int64]) -> Array:
    """x of A x = b where some of x are not negative: those that would be are set to zero."""
    free = np.ones(len(b), bool)
    while True:
        x = np.zeros(len(b))
        size = sizes(len(b))[free]
        scaled = A[np.ix_(free, free)] * size[:, None] * size[None, :]
        x[free] = size * np.linalg.lstsq(scaled, size * b[free], rcond=FLAT**2)[0]
        negative = [k for k in which if x[k] < 0.0]
        if not negative:
            return x
        free[negative] = False


def possible_body(A: Array, b: Array, x: Array) -> Array:
    """The best π that some body can have, and the friction and rotors that go with it.

    Those are eliminated from the normal equations; π = π(θ) runs over possible bodies only, and
    a solid ball draws it, very gently, where the motion says nothing. Levenberg-Marquardt.
    """
    rubs = 10 + np.flatnonzero(x[10:] > 0.0)
    inverse = np.linalg.pinv(A[np.ix_(rubs, rubs)])
    cross = A[:10, rubs] @ inverse
    A_p = A[:10, :10] - cross @ A[rubs, :10]
    b_p = b[:10] - cross @ b[rubs]
    values, vectors = np.linalg.eigh(0.5 * (A_p + A_p.T) * TYPICAL[:, None] * TYPICAL)
    kept = values > FLAT**2 * values.max()  # the rest is rounding
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    S = root[:, None] * vectors.T / TYPICAL
    target = (vectors.T @ (TYPICAL * b_p)) / root
    prior = unfactor(pseudo_inertia(ball(max(float(x[0]), 0.05))))
    pull = np.sqrt(PULL * max(float(values.max()), 1e-300))
    theta, damping = prior.copy(), 1e-3

    def residual(theta: Array) -> Array:
        return np.concatenate([S @ parameters(factor(theta)) - target, pull * (theta - prior)])

    r = residual(theta)
    for _ in range(300):
        steps = 1e-6 * np.eye(10)
        columns = [(residual(theta + s) - residual(theta - s)) / 2e-6 for s in steps]
        D = np.array(columns).T
        H = D.T @ D
        change = np.linalg.solve(H + damping * np.diag(np.diag(H)), -D.T @ r)
        tried = residual(theta + np.clip(change, -1.0, 1.0))
        if tried @ tried < r @ r:
            theta, r, damping = theta + np.clip(change, -1.0, 1.0), tried, 0.3 * damping
            if np.abs(change).max() < 1e-9:
                break
        else:
            damping *= 4.0
            if damping > 1e12:
                break
    out = np.zeros(len(x))
    out[:10] = parameters(factor(theta))
    out[rubs] = np.maximum(0.0, inverse @ (b[rubs] - A[rubs, :10] @ out[:10]))
    return out


def ball(mass: float) -> Array:
    """π of a solid ball as dense as water, at the origin."""
    radius = (3.0 * mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    moment = 0.4 * mass * radius**2
    return np.array([mass, 0, 0, 0, moment, 0, 0, moment, 0, moment])


def jackknife(W: Array, error: Array, rows: int, A: Array) -> Array:
    """Covariance of x from what it would be without each block of so many rows, of W x = y + error.

    With A_g and s_g = W_gᵀ e_g of a block, x would change by −(A − A_g)⁻¹ s_g.
    """
    scale = sizes(len(A))
    W, A = W * scale, A * scale[:, None] * scale
    starts = range(0, len(W), rows)
    change = np.zeros((len(starts), len(A)))
    for g, start in enumerate(starts):
        block, e = W[start : start + rows], error[start : start + rows]
        change[g] = np.linalg.pinv(A - block.T @ block, rcond=FLAT**2, hermitian=True) @ block.T @ e
    count = max(2, len(starts))
    whole: Array = (count - 1) / count * (scale[:, None] * (change.T @ change) * scale)
    return whole


def unclear(A: Array, covariance: Array, joints: list[str]) -> list[str]:
    """Directions of x that the motion says little or nothing about, in words."""
    names = [*NAMES, *(f"{of} {j}" for of in ("viscous", "Coulomb", "rotor") for j in joints)]
    size = sizes(len(A))
    information = A * size[:, None] * size[None, :]
    least = FLAT**2 * float(np.diag(information).max())
    seen = is_seen(A)
    out = [f"{name} by itself" for name, some in zip(names[:10], seen, strict=False) if not some]
    still = [joint for joint, some in zip(joints, seen[10:], strict=False) if not some]
    if still:
        out.append(f"friction and rotor of {', '.join(still)}, which did not move")
    steady = [joint for joint, some in zip(joints, seen[-len(joints) :], strict=True) if not some]
    if steady := [joint for joint in steady if joint not in still]:
        out.append(f"rotor of {', '.join(steady)}, which did not accelerate")
    values, vectors = np.linalg.eigh(information[np.ix_(seen, seen)])
    scaled = (covariance / size[:, None] / size[None, :])[np.ix_(seen, seen)]
    kept = [name for name, some in zip(names, seen, strict=True) if some]
    for value, vector in zip(values, vectors.T, strict=True):
        deviation = float(np.sqrt(max(0.0, vector @ scaled @ vector)))
        if value <= least or deviation > UNCLEAR:
            said = "" if value <= least else f" (to ± {deviation:.2g})"
            out.append(in_words(vector, kept) + said)
    return out


def in_words(vector: Array, names: list[str]) -> str:
    """A direction by its large parts; `m + 0.4 Ixx` moves both at once."""
    vector = vector / vector[np.argmax(np.abs(vector))]
    parts: list[Any] = sorted(
        ((abs(x), x, name) for x, name in zip(vector, names, strict=True) if abs(x) > 0.2),
        reverse=True,
    )
    if len(parts) == 1:
        return f"{parts[0][2]} by itself"
    said = " ".join(f"{'+' if x > 0 else '-'} {size:.1f} {name}" for size, x, name in parts)
    return f"{said.removeprefix('+ ')} together, each in large units"
