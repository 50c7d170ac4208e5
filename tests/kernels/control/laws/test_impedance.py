"""Impedance on arms that are stretched out, light at the wrist, or have fewer than six joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.robots import without_effort_limits
from torqued.common.rotation import quaternion
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.model.catalog import find_file

PANDA = without_effort_limits(Robot.from_urdf(find_file("panda")))
UR5 = without_effort_limits(Robot.from_urdf(find_file("ur5")))


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


def compliance(center: np.ndarray, k: float, turn: float) -> np.ndarray:
    """Stiffness (6, 6) of a spring k N/m at a point of the frame, and `turn` N m/rad about it."""
    x, y, z = center
    lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    way = np.hstack([-lever, np.eye(3)])  # of the point, from a turn and a way of the frame
    return k * way.T @ way + np.diag([turn] * 3 + [0.0] * 3)


@pytest.mark.parametrize("axes_in", ["world", "frame"])
@pytest.mark.parametrize("seed", range(3))
def test_coupled_force_is_the_gradient_of_its_potential(axes_in, seed):
    model = without_effort_limits(Robot.family("chain", 7, seed=2)).model
    free = replace(model.dofs, velocity=np.full(7, np.inf))  # nothing is cut
    robot = Robot(replace(model, dofs=free))
    rng, frame, h = np.random.default_rng(seed), robot.frame_names[-1], 1e-6
    root = rng.normal(size=(6, 6)) * np.repeat([[1.0], [10.0]], 3, axis=0)
    gains = {"coupled_stiffness": root @ root.T, "posture_stiffness": 0.0}
    controller = Controller(robot, "impedance", frame=frame, axes_in=axes_in, gains=gains)
    q, goal = (robot.random_state(rng)[0] for _ in range(2))  # turned by anything up to 180°
    pose = robot.frame_pose(goal, frame)
    at = {"position": pose[:3, 3], "orientation": quaternion(pose[:3, :3]), "posture": q}
    still = np.zeros(robot.nv)
    tau = controller.torque(q, still, **at).tau
    slope = [
        float(controller.torque(robot.integrate(q, e, h), still, **at).storage)
        - float(controller.torque(robot.integrate(q, e, -h), still, **at).storage)
        for e in np.eye(robot.nv)
    ]
    expected = robot.gravity(q) - np.array(slope) / (2.0 * h)
    np.testing.assert_allclose(tau, expected, atol=1e-6 * np.abs(expected).max())


def test_a_force_at_the_center_of_compliance_does_not_turn_the_frame():
    """At rest J δq = K⁻¹ f; a force beside the center turns it."""
    q, center = UR5.random_state(np.random.default_rng(3))[0], np.array([0.02, -0.03, 0.15])
    pose = UR5.frame_pose(q, "tool0")
    gains = {"coupled_stiffness": compliance(center, 400.0, 8.0)}
    controller = Controller(UR5, "impedance", frame="tool0", axes_in="frame", gains=gains)
    shift, push = 0.004, pose[:3, :3] @ np.array([1.0, 0.0, 0.0])
    moved = {"position": pose[:3, 3] - shift * push, "orientation": quaternion(pose[:3, :3])}
    tau = controller.torque(q, np.zeros(6), **moved, posture=q).tau - UR5.gravity(q)
    wrench = np.linalg.solve(UR5.frame_jacobian(q, "tool0").T, tau)
    force = -400.0 * shift * push
    np.testing.assert_allclose(wrench[3:], force, atol=1e-9)
    np.testing.assert_allclose(wrench[:3], np.cross(pose[:3, :3] @ center, force), atol=1e-9)


def test_stiffness_by_axes_is_a_case_of_the_coupled_one():
    q = UR5.random_state(np.random.default_rng(4))[0]
    options = {"frame": "tool0", "axes_in": "frame"}
    parts = {"stiffness": [100.0, 200.0, 300.0], "rotational_stiffness": [4.0, 5.0, 6.0]}
    whole = {"coupled_stiffness": np.diag([4.0, 5.0, 6.0, 100.0, 200.0, 300.0])}
    one, other = (Controller(UR5, "impedance", **options, gains=g) for g in (parts, whole))
    for off, v in ((0.3, 0.0), (0.0, 0.2)):
        goal = UR5.frame_pose(q + off, "tool0")
        at = {"position": goal[:3, 3], "orientation": quaternion(goal[:3, :3]), "posture": q}
        a, b = (controller.torque(q, np.full(6, v), **at) for controller in (one, other))
        np.testing.assert_allclose(a.tau, b.tau, rtol=1e-9)
        assert float(a.storage) == pytest.approx(float(b.storage))
    assert "coupled_stiffness" not in one.law.in_force(one.gains)
    tuned = one.tuned(whole)  # it replaces what was there, and 0 brings defaults back
    assert not tuned["stiffness"].any() and not tuned["rotational_stiffness"].any()
    assert one.tuned({"coupled_stiffness": 0.0})["stiffness"].any()


@pytest.mark.parametrize(
    ("value", "axes", "match"),
    [
        (np.diag([1.0, 1, 1, 1, 1, -2.0]), "all", "eigenvalue -2, expected all zero or positive"),
        (np.eye(6) + np.eye(6, k=3), "all", "not symmetric"),
        (np.eye(3), "all", "shape"),
        (np.eye(6), "position", "requires axes 'all', the session controls 'position'"),
    ],
)
def test_coupled_stiffness_that_cannot_be_is_refused(value, axes, match):
    gains = {"coupled_stiffness": value}
    with pytest.raises(InputError, match=match):
        Controller(UR5, "impedance", frame="tool0", axes=axes, gains=gains)
    compliant = {"coupled_stiffness": compliance(np.array([0.1, 0.2, 0.3]), 300.0, 0.0)}
    Controller(UR5, "impedance", frame="tool0", gains=compliant)  # semidefinite but for rounding
