"""Is a robot at rest stable under a law, in any pose? The law is a black box here.

What a law answers to a small step of each joint and of each speed is measured by differences,
K = −∂τ/∂q and D = −∂τ/∂v. With M and the gradient of gravity that is a linear system, which holds
each torque for a period and gets it some periods late; the eigenvalues of one period's step show
whether it comes to rest:

    δq̈ = M⁻¹ (δτ − ∂g/∂q δq),     δτ in period k + delay = −K δq_k − D δv_k

A robot that stands moves in the directions N that its contacts leave free. With the contacts'
Jacobian J, a basis N of its null space, forces f that balance weight and torque, and q = q₀ ⊕ N z

    Nᵀ M N z̈ + Nᵀ ∂/∂q (g − Jᵀ f) N z = Nᵀ δτ

f stays constant in world axes; its changes do no work along N.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from torqued.common.status import CLAMPED, NONFINITE, SOLVER
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.model.description import Array
from torqued.tools.demos.generalize_loop import PERIOD, hold
from torqued.tools.demos.generalize_stance import Leg, Stance, settle

#: rad and rad/s, of the differences.
STEP, SPEED_STEP = 1e-5, 1e-4
#: 1/s: slower growth is below what differences resolve (a joint that floats freely has none).
GROWTH = 0.1
#: A pose in which more than this share of a joint's effort is spent on its weight is not rested in.
HOLDABLE = 0.6
#: Nor is there an answer to speak of where weight alone takes this share.
STRAINED = 0.95
#: Random poses that are tried for each that is wanted.
TRIES = 20
#: Of stances. Share of the legs' length that is left when they are bent; rad, turn of the base;
#: share of the range of other joints; iterations to find one, and its largest error, m or rad.
BENT, TURN, RANGE = (0.78, 0.94), 0.15, 0.5
ITERATIONS, CLOSE = 40, 1e-3


@dataclass(frozen=True)
class Pose:
    """A configuration, and what an uncontrolled robot does there."""

    q: Array
    directions: Array  # (nv, n) in which it can move
    step: Array  # (2n, 2n) of positions and speeds along them in one period
    push: Array  # (2n, n) of forces along them that are held for it


@dataclass(frozen=True)
class Scan:
    """Of one law over all poses."""

    poses: int
    unstable: int
    cut: int  # poses whose weight takes all of a joint's effort: there is nothing left to answer
    refused: int  # poses in which the law gave no usable torque
    growth: float  # 1/s, of the worst pose; negative: how slowly it comes to rest
    worst: Array  # the least stable pose that can be held


def poses(robot: Robot, count: int, seed: int = 1) -> list[Pose]:
    """Random ones within limits that effort limits suffice to hold."""
    rng = np.random.default_rng(seed)
    found: list[Pose] = []
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        q = robot.random_state(rng)[0]
        if (np.abs(robot.gravity(q)) > STRAINED * robot.limits.effort).any():
            continue
        M_inverse = robot.solve_mass(q, np.eye(robot.nv))
        slope = differences(robot, q, robot.gravity)
        found.append(Pose(q, np.eye(robot.nv), *free_motion(M_inverse @ slope, M_inverse)))
    return found


def stances(robot: Robot, stance: Stance, count: int, seed: int = 1) -> list[Pose]:
    """Random stances that legs reach and other joints hold."""
    rng = np.random.default_rng(seed)
    free = sorted(set(range(6, robot.nv)) - {k for leg in stance.legs for k in leg.joints})
    found: list[Pose] = []
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        start = varied(robot, stance, rng)
        bent = rng.uniform(*BENT)
        held = np.abs(robot.gravity(start))[free] <= STRAINED * robot.limits.effort[free]
        if not held.all():
            continue
        q, off = settle(robot, stance.legs, start, stance.flat, bent, ITERATIONS)
        if off < CLOSE:
            found.append(linearized(robot, stance, q))
    return found


def varied(robot: Robot, stance: Stance, rng: np.random.Generator) -> Array:
    """The base turned, and joints other than legs anywhere in the middle of their range."""
    turn = np.zeros(robot.nv)
    turn[:3] = rng.uniform(-TURN, TURN, 3)
    q = robot.integrate(stance.q, turn, 1.0)
    other = robot.random_state(rng)[0]
    legs = {k for leg in stance.legs for k in leg.joints}
    for k in range(6, robot.nv):
        if k not in legs:
            q[k + 1] += RANGE * (other[k + 1] - q[k + 1])
    return q


def contact_rows(robot: Robot, legs: tuple[Leg, ...], flat: bool, q: Array) -> Array:
    """J (k, nv) of flat feet in six and of round ones in three directions, world axes."""
    rows = [robot.frame_jacobian(q, leg.frame) for leg in legs]
    return np.vstack(rows if flat else [J[3:] for J in rows])


def linearized(robot: Robot, stance: Stance, q: Array) -> Pose:
    J = contact_rows(robot, stance.legs, stance.flat, q)
    _, sizes, right = np.linalg.svd(J)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    N = right[rank:].T
    # Forces that balance the base; how they are shared out is up to the law, and matters little.
    f = np.linalg.lstsq(J.T[:6], robot.gravity(q)[:6], rcond=None)[0]

    def unbalanced(at: Array) -> Array:
        return robot.gravity(at) - contact_rows(robot, stance.legs, stance.flat, at).T @ f

    stiffness = N.T @ differences(robot, q, unbalanced, N)
    mass_inverse = np.linalg.inv(N.T @ robot.mass_matrix(q) @ N)
    return Pose(q, N, *free_motion(mass_inverse @ stiffness, mass_inverse))


def differences(
    robot: Robot, q: Array, function: Callable[[Array], Array], directions: Array | None = None
) -> Array:
    """∂f/∂q of a function of q by central differences, along all joints or the directions."""
    columns = []
    for turn in np.eye(robot.nv) if directions is None else directions.T:
        ahead, behind = robot.integrate(q, turn, STEP), robot.integrate(q, turn, -STEP)
        columns.append((function(ahead) - function(behind)) / (2 * STEP))
    return np.array(columns).T


def free_motion(X: Array, M_inverse: Array) -> tuple[Array, Array]:
    """δq̈ = −X δq + M⁻¹ u over a period: series of cos √X t, sin √X t / √X and its integral."""
    n, t = len(X), PERIOD
    term = np.eye(n)
    cosine, sine, integral = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    factor = 1.0
    for k in range(5):  # (√X t)¹⁰ / 10! is nothing
        cosine += factor * term
        sine += factor * t / (2 * k + 1) * term
        integral += factor * t * t / ((2 * k + 1) * (2 * k + 2)) * term
        factor *= t * t / ((2 * k + 1) * (2 * k + 2))
        term = -X @ term
    step = np.block([[cosine, sine], [-X @ sine, cosine]])
    return step, np.vstack([integral, sine]) @ M_inverse


def at_rest(controller: Controller, pose: Pose, frame: str) -> tuple[int, float]:
    """References are set to hold the pose. Status bits, and the largest share of an effort."""
    robot = controller.robot
    references = hold(controller, robot, frame, pose.q)
    bits = controller.evaluate(pose.q, np.zeros(robot.nv), 0.0, references)
    tau = controller.split(controller.data.out)["tau"]
    return bits, float((np.abs(tau) / robot.limits.effort).max())


def answer(controller: Controller, pose: Pose) -> Array:
    """(n, 2n) how forces change with positions and speeds around rest; references are set."""
    robot, N = controller.robot, pose.directions
    rest = np.zeros(robot.nv)

    def force(q: Array, v: Array) -> Array:
        controller.evaluate(q, v)
        along: Array = N.T @ controller.split(controller.data.out)["tau"]
        return along

    slope = differences(robot, pose.q, lambda q: force(q, rest), N)
    columns = [
        (force(pose.q, SPEED_STEP * v) - force(pose.q, -SPEED_STEP * v)) / (2 * SPEED_STEP)
        for v in N.T
    ]
    return np.hstack([slope, np.array(columns).T])


def growth_rate(pose: Pose, gain: Array, delay: int) -> float:
    """1/s, of the fastest growing or slowest decaying motion, with torques that come late."""
    n = len(gain)
    size = 2 * n + delay * n
    loop = np.zeros((size, size))
    loop[: 2 * n, : 2 * n] = pose.step
    if delay == 0:
        loop += pose.push @ gain
    else:
        loop[: 2 * n, 2 * n : 3 * n] = pose.push  # the oldest torque acts now
        for k in range(1, delay):
            loop[(k + 1) * n : (k + 2) * n, (k + 2) * n : (k + 3) * n] = np.eye(n)
        loop[size - n :, : 2 * n] = gain
    return float(np.log(np.abs(np.linalg.eigvals(loop)).max()) / PERIOD)


def scan(controller: Controller, frame: str, where: list[Pose], delay: int) -> Scan:
    """All poses."""
    unstable = cut = refused = 0
    growth, rested, worst = -np.inf, -np.inf, where[0].q
    for pose in where:
        bits, load = at_rest(controller, pose, frame)
        if bits & CLAMPED or load > STRAINED:
            cut += 1
            continue
        if bits & (SOLVER | NONFINITE):
            refused += 1
            continue
        rate = growth_rate(pose, answer(controller, pose), delay)
        unstable += rate > GROWTH
        growth = max(growth, rate)
        if load <= HOLDABLE and rate > rested:
            rested, worst = rate, pose.q
    return Scan(len(where), unstable, cut, refused, growth, worst)
