"""A motion that shows an arm's inertial parameters: a Fourier series for each joint.

    q(t) = q₀ + Σ_k A_k sin k ω t + B_k cos k ω t,   Σ k A_k = Σ B_k = Σ k² B_k = 0

starts and ends in q₀ at rest and can be repeated. A random search minimizes the condition number of
the regressor of all that `torqued identify --arm` looks for, base parameters of links with rotors
and friction, with torques in shares of effort limits [Swevers et al., "Optimal robot excitation and
identification", 1997]. It knows of neither self-collision nor surroundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.input_checks import numbers
from torqued.tools.recording.identification import (
    TYPICAL_OF_JOINTS,
    Array,
    likely_links,
)

#: Harmonics, points of a period that are looked at, motions that are tried, and variations.
HARMONICS, POINTS, TRIED, VARIED = 5, 80, 40, 400
#: Share of its range that stays free at each end; rad/s without a limit; peaks between points.
MARGIN, DEFAULT_SPEED, PEAK = 0.1, 1.0, 1.02


def least_clearance(robot: Robot, q: Array) -> float:
    """m between capsules of the robot; infinite without any."""
    return robot.clearances(q)[0].distance if robot.model.capsules else np.inf


def series(time: Array, seconds: float) -> Array:
    """(3, N, 2 HARMONICS − 3): functions of time at rest at both ends, with both derivatives."""
    k = np.arange(1.0, HARMONICS + 1.0)
    sines = np.linalg.qr(k[:, None], mode="complete")[0][:, 1:]
    cosines = np.linalg.qr(np.stack([k**0, k**2], axis=1), mode="complete")[0][:, 2:]
    w = 2.0 * np.pi * k / seconds
    turn = [w**d * np.exp(1j * (np.outer(time, w) + 0.5 * np.pi * d)) for d in range(3)]
    return np.array([np.hstack([x.imag @ sines, x.real @ cosines]) for x in turn])


def excitation(
    robot: Robot, start: Any, seconds: float, span: float, share: float, rate: float, seed: int = 0
) -> dict[str, Array]:
    """A motion from `start` (nq,; None: the middle of position limits), at most `span` rad or m
    away, within a share of speed and effort limits: `time` (N,) s, `q`, `v` and `a` (N, nv) of one
    period, the largest shares `speed` and `effort` (nv,), and the `condition` number."""
    if robot.model.base != "fixed" or robot.nq != robot.nv:
        raise InputError(f"{robot.name!r}: expected a fixed base and joints of one coordinate each")
    limits, names, rng = robot.limits, robot.joint_names, np.random.default_rng(seed)
    bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    lower, upper = np.where(bounded, (limits.lower, limits.upper), [[-1e3], [1e3]])
    q0 = 0.5 * (lower + upper) if start is None else numbers("start", start, (robot.nq,))
    room = np.minimum(q0 - lower, upper - q0) - MARGIN * (upper - lower) * bounded
    if room.min() <= 0.0:
        near = f"{names[int(room.argmin())]!r} is within {MARGIN:.0%} of its range of a limit"
        raise InputError(f"start: joint {near}", "start", q0.tolist())
    if least_clearance(robot, q0) <= 0.0:
        pair = robot.clearances(q0)[0]
        overlap = f"capsules of {pair.frame!r} and {pair.other!r} overlap"
        raise InputError(f"start: {overlap} by {-pair.distance:.3g} m", "start", q0.tolist())
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, DEFAULT_SPEED / share)
    effort = np.where(np.isfinite(limits.effort), limits.effort, 1.0)
    p = robot.inertial_parameters
    D = likely_links(p)[1]
    times = np.linspace(0.0, seconds, POINTS, endpoint=False)
    coarse, held = series(times, seconds), np.stack([q0, 0.0 * q0, 0.0 * q0])[:, None]

    def regressor(q: Array, v: Array, a: Array) -> Array:
        """Of torques in shares of effort, by links, and friction and rotors of joints."""
        losses = zip(TYPICAL_OF_JOINTS, (v, np.sign(v), a), strict=True)
        own = [np.diag(size * x / effort) for size, x in losses]
        return np.hstack([robot.regressor(q, v, a) / effort[:, None], *own])

    anywhere = ((*robot.random_state(rng), rng.normal(size=robot.nv)) for _ in range(2 * POINTS))
    Y = np.concatenate([regressor(*state) for state in anywhere])
    scale = np.eye(Y.shape[1])
    scale[: len(p), : len(p)] = D
    values, base = np.linalg.svd(Y @ scale, full_matrices=False)[1:]
    base = scale @ base[values > 1e-7 * values[0]].T  # what any motion can tell apart

    def judged(z: Array) -> tuple[float, Array, Array]:
        """Condition number of coefficients (nv, …), these within limits, and shares of effort."""
        q, v, _ = np.abs(coarse @ z.T).max(axis=1) * PEAK
        z = z * np.minimum(np.minimum(room, span) / q, share * speed / v)[:, None]
        while np.abs(z).max() > 1e-3:
            states = coarse @ z.T + held
            Y = np.array([regressor(*state) for state in np.moveaxis(states, 0, 1)])
            tau = Y[:, :, : len(p)] @ p + limits.armature * states[2] / effort
            tau = np.abs(tau).max(axis=0) * PEAK
            tau = np.where(np.isfinite(limits.effort), tau, 0.0)
            if tau.max() <= share and all(least_clearance(robot, q) > 0.0 for q in states[0]):
                seen = (Y @ base).reshape(-1, base.shape[1])
                values = np.linalg.eigvalsh(seen.T @ seen)  # their roots are singular values
                return float(np.sqrt(values[-1] / max(values[0], 1e-15 * values[-1]))), z, tau
            z = 0.8 * z
        heavy = f"{names[int(tau.argmax())]!r} has {tau.max():.2g} of its effort limit at rest"
        raise InputError(f"start: joint {heavy}, expected at most {share:g}", "start", q0.tolist())

    best = judged(rng.normal(size=(robot.nv, coarse.shape[2])))
    for k in range(TRIED + VARIED):
        change = rng.normal(size=best[1].shape)
        some = rng.random((robot.nv, 1)) < 0.4  # other joints go on as they do
        size = 0.6 * rng.random() * np.abs(best[1]).mean(axis=1, keepdims=True)
        near = best[1] + size * some * change
        best = min(best, judged(change if k < TRIED else near), key=lambda found: found[0])
    time = np.arange(round(seconds * rate) + 1) / rate
    q, v, a = series(time, seconds) @ best[1].T
    used = {"speed": np.abs(v).max(axis=0) / speed, "effort": best[2]}
    return {"time": time, "q": q0 + q, "v": v, "a": a, "condition": np.array(best[0]), **used}
