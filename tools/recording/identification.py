"""A payload, joint friction, rotor inertia and delay from a motion: least squares with errors.

    τ(t − d) − τ_model(q, v, a) = Y(q, v, a) π + b ∘ v + c ∘ sign(v) + J ∘ a

π are the ten parameters of what a frame carries beyond the model, b and c ≥ 0 each joint's viscous
and Coulomb friction, J ≥ 0 its rotor inertia; τ_model is without rotors. Joints are weighted by how
well they fit. The delay d is one more unknown: τ(t − d) ≈ τ(t − d₀) − (d − d₀) τ̇(t − d₀), solved
until d₀ = d.

Accelerations are differences of noisy velocities: least squares on single samples would find too
little inertia, and be sure of it. So the equation is averaged with smooth windows (its weak form,
∫ φ a dt = −∫ φ' v dt): what is left of the noise shifts the estimate by much less than its error.
Errors come from how the estimate changes without each stretch of the motion (the jackknife of
blocks, [Künsch, "The jackknife and the bootstrap for general stationary observations", 1989]),
which does not suppose that residuals are white or of one size; and from how it changes if states
belong to the beginnings of intervals instead of their middles.
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
    FLAT,
    NAMES,
    PULL,
    ball,
    likely,
    moved,
    possible_bodies,
    pseudo_inertia,
)
from torqued.tools.recording.samples import Samples
from torqued.tools.recording.solver_rows import velocity_names

Array = NDArray[np.float64]

#: s of a window that the equation is averaged over, and its samples at the least; windows overlap
#: by half. And s of a stretch that is left out, beyond which residuals are not related; a joint
#: has to move in so many of them.
WINDOW, MIN_SAMPLES, STRETCH, MIN_STRETCHES = 0.1, 5, 0.5, 4
#: s that torques may be late, and estimates until the delay has settled.
MAX_DELAY, MAX_PASSES = 0.05, 10
#: Of a joint's largest speed, and in rad/s or m/s: below it, which way it rubs is not certain.
SLOW, SLOWEST = 0.02, 0.01
#: What is a large change of each parameter: 1 kg, 0.1 kg m, 0.01 kg m²; 1 N m s/rad, 1 N m, and
#: 0.02 kg m² of a rotor; 5 ms.
TYPICAL = np.array([1.0, *[0.1] * 3, *[0.01] * 6])
TYPICAL_OF_JOINTS, TYPICAL_DELAY = (1.0, 1.0, 0.02), 5e-3
#: A direction is unclear where its error is above this part of a large change.
UNCLEAR = 0.5


@dataclass(frozen=True)
class Losses:
    """What a motion says of joints, and how well it is explained."""

    joints: list[str]
    viscous: Array  # (nv,)
    viscous_error: Array
    coulomb: Array
    coulomb_error: Array
    rotor: Array  # (nv,) kg m²: that of the model included
    rotor_error: Array
    rotor_known: Array  # (nv,) kg m²: found where that is clear, else the model's
    delay: float  # s from a state to the torque that was computed from it
    delay_error: float
    unclear: list[str]  # what the motion does not distinguish
    residual: Array  # (nv,) N m, RMS
    torque: Array  # (nv,) N m, RMS of what was to be explained
    samples: int


@dataclass(frozen=True)
class Identified(Losses):
    """Result of an identification of a payload."""

    frame: str
    p: Array  # (10,) in the frame's axes, at its origin
    p_error: Array  # (10,) standard errors
    covariance: Array  # (10, 10) of p
    constrained: bool  # whether the plain estimate was no possible body


def identify(
    samples: Samples, robot: Robot, frame: str, unloaded: Samples | None = None
) -> Identified:
    """The payload at a frame, all joints' friction and rotor inertia, and the delay of torques.

    With a recording of the arm without the payload, links may be wrong (`likely`): both recordings
    share these errors, so that the payload is what differs.
    """
    recorded = [(samples, frame), *([(unloaded, "")] if unloaded else [])]
    fit = Fit(recorded, robot, robot.inertial_parameters if unloaded else None)
    constrained = bool(np.linalg.eigvalsh(pseudo_inertia(TYPICAL * fit.x[:10])).min() <= 0.0)
    if constrained:
        own = ball(max(float(fit.x[0]), 0.05))
        root = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(own)))
        E = np.array([[root @ pseudo_inertia(unit) @ root.T for unit in np.diag(TYPICAL)]])
        pull = PULL * float(np.diag(fit.A)[:10].max())
        fit.x[:10] = own / TYPICAL
        fit.x, _ = possible_bodies(fit.A, fit.b, fit.x, slice(10), E, 0.0, pull, fit.losses)
    covariance = fit.covariance(fit.A)
    losses = fit.of_joints(covariance)
    words = unclear(fit.A, covariance, losses["joints"])
    return Identified(
        frame=frame,
        p=fit.x[:10] * TYPICAL,
        p_error=fit.errors(covariance)[:10],
        covariance=covariance[:10, :10] * np.outer(TYPICAL, TYPICAL),
        constrained=constrained,
        unclear=words,
        **losses,
    )


class Fit:
    """Least squares with recordings, each with the frame that carries what is sought, if any.

    `links`, π of all bodies as they are described, lets these be wrong.
    """

    def __init__(
        self, recorded: list[tuple[Samples, str]], robot: Robot, links: Array | None
    ) -> None:
        if robot.model.base != "fixed":
            raise InputError(
                f"{robot.name!r} has a floating base: contact forces were not recorded", "robot"
            )
        self.robot, self.recorded, self.links, n = robot, recorded, links, robot.nv
        self.equations = [Equations(s, robot, at, links) for s, at in recorded]
        require_motion(np.concatenate([each.W for each in self.equations]))
        self.size = self.equations[0].size
        self.losses, self.late = slice(10, 10 + 3 * n), 10 + 3 * n
        self.x, most = np.zeros(len(self.size)), MAX_DELAY / TYPICAL_DELAY
        for _ in range(MAX_PASSES):
            before = self.x[self.late]
            self.W, self.y = stacked(self.equations, before)
            self.A, self.b, self.weights = weighted(self.W, self.y, n)
            self.x = nonnegative_least_squares(self.A, self.b, self.losses)
            self.x[self.late] = np.clip(self.x[self.late], -most, most)
            if abs(self.x[self.late] - before) < 1e-4:
                break

    @property
    def residual(self) -> Array:
        return np.asarray(self.y - self.W @ self.x)

    def covariance(self, H: Array) -> Array:
        """Of x, where squares and what else is minimized have the Hessian H."""
        n, weights = self.robot.nv, self.weights
        rows = n * self.equations[0].stretch
        out = jackknife(self.W * weights[:, None], self.residual * weights, rows, H)
        # What no residual shows: states later or earlier than their stamps, by half a step.
        early = [
            Equations(s.at_the_beginning(self.robot), self.robot, at, self.links)
            for s, at in self.recorded
        ]
        other, free = normal(*stacked(early, self.x[self.late]), weights, n), slice(0)
        shift = nonnegative_least_squares(*other, free)
        shift -= nonnegative_least_squares(self.A, self.b, free)
        # What the motion does not tell is as uncertain as it was.
        left = np.linalg.pinv(H, rcond=FLAT**2, hermitian=True)[:, self.late :]
        return np.asarray(out + np.outer(shift, shift) + left @ left.T)

    def errors(self, covariance: Array) -> Array:
        """Standard errors, infinite where the motion leaves something open."""
        values, vectors = np.linalg.eigh(self.A)
        blind = np.abs(vectors[:, values <= FLAT**2 * values[-1]]).max(axis=1, initial=0.0) > 1e-3
        deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0)) * self.size
        return np.where(blind, np.inf, deviation)

    def of_joints(self, covariance: Array) -> dict[str, Any]:
        """Fields of `Losses`."""
        n, x, errors = self.robot.nv, self.x * self.size, self.errors(covariance)
        (viscous, coulomb, rotor), of = x[self.losses].reshape(3, n), errors[self.losses]
        viscous_error, coulomb_error, rotor_error = of.reshape(3, n)
        clear = is_seen(self.A)[self.losses][2 * n :]
        clear &= rotor_error <= UNCLEAR * np.maximum(TYPICAL_OF_JOINTS[2], rotor)
        return {
            "joints": velocity_names(self.robot),
            "viscous": viscous,
            "viscous_error": viscous_error,
            "coulomb": coulomb,
            "coulomb_error": coulomb_error,
            "rotor": rotor,
            "rotor_error": rotor_error,
            "rotor_known": np.where(clear, rotor, self.robot.limits.armature),
            "delay": float(x[self.late]),
            "delay_error": float(errors[self.late]),
            "residual": rms(self.residual, n),
            "torque": rms(self.y, n),
            "samples": sum(len(s.time) for s, _ in self.recorded),
        }


def stacked(equations: list[Equations], delay: float) -> tuple[Array, Array]:
    """W and y of several recordings; the delay is in units of x."""
    W, y = zip(*(each.with_delay(delay * TYPICAL_DELAY) for each in equations), strict=True)
    return np.concatenate(W), np.concatenate(y)


def rms(rows: Array, n: int) -> Array:
    """RMS (n,) by joint of the rows of windows in which it moves; each has three of x."""
    squares, count = (rows.reshape(-1, n) ** 2).sum(axis=0), (rows.reshape(-1, n) != 0).sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(1, count - 3)))


class Equations:
    """W x = y of a recording, averaged over windows; a joint that is slow in one has none there.

    x has the payload (zero without a frame), viscous and Coulomb friction, rotors, the delay and,
    where links may be wrong, their deviations from `likely`; all in units of `size`.
    """

    def __init__(self, samples: Samples, robot: Robot, frame: str, links: Array | None) -> None:
        of_frame = place_of(robot, frame)
        center, D = likely_links(np.zeros(0) if links is None else links)
        of_joints = np.repeat(TYPICAL_OF_JOINTS, robot.nv)
        self.size = np.concatenate([TYPICAL, of_joints, [TYPICAL_DELAY], np.ones(len(D))])
        n, time, v = robot.nv, samples.time, samples.v
        self.samples, self.step = samples, float(np.median(np.diff(time)))
        length = max(WINDOW, MIN_SAMPLES * self.step)
        self.stretch = max(1, round(2.0 * STRETCH / length))  # windows of one that is left out
        slow = np.abs(v) <= np.maximum(SLOWEST, SLOW * np.abs(v).max(axis=0))
        starts = np.arange(time[0], time[-1] - 0.99 * length, 0.5 * length)
        self.windows: list[tuple[slice, Array]] = []  # samples and their shares, Hann's
        for at in starts:
            part = slice(*np.searchsorted(time, [at, at + length]))
            share = 1.0 - np.cos(2.0 * np.pi * (time[part] - at) / length)
            self.windows.append((part, share / max(1e-12, float(share.sum()))))
        moves = np.array([~slow[part].any(axis=0) for part, _ in self.windows]).reshape(-1, n)
        # A joint that moves in few stretches would fit too well, and leaving one out says nothing.
        blocks = range(0, len(moves), self.stretch)
        stretches = sum(moves[k : k + self.stretch].any(axis=0) for k in blocks)
        self.moves = 1.0 * (moves & (stretches >= MIN_STRETCHES))
        rows, model = np.zeros((len(starts), n, len(self.size))), np.zeros((len(starts), n))
        for W, tau, (part, share) in zip(rows, model, self.windows, strict=True):
            Y, losses = np.zeros((n, len(of_frame))), np.zeros((3, n))
            for w, *state in zip(share, samples.q[part], v[part], samples.a[part], strict=True):
                Y += w * robot.regressor(*state)
                tau += w * robot.inverse_dynamics(*state)
                losses += w * np.array([state[1], np.sign(state[1]), state[2]])
            tau -= robot.limits.armature * losses[2]
            W[:, :10] = Y @ of_frame
            if links is not None:
                W[:, 11 + 3 * n :], tau[:] = Y @ D, tau + Y @ (center - links)
            W[:, 10 : 10 + 3 * n] = np.hstack([np.diag(row) for row in losses])
        self.W = (rows * self.moves[:, :, None]).reshape(-1, len(self.size)) * self.size
        self.model = (model * self.moves).ravel()

    def with_delay(self, delay: float) -> tuple[Array, Array]:
        """W and y where torques were felt about `delay` s after they were sent."""
        # A torque was held for a step: its mean over a delayed step is linear between samples.
        early, now, late = (self._torque(delay + k * self.step) for k in (0.5, 0.0, -0.5))
        rate = (late - early) / self.step
        W = self.W.copy()
        W[:, 10 + 3 * self.moves.shape[1]] = rate * TYPICAL_DELAY
        return W, now + delay * rate - self.model

    def _torque(self, delay: float) -> Array:
        time = self.samples.time
        tau = np.array([np.interp(time - delay, time, row) for row in self.samples.tau.T]).T
        means = np.array([share @ tau[part] for part, share in self.windows])
        return np.asarray(means * self.moves).ravel()


def place_of(robot: Robot, frame: str) -> Array:
    """(10 bodies, 10): parameters of bodies from those of what the frame carries."""
    out = np.zeros((len(robot.inertial_parameters), 10))
    if not frame:
        return out
    frames = {item.name: item for item in robot.model.frames}
    place = frames[known_name("frame", "frame", frame, frames)]
    if place.body < 0:
        raise InputError(
            f"frame {frame!r} does not move: its payload cannot be identified", "frame"
        )
    out[10 * place.body : 10 * place.body + 10] = moved(place.rotation, place.position)
    return out


def likely_links(p: Array) -> tuple[Array, Array]:
    """`likely` of all bodies together."""
    found, D = np.zeros(len(p)), np.zeros((len(p), len(p)))
    for k in range(0, len(p), 10):
        found[k : k + 10], D[k : k + 10, k : k + 10] = likely(p[k : k + 10])
    return found, D


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


def weighted(W: Array, y: Array, n: int) -> tuple[Array, Array, Array]:
    """Normal equations A x = b with joints weighted by how well they fit, and those weights."""
    weights = np.ones(len(y))
    for _ in range(3):
        A, b = normal(W, y, weights, n)
        x = np.linalg.lstsq(A, b, rcond=FLAT**2)[0]
        torque = rms(y, n)
        least = 1e-4 * (torque + torque.max() + 1e-9)  # a joint that fits exactly is not everything
        weights = np.tile(1.0 / np.maximum(rms(y - W @ x, n), least), len(y) // n)
    return *normal(W, y, weights, n), weights


def normal(W: Array, y: Array, weights: Array, n: int) -> tuple[Array, Array]:
    """Normal equations A x = b; the delay and errors of links are about one unit or less."""
    scaled = W * weights[:, None]
    prior = np.diag(1.0 * (np.arange(W.shape[1]) >= 10 + 3 * n))
    return scaled.T @ scaled + prior, scaled.T @ (weights * y)


def is_seen(A: Array) -> NDArray[np.bool_]:
    """Which of x move the torques at all, with the normal equations A."""
    return np.asarray(np.diag(A) > FLAT**2 * np.diag(A).max())


def nonnegative_least_squares(A: Array, b: Array, which: slice) -> Array:
    """x of A x = b where some of x are not negative: those that would be are set to zero."""
    free = np.ones(len(b), bool)
    while True:
        x = np.zeros(len(b))
        x[free] = np.linalg.lstsq(A[np.ix_(free, free)], b[free], rcond=FLAT**2)[0]
        if not (negative := np.flatnonzero(x[which] < 0.0) + (which.start or 0)).size:
            return x
        free[negative] = False


def jackknife(W: Array, error: Array, rows: int, A: Array) -> Array:
    """Covariance of x from what it would be without each block of so many rows, of W x = y + error.

    With A_g and s_g = W_gᵀ e_g of a block, x would change by −(A − A_g)⁻¹ s_g.
    """
    starts = range(0, len(W), rows)
    change = np.zeros((len(starts), len(A)))
    for g, start in enumerate(starts):
        block, e = W[start : start + rows], error[start : start + rows]
        change[g] = np.linalg.pinv(A - block.T @ block, rcond=FLAT**2, hermitian=True) @ block.T @ e
    count = max(2, len(starts))
    return np.asarray((count - 1) / count * (change.T @ change))


def unclear(A: Array, covariance: Array, joints: list[str]) -> list[str]:
    """Directions of x that the motion says little or nothing about, in words."""
    losses = (f"{of} {j}" for of in ("viscous", "Coulomb", "rotor") for j in joints)
    names = [*NAMES, *losses, "delay"]
    own, rest = slice(len(names)), slice(len(names), None)
    information = A[own, own] - A[own, rest] @ np.linalg.pinv(A[rest, rest]) @ A[rest, own]
    least = FLAT**2 * float(np.diag(A).max())
    seen = is_seen(A)[own]
    out = [f"{name} by itself" for name, some in zip(names[:10], seen, strict=False) if not some]
    still = [joint for joint, some in zip(joints, seen[10:], strict=False) if not some]
    if still:
        out.append(f"friction and rotor of {', '.join(still)}, which did not move")
    rotors = seen[10 + 2 * len(joints) :]
    steady = [joint for joint, some in zip(joints, rotors, strict=False) if not some]
    if steady := [joint for joint in steady if joint not in still]:
        out.append(f"rotor of {', '.join(steady)}, which did not accelerate")
    values, vectors = np.linalg.eigh(information[np.ix_(seen, seen)])
    scaled = covariance[own, own][np.ix_(seen, seen)]
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
