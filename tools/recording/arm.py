"""All links of an arm from its motions, with friction, rotors and delay.

Links are as their file says, up to `likely` deviations; the data say more about some directions,
and nothing about others, which stay as they are. What is minimized is least squares (as in
identification.py) and, for each link, the entropic divergence from the file's: convex, and bodies
can have whatever it finds.

Torques show base parameters only: sums of parameters, one for each column of the regressor, rotors
included, that is independent of the columns before it [Gautier, "Numerical calculation of the base
inertial parameters of robots", 1990].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.tools.recording.identification import (
    TYPICAL_OF_JOINTS,
    UNCLEAR,
    Array,
    Fit,
    Losses,
    likely_links,
    normal,
    rms,
)
from torqued.tools.recording.pseudo_inertia import (
    LINKS,
    NAMES,
    UNITS,
    as_load,
    moved,
    possible_bodies,
)
from torqued.tools.recording.samples import Samples
from torqued.tools.recording.solver_rows import velocity_names

#: States that base parameters are found at; a column is independent beyond this part of itself.
STATES, INDEPENDENT = 100, 1e-7
#: Of a link, which of its parameters a base parameter is called after, if possible: of those that
#: come later, joints before it feel the same. The z axis is the joint's.
ORDER = (1, 2, 4, 5, 6, 8, 9, 7, 3, 0)
#: Share of each recording from which the rest is predicted.
KEPT = 0.75


@dataclass(frozen=True)
class Arm(Losses):
    """Result of an identification of an arm."""

    links: list[dict[str, Any]]  # frame, mass, center, inertia: tables of a configuration
    names: list[str]  # of base parameters
    sums: Array  # (base, nv + 10 bodies): base parameters of rotors and inertial parameters
    base_file: Array  # (base,): of the description
    base: Array
    base_error: Array
    held_out: Array  # (nv,) N m, RMS torque of the part that was predicted
    held_out_file: Array  # its error with the description, its friction and rotors
    held_out_found: Array  # with what the rest of the motion says


def identify_arm(samples: list[Samples], robot: Robot, bare: Robot) -> Arm:
    """Everything of an arm; `bare` is the robot without tool and payload, which stay as given."""
    if robot.tree.follows:
        raise InputError(f"{robot.name!r} has mimic joints: use a configuration that locks them")
    n, described, limits = robot.nv, bare.inertial_parameters, robot.limits
    fit = Fit([(each, "") for each in samples], robot, described)
    center, D = likely_links(described)
    of_links, rotors = slice(11 + 3 * n, None), slice(10 + 2 * n, 10 + 3 * n)
    fit.x, H = entropic(fit, np.ones(len(fit.y), bool))
    covariance = fit.covariance(H)
    known = 1.0 * robot.model.friction_measured
    file = fit.x.copy()
    file[fit.losses] = np.concatenate(
        [known * limits.damping, known * limits.friction, limits.armature]
    )
    file[fit.losses] /= fit.size[fit.losses]
    file[of_links] = np.linalg.lstsq(D, described - center, rcond=None)[0]
    joints = fit.of_joints(covariance)
    still = np.flatnonzero(np.isinf(joints["rotor_error"]))
    fit.x[rotors][still] = file[rotors][still]
    # A fit to the first part of each recording, and what it makes of the rest.
    windows = (np.arange(len(e.W)) // n >= KEPT * len(e.moves) for e in fit.equations)
    test = np.concatenate(list(windows))
    errors = [fit.y - fit.W @ x for x in (entropic(fit, ~test)[0], file)]
    tau = fit.y + np.concatenate([e.model for e in fit.equations])
    found, before, torque = (rms(rows[test], n) for rows in (*errors, tau))
    # From x to rotors and parameters of bodies, and to their sums.
    names, sums = base_parameters(robot)
    S = np.zeros((n + len(center), len(fit.x)))
    S[:n, rotors], S[n:, of_links] = TYPICAL_OF_JOINTS[2] * np.eye(n), D
    S, offset = sums @ S, sums[:, n:] @ center
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", S, covariance, S), 0.0))
    error[S[:, rotors][:, still].any(axis=1)] = np.inf
    base, likely = S @ fit.x + offset, np.linalg.norm(S, axis=1)
    unclear = [f"friction and rotor of {joints['joints'][k]}, which did not move" for k in still]
    unclear += [
        f"{name}, to ± {e:.2g}"
        for name, value, e, most in zip(names, base, error, likely, strict=True)
        if e > UNCLEAR * max(most, abs(value))
    ]
    return Arm(
        links=tables(bare, center + D @ fit.x[of_links]),
        names=names,
        sums=sums,
        base_file=S @ file + offset,
        base=base,
        base_error=error,
        held_out=torque,
        held_out_file=before,
        held_out_found=found,
        unclear=unclear,
        **joints | dict.fromkeys(("rotor", "rotor_known"), fit.x[rotors] * TYPICAL_OF_JOINTS[2]),
    )


def entropic(fit: Fit, rows: Any) -> tuple[Array, Array]:
    """x from some of the equations, and the Hessian there."""
    A, b = normal(fit.W[rows], fit.y[rows], fit.weights[rows], fit.robot.nv)
    start, links = fit.x.copy(), slice(11 + 3 * fit.robot.nv, len(fit.x))
    A[links, links] -= np.eye(len(start[links]))  # the divergence is in its place
    start[links] = 0.0
    E = np.tile(LINKS * UNITS, (len(fit.robot.model.bodies), 1, 1, 1))
    return possible_bodies(A, b, start, links, E, 1.0, 1.0 / LINKS**2, fit.losses)


def base_parameters(robot: Robot) -> tuple[list[str], Array]:
    """Names, and (base, nv + 10 bodies): sums of rotors and inertial parameters."""
    n, rng, rows = robot.nv, np.random.default_rng(0), []
    for _ in range(STATES):
        state, a = robot.random_state(rng), rng.normal(size=n)
        rows.append(np.hstack([np.diag(a), robot.regressor(*state, a)]))
    Y, bodies = np.concatenate(rows), range(len(robot.model.bodies))
    order = [*range(n), *(n + 10 * k + i for k in bodies for i in ORDER)]
    size = np.linalg.norm(Y[:, order], axis=0)
    R = np.linalg.qr(Y[:, order] / np.maximum(size, 1e-300), mode="r")
    shows = size > INDEPENDENT * size.max()
    lead = np.array(order)[(np.abs(np.diag(R)) > INDEPENDENT) & shows]
    sums = np.asarray(np.linalg.lstsq(Y[:, lead], Y, rcond=None)[0], np.float64)
    sums[np.abs(sums) < INDEPENDENT] = 0.0
    of = [f"{joint} rotor" for joint in velocity_names(robot)]
    of += [f"{frame_of(robot, k)} {name}" for k in bodies for name in NAMES]
    more = np.count_nonzero(sums, axis=1) > 1
    return [of[k] + " …" * bool(some) for k, some in zip(lead, more, strict=True)], sums


def frame_of(robot: Robot, body: int) -> str:
    """Name of the link that a body is, or of its first link."""
    return next((f.name for f in robot.model.frames if f.body == body), f"body {body}")


def tables(robot: Robot, p: Array) -> list[dict[str, Any]]:
    """π of all bodies as tables of a configuration; those without mass are left out."""
    frames, out = {frame.name: frame for frame in robot.model.frames}, []
    for k, body in enumerate(p.reshape(-1, 10)):
        if body[0] > 0.0:
            place = frames[frame_of(robot, k)]
            own = np.linalg.solve(moved(place.rotation, place.position), body)
            load = zip(("mass", "center", "inertia"), as_load(np.asarray(own, float)), strict=True)
            out.append({"frame": place.name, **dict(load)})
    return out
