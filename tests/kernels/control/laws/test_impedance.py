"""Impedance on arms that are stretched out, light at the wrist, or have fewer than six joints."""

from __future__ import annotations

import numpy as np
import pytest

from support.robots import without_effort_limits
from torqued.common.rotation import quaternion
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.model.catalog import find_urdf

PANDA = without_effort_limits(Robot.from_urdf(find_urdf("panda")))
UR5 = without_effort_limits(Robot.from_urdf(find_urdf("ur5")))


def turned(pose: np.ndarray, angle: float) -> np.ndarray:
    """Quaternion of a pose, turned about the world's x axis."""
    c, s = np.cos(angle), np.sin(angle)
    return quaternion(np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ pose[:3, :3])


@pytest.mark.parametrize(("robot", "frame"), [(PANDA, "panda_hand"), (UR5, "tool0")])
def test_torque_in_a_singularity_is_usable_and_the_account_of_energy_exact(robot, frame):
    q, v = robot.neutral(), np.full(robot.nv, 0.3)
    pose = robot.frame_pose(q, frame)
    controller = Controller(robot, "impedance", frame=frame)
    references = {
        "position": pose[:3, 3] + 0.01,
        "orientation": turned(pose, 0.1),
        "velocity": np.full(6, 0.1),
        "posture": q + 0.1,
    }

    def outputs(t: float, q: np.ndarray, v: np.ndarray):
        moved = references["position"] + 0.1 * t
        w = np.full(3, 0.1) * t
        x, y, z, c = references["orientation"]
        turn = np.append(0.5 * w, 1.0)
        vector = c * turn[:3] + np.array([x, y, z]) + np.cross(turn[:3], [x, y, z])
        orientation = np.append(vector, c - turn[:3] @ [x, y, z])
        return controller.torque(
            q, v, **references | {"position": moved, "orientation": orientation}
        )

    now = outputs(0.0, q, v)
    assert now.status == [] and now.dissipation >= 0.0
    a, h = robot.forward_dynamics(q, v, now.tau), 1e-6
    before, after = (
        float(outputs(x, robot.integrate(q, v + 0.5 * x * a, x), v + x * a).storage)
        for x in (-h, h)
    )
    expected = now.reference_power - now.dissipation
    assert abs((after - before) / (2 * h) - expected) < 1e-5 * (abs(expected) + now.dissipation + 1)


def test_moment_grows_up_to_half_a_turn():
    q = PANDA.random_state(np.random.default_rng(5))[0]
    pose = PANDA.frame_pose(q, "panda_hand")
    controller = Controller(PANDA, "impedance", frame="panda_hand", axes="orientation")
    energies = [
        float(
            controller.torque(
                q, np.zeros(PANDA.nv), orientation=turned(pose, angle), posture=q
            ).storage
        )
        for angle in np.linspace(0.0, np.pi, 40)
    ]
    assert (np.diff(energies, 2) > -1e-9).all()  # the moment, their slope, does not fall
    assert energies[-1] - energies[-2] > energies[10] - energies[9]


def test_axes_are_what_the_frame_can_do():
    robot = Robot.family("chain", 4, seed=1)
    frame = robot.frame_names[-1]
    out = Controller(robot, "impedance", frame=frame).torque(robot.neutral(), np.zeros(4))
    assert not out.inertia[:3].any() and out.inertia[3:, 3:].any()
    with pytest.raises(InputError, match=r"'all' requires 6 directions, .* moves in 4") as caught:
        Controller(robot, "impedance", frame=frame, axes="all")
    assert caught.value.field == "axes"


def test_designed_damping_has_the_ratio_that_was_asked_for():
    q = UR5.random_state(np.random.default_rng(1))[0]
    pose, h, n = UR5.frame_pose(q, "tool0"), 1e-5, UR5.nv
    gains = {"stiffness": 2000.0, "rotational_stiffness": 80.0, "damping_ratio": 0.7}
    controller = Controller(UR5, "impedance", frame="tool0", gains=gains)
    at = {"position": pose[:3, 3], "orientation": quaternion(pose[:3, :3]), "posture": q}
    columns = [controller.torque(q, h * e, **at).tau / h for e in np.eye(n)]
    D = -(np.array(columns).T - controller.torque(q, np.zeros(n), **at).tau[:, None] / h)
    J, M = UR5.frame_jacobian(q, "tool0"), UR5.mass_matrix(q)
    K = J.T @ np.diag([80.0] * 3 + [2000.0] * 3) @ J
    L = np.linalg.inv(np.linalg.cholesky(M))
    squares, U = np.linalg.eigh(L @ K @ L.T)
    rates = np.diag(U.T @ L @ D @ L.T @ U)
    assert np.allclose(rates, np.clip(1.4 * np.sqrt(squares), 6.4, 150.0), rtol=1e-3)
