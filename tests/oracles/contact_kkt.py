"""Contacts by frame Jacobians and dense matrices: [F16] eq. 7 as it is written.

The rows come from `frame_jacobian` and `frame_bias`, the solution from numpy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torqued.kernels import Contact, Robot
from torqued.kernels.model.assemble import axis_frame

from .spatial import Array

#: Singular values below this fraction of the largest count as zero.
RANK = 1e-10

#: Which of [angular; linear] a contact holds.
HELD = {"normal": [5], "point": [3, 4, 5], "frame": [0, 1, 2, 3, 4, 5]}


def selection(contact: Contact) -> Array:
    """(rows, 6): from a twist in world axes to the contact's rows."""
    E = axis_frame(np.asarray(contact.normal, dtype=np.float64))
    zero = np.zeros((3, 3))
    rows: Array = np.block([[E.T, zero], [zero, E.T]])[HELD[contact.kind]]
    return rows


def jacobian(robot: Robot, q: Array, contacts: Sequence[Contact]) -> Array:
    """G: of the held frame, minus that of what it is held against."""
    rows = [np.zeros((0, robot.nv))]
    for contact in contacts:
        J = robot.frame_jacobian(q, contact.frame, point=contact.point)
        if contact.other is not None:
            J = J - robot.frame_jacobian(q, contact.other, point=contact.other_point)
        rows.append(selection(contact) @ J)
    return np.vstack(rows)


def acceleration_bias(robot: Robot, q: Array, v: Array, contacts: Sequence[Contact]) -> Array:
    """J̇ v in the contacts' rows: γ is its negative, without Baumgarte's terms."""
    rows = [np.zeros(0)]
    for contact in contacts:
        bias = robot.frame_bias(q, v, contact.frame, point=contact.point)
        if contact.other is not None:
            bias = bias - robot.frame_bias(q, v, contact.other, point=contact.other_point)
        rows.append(selection(contact) @ bias)
    return np.concatenate(rows)


def solve(M: Array, free_force: Array, G: Array, gamma: Array) -> tuple[Array, Array]:
    """a and forces; of several solutions the forces of minimum norm, of none the nearest."""
    a_free = np.linalg.solve(M, free_force)
    K = G @ np.linalg.solve(M, G.T)
    force = np.linalg.pinv(K, rcond=RANK, hermitian=True) @ (gamma - G @ a_free)
    return a_free + np.linalg.solve(M, G.T @ force), force


def contact_dynamics(
    robot: Robot, q: Array, v: Array, tau: Array, contacts: Sequence[Contact]
) -> tuple[Array, Array]:
    """a and forces, without Baumgarte's terms."""
    G = jacobian(robot, q, contacts)
    gamma = -acceleration_bias(robot, q, v, contacts)
    return solve(robot.mass_matrix(q), tau - robot.bias(q, v), G, gamma)


def rank(G: Array) -> int:
    return int(np.linalg.matrix_rank(G, tol=1e-7 * np.linalg.norm(G, 2))) if G.size else 0


def rows_of(contacts: Sequence[Contact]) -> list[slice]:
    """Where each contact's rows are."""
    out: list[slice] = []
    start = 0
    for contact in contacts:
        out.append(slice(start, start + len(HELD[contact.kind])))
        start = out[-1].stop
    return out
