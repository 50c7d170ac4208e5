"""The quadratic program of a tick in its plain form, as any solver takes it.

    minimise ½ xᵀ H x + fᵀ x   over x = [a; forces of active contacts along their axes]
    subject to lower ≤ [x_a; A x] ≤ upper, bounds of accelerations first

For inspection, for other solvers, and for tests: it is built from natural
quantities and knows nothing of the form in which the law solves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.control.wholebody.daqp import UNBOUNDED
from torqued.kernels.control.wholebody.layout import Array
from torqued.kernels.control.wholebody.whole_body import WholeBody


class DenseProgram(NamedTuple):
    """n variables, of which the first nv are accelerations."""

    H: Array  # (n, n)
    f: Array  # (n,)
    A: Array  # (m, n)
    lower: Array  # (nv + m,)
    upper: Array  # (nv + m,)

    @property
    def sense(self) -> NDArray[np.int32]:
        """As DAQP wants it: 5 for equalities."""
        return np.where(self.lower == self.upper, 5, 0).astype(np.int32)


def dense_program(control: WholeBody, state: Array) -> DenseProgram:
    """The program of a packed state (`WholeBody.pack`)."""
    robot, program, sizes = control.robot, control.program, control.memory.sizes
    gains = control.gains
    handle = robot.work.handle
    forces = COMPILED.assemble_whole_body(handle, control.address, state, gains)
    n, first_point = robot.nv, sizes.task_rows + sizes.contact_rows
    H = np.zeros((n + forces, n + forces))
    H[:n, :n] = np.tril(program.H) + np.tril(program.H, -1).T
    H[n:, n:] = np.eye(forces) * gains[control.gain_names["force_weight"]]
    f = np.append(program.g, np.zeros(forces))
    preferred = state[len(state) - sizes.contacts :]
    dynamics = np.zeros((n, n + forces))
    dynamics[:, :n] = program.M
    effort = program.effort.copy()
    effort[: sizes.base] = 0.0
    rows, lower, upper = [dynamics], [-effort - program.bias], [effort - program.bias]
    for k, contact in enumerate(program.contact):
        if contact["variable"] < 0:
            continue
        count = 3 * int(contact["points"])
        wanted = np.clip(preferred[k], 0.0, max(0.0, contact["most"])) / contact["points"]
        f[n + int(contact["variable"]) + 2 :: 3][: contact["points"]] = -H[-1, -1] * wanted
        start, point = n + int(contact["variable"]), first_point + 3 * int(contact["point"])
        dynamics[:, start : start + count] = -program.J[point : point + count].T
        own = slice(contact["row"], contact["row"] + contact["rows"])
        rows.append(np.hstack([program.J[own], np.zeros((contact["rows"], forces))]))
        lower.append(-program.rate[own])
        upper.append(-program.rate[own])
        pyramid = np.zeros((4 * contact["points"] + 1, n + forces))
        for j in range(contact["points"]):
            edges = [(1, 0), (-1, 0), (0, 1), (0, -1)]
            for i, (x, y) in enumerate(edges):
                at = start + 3 * j
                pyramid[4 * j + i, at : at + 3] = (x, y, -contact["friction"])
            pyramid[-1, start + 3 * j + 2] = 1.0
        rows.append(pyramid)
        lower.append(np.full(len(pyramid), -UNBOUNDED))
        upper.append(np.append(np.zeros(len(pyramid) - 1), max(0.0, contact["most"])))
    least, most = joint_bounds(control, state)
    return DenseProgram(
        H,
        f,
        np.vstack(rows),
        np.concatenate([least, *lower]),
        np.concatenate([most, *upper]),
    )


def joint_bounds(control: WholeBody, state: Array) -> tuple[Array, Array]:
    """Bounds of accelerations from limits of acceleration, speed and position; see limits.py."""
    program, robot = control.program, control.robot
    rate = control.gains[control.gain_names["limit_rate"]]
    v = state[robot.nq : robot.nq + robot.nv]
    most = program.acceleration
    lower = np.clip(-rate * (program.speed + v), -most, most)
    upper = np.clip(rate * (program.speed - v), -most, most)
    limited = program.coordinate >= 0.0
    q = state[program.coordinate[limited].astype(int)]
    brake = 2.0 * rate * v[limited]
    low = rate**2 * (program.position_lower[limited] - q) - brake
    high = rate**2 * (program.position_upper[limited] - q) - brake
    inner = lower[limited].copy(), upper[limited].copy()
    lower[limited], upper[limited] = np.clip(low, *inner), np.clip(high, *inner)
    base = control.memory.sizes.base
    lower[:base], upper[:base] = -UNBOUNDED, UNBOUNDED
    return np.maximum(lower, -UNBOUNDED), np.minimum(upper, UNBOUNDED)
