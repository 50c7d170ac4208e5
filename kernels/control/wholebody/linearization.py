"""Whole-body control and balancing at rest on their contacts: what their gains are judged by.

Contacts leave directions Z free, δq = Z z. Where neither friction nor limits bind, `wholebody` asks
for the accelerations that its tasks want in the least squares, and balancing for forces that are
springs and dampers:

    Zᵀ M Z z̈ = −K z − D ż,   from   H a = −(Σ w k JᵀJ) δq − (Σ w d JᵀJ) δv     (wholebody)
                             or     τ = −(J_p − J_c)ᵀ δf − posture             (balance)

Forces that bear the weight turn with the robot; that is left out, as gravity is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.kernels.control.law import Array, Gains
from torqued.kernels.control.poses import Poses, poses_of
from torqued.kernels.control.wholebody.held_inertia import around_neutral
from torqued.kernels.control.wholebody.tasks import COM, FRAME_TASK, MOMENTUM, ORIENTATION, POSTURE

if TYPE_CHECKING:
    from torqued.kernels.control.wholebody.balance import Balance
    from torqued.kernels.control.wholebody.whole_body import WholeBody
    from torqued.kernels.robot.robot import Robot

#: From tasks, q, Z, M and rows at a pose to K and D there.
Answer = Callable[[list[dict[str, Any]], Array, Array, Array, Array], tuple[Array, Array]]

#: Relative to the largest: a direction that contacts hold.
HELD = 1e-6


def stances(control: WholeBody | Balance, contacts: list[dict[str, Any]]) -> Poses:
    """Poses on all contacts, and the directions in which these let motors move the robot."""
    robot = control.robot
    floats = robot.model.base == "floating"
    q = np.array(around_neutral(robot)) if floats else poses_of(robot).q
    points = [
        (contact["frame"], control.program.offset[k])
        for contact, record in zip(contacts, control.program.contact, strict=True)
        for k in range(record["point"], record["point"] + record["points"])
    ]
    rows = np.zeros((len(q), 3 * len(points), robot.nv))
    for at, J in zip(q, rows, strict=True):
        for k, (frame, point) in enumerate(points):
            J[3 * k : 3 * k + 3] = robot.frame_jacobian(at, frame, point=point)[3:]
    M = np.array([robot.mass_matrix(at) for at in q])
    free = null_spaces(rows)
    if floats:
        # No motor acts on the base: along W, where contacts give no force either, WᵀM q̈ is zero.
        idle = null_spaces(rows[:, :, :6])
        free = free @ null_spaces(np.swapaxes(idle, 1, 2) @ M[:, :6] @ free)
    return Poses(q, np.swapaxes(free, 1, 2) @ M @ free, free, rows)


def null_spaces(A: Array) -> Array:
    """(N, n, k) bases of what matrices (N, m, n) map to zero, the same k for all of them."""
    _, sizes, right = np.linalg.svd(A)
    largest = sizes.max(axis=1, initial=0.0)[:, None]
    held = int((sizes > HELD * largest).sum(axis=1).max(initial=0))
    return np.swapaxes(right[:, held:], 1, 2)


def task_rows(robot: Robot, record: Any, task: dict[str, Any], q: Array) -> Array:
    """(rows, nv) of a task that has some: what moves with joints, in its axes."""
    if record["kind"] in (COM, MOMENTUM):
        A = robot.centroidal_matrix(q)
        return np.asarray(A if record["kind"] == MOMENTUM else A[3:] / robot.total_mass)
    J = robot.frame_jacobian(q, task["frame"], point=task.get("point"))
    if record["relative"]:
        J = seen_from(robot, q, task, J)
    if record["kind"] == FRAME_TASK:
        return np.asarray(J)
    return np.asarray(J[:3] if record["kind"] == ORIENTATION else J[3:])


def seen_from(robot: Robot, q: Array, task: dict[str, Any], J: Array) -> Array:
    """(6, nv) of a frame as seen from that which its task is relative to."""
    other, point = robot.frame_pose(q, task["relative_to"]), task.get("point")
    point = np.zeros(3) if point is None else np.asarray(point)
    there = robot.frame_pose(q, task["frame"])[:3] @ np.append(point, 1.0)
    at = np.linalg.solve(other, np.append(there, 1.0))[:3]  # the same place in the other frame
    turned = np.kron(np.eye(2), other[:3, :3].T)
    return np.asarray(turned @ (J - robot.frame_jacobian(q, task["relative_to"], point=at)))


def linearized(answer: Answer, tasks: list[dict[str, Any]], poses: Poses) -> tuple[Array, Array]:
    """K and D (N, n, n) along free directions, from how a law answers at a pose."""
    assert poses.free is not None and poses.rows is not None
    found = [
        answer(tasks, q, Z, M, rows)
        for q, Z, M, rows in zip(poses.q, poses.free, poses.M, poses.rows, strict=True)
    ]
    return np.array([K for K, _ in found]), np.array([D for _, D in found])


def whole_body_answer(
    control: WholeBody,
    gains: Gains,
    tasks: list[dict[str, Any]],
    q: Array,
    Z: Array,
    M: Array,
    rows: Array,
) -> tuple[Array, Array]:
    """K and D (n, n) at a pose, along its free directions Z (nv, n) with the inertia M (n, n)."""
    robot, nv = control.robot, control.robot.nv
    joints = np.ones(nv)
    joints[: 6 if robot.model.base == "floating" else 0] = 0.0
    least = float(gains["acceleration_weight"][0])
    H, K = least * np.eye(nv), np.zeros((nv, nv))
    D = least * float(gains["joint_damping"][0]) * np.diag(joints)
    for name, task, record, chosen in zip(
        control.task_names, tasks, control.program.task, control.program.chosen, strict=True
    ):
        words = ("weight", "stiffness", "damping")
        weight, stiffness, damping = (float(gains[f"{name}.{word}"][0]) for word in words)
        if record["kind"] == POSTURE:
            square = weight * np.diag(chosen)
        else:
            J = task_rows(robot, record, task, q)
            square = weight * (J.T * record["share"][: len(J)]) @ J
        H += square
        K += 0.0 if record["kind"] == MOMENTUM else stiffness * square
        D += damping * square
    inertia = M @ np.linalg.inv(Z.T @ H @ Z)
    return inertia @ Z.T @ K @ Z, inertia @ Z.T @ D @ Z


def balance_answer(
    control: Balance,
    gains: Gains,
    tasks: list[dict[str, Any]],
    q: Array,
    Z: Array,
    M: Array,
    rows: Array,
) -> tuple[Array, Array]:
    """The same of balancing, with the rows (3 points, nv) of its contacts."""
    robot, nv = control.robot, control.robot.nv
    J_com = robot.centroidal_matrix(q)[3:] / robot.total_mass
    # A unit force at a point has the moment and force of its row in terms of the base, which is
    # not turned here; about the center of mass:
    G = np.vstack([(rows - np.tile(J_com, (len(rows) // 3, 1)))[:, :3].T, rows[:, 3:6].T])
    weights = np.repeat([float(gains["moment_weight"][0]), 1.0], 3)
    square = (G.T * weights) @ G + float(gains["force_weight"][0]) * np.eye(len(rows))
    share = np.linalg.solve(square, G.T * weights)  # forces of a wrench
    pass_on = -(rows - np.tile(J_com, (len(rows) // 3, 1))).T @ share
    pass_on[:6] = 0.0
    turn = np.eye(3, nv)
    answers = []
    for word in ("stiffness", "damping"):
        base, com = float(gains[f"base.{word}"][0]), float(gains[f"com.{word}"][0])
        answer = pass_on @ np.vstack([base * turn, com * J_com])
        posture = np.array(gains[f"posture.{word}"])
        posture[:6] = 0.0
        answer = answer + np.diag(posture)
        for name, task, record in zip(control.task_names, tasks, control.program.task, strict=True):
            if record["contact"] < 0:  # others wait while their foot stands
                answer += task_answer(robot, record, task, q, float(gains[f"{name}.{word}"][0]))
        answers.append(Z.T @ answer @ Z)
    return answers[0], answers[1]


def task_answer(robot: Robot, record: Any, task: dict[str, Any], q: Array, gain: float) -> Array:
    """(nv, nv) Jᵀ · inertia · gain J, in the joints between the frame and the base."""
    J = task_rows(robot, record, task, q)
    inertia = np.full(len(J), record["inertia"][1])
    if len(J) == 6 or record["kind"] == ORIENTATION:
        inertia[:3] = record["inertia"][0]
    own = J.copy()
    own[:, :6] = 0.0
    return np.asarray(own.T * (gain * inertia * record["share"][: len(J)]) @ J)
