"""The wrench that a frame exerts, against MuJoCo's contacts and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from support.robots import without_effort_limits
from torqued.common.rotation import quaternion
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.poses import Poses
from torqued.kernels.control.stability import spectral_radii
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.catalog import find_file
from torqued.tools.demos.plant import Plant, Toucher, Wall

RADIUS, GAP, WANTED = 0.02, 0.003, 15.0
#: A pose of each arm in which its last link can be pressed down, and that link.
ARMS = {
    "ur5": ([0.0, -1.2, 1.8, -2.1, -1.57, 0.0], "wrist_3_link"),
    "ur10": ([0.0, -1.2, 1.8, -2.1, -1.57, 0.0], "wrist_3_link"),
}
FORCE = [0, 0, 0, 0, 0, 1]


class Pressing:
    """An arm that presses on a floor of MuJoCo, 3 mm below it, in lock step."""

    def __init__(self, name: str, sensor: str) -> None:
        posture, self.link = ARMS[name]
        description = read_file(find_file(name))
        self.robot, self.sensor = Robot.from_description(description), sensor
        self.q = np.array(posture)
        place = self.robot.frame_pose(self.q, self.link)[:3, 3]
        floor = Wall(place - [0.0, 0.0, RADIUS + GAP], np.array([0.0, 0.0, 1.0]))
        self.plant = Plant(
            description, walls=(floor,), touchers=(Toucher(self.link, radius=RADIUS),)
        )
        self.plant.reset(self.q, np.zeros(self.robot.nv))
        self.depth = float(floor.point[2])
        self.law = Controller(
            self.robot, "impedance", frame=self.link, force={"axes": FORCE, "sensor": sensor}
        )
        self.law.stabilize(1e-3)

    def measured(self) -> dict[str, np.ndarray]:
        if self.sensor == "torques":
            return {"external_torque": self.plant.contact_torque}
        if self.sensor == "observer":
            return {}
        R = self.plant.data.xmat[self.plant.body(self.link)].reshape(3, 3)
        at, force = self.plant.point(self.link), self.plant.force_on(self.link)
        touched = np.array([at[0], at[1], self.depth])
        return {
            "measured_wrench": np.concatenate([R.T @ np.cross(touched - at, force), R.T @ force])
        }

    def run(self, seconds: float):
        """Force on the link (N), its vertical speed (m/s) and the outputs, over time."""
        rows = []
        for _ in range(round(1000 * seconds)):
            wrench = [0.0, 0.0, 0.0, 0.0, 0.0, -WANTED]
            out = self.law.step(self.plant.q, self.plant.v, 1e-3, wrench=wrench, **self.measured())
            self.plant.step(out.tau)
            speed = self.robot.frame_jacobian(self.plant.q, self.link)[5] @ self.plant.v
            rows.append((self.plant.force_on(self.link)[2], speed, out.touching[5], out.exerted[5]))
        return np.array(rows).T


@pytest.mark.parametrize("sensor", ["wrench", "torques", "observer"])
@pytest.mark.parametrize("name", ARMS)
def test_force_on_a_hard_floor_becomes_the_wanted_one(name, sensor):
    force, _, touching, exerted = Pressing(name, sensor).run(1.5)
    assert force[0] == 0.0 and touching[0] == 0.0  # it starts above the floor
    assert np.abs(force[-200:] - WANTED).max() < 0.05 * WANTED
    assert (touching[-200:] == 1.0).all()
    assert np.abs(exerted[-200:] + WANTED).max() < 0.05 * WANTED


def test_frame_without_contact_moves_at_the_approach_speed_and_no_faster():
    pressing = Pressing("ur5", "wrench")
    pressing.run(1.0)
    pressing.plant.model.geom_contype[:] = 0  # the floor is gone
    pressing.plant.model.geom_conaffinity[:] = 0
    force, speed, touching, _ = pressing.run(0.6)
    assert (force == 0.0).all()
    lost = int(np.argmin(touching))
    assert touching[lost] == 0.0 and lost <= 25
    assert -0.05 < speed[-1] < -0.03  # at most 0.05 m/s by default
    assert np.abs(speed).max() < 0.15  # while the loss was not known: 20 ms under full force


def test_wrench_is_exerted_on_top_of_the_spring_in_either_axes():
    robot = without_effort_limits(Robot.from_urdf(find_file("ur5")))
    q, wrench = np.array(ARMS["ur5"][0]) + 0.3, np.array([0.1, -0.2, 0.3, 1.0, 2.0, -3.0])
    J, pose = robot.frame_jacobian(q, "tool0"), robot.frame_pose(q, "tool0")
    turn = np.kron(np.eye(2), pose[:3, :3])
    for axes, world in (("world", wrench), ("frame", turn @ wrench)):
        law = Controller(robot, "impedance", frame="tool0", axes_in=axes)
        tau = law.torque(q, np.zeros(6), wrench=wrench).tau
        assert np.allclose(tau - robot.gravity(q), J.T @ world, atol=1e-9)


def test_wrench_is_bounded_by_the_limits_of_the_spring():
    robot = without_effort_limits(Robot.from_urdf(find_file("ur5")))
    q, gains = np.array(ARMS["ur5"][0]), {"force_limit": 10.0, "moment_limit": 1.0}
    law = Controller(robot, "impedance", frame="tool0", gains=gains)
    tau = law.torque(q, np.zeros(6), wrench=[30.0, 0.0, 40.0, 0.0, 300.0, 400.0]).tau
    J = robot.frame_jacobian(q, "tool0")
    assert np.allclose(tau - robot.gravity(q), J.T @ [0.6, 0.0, 0.8, 0.0, 6.0, 8.0], atol=1e-9)


def test_stiffness_in_the_frame_turns_with_it():
    robot = without_effort_limits(Robot.from_urdf(find_file("ur5")))
    q, off = np.array(ARMS["ur5"][0]) + 0.3, np.array([1e-3, 2e-3, -1e-3])
    pose, J = robot.frame_pose(q, "tool0"), robot.frame_jacobian(q, "tool0")
    R, K = pose[:3, :3], np.diag([400.0, 0.0, 100.0])
    at = {"orientation": quaternion(R), "posture": q, "position": pose[:3, 3] + off}
    options = {"gains": {"stiffness": [400.0, 0.0, 100.0]}, "axes_in": "frame", "frame": "tool0"}
    tau = Controller(robot, "impedance", **options).torque(q, np.zeros(6), **at).tau
    assert np.allclose(tau - robot.gravity(q), J[3:].T @ R @ K @ R.T @ off, atol=1e-9)


@pytest.mark.parametrize("axes", [[0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
def test_linearization_of_force_axes_is_that_of_the_law(axes):
    """K and D that the stability check judges by, against differences of torques."""
    robot = without_effort_limits(Robot.from_urdf(find_file("ur5")))
    q, h = np.array(ARMS["ur5"][0]) + 0.3, 1e-6
    options = {"frame": "tool0", "axes_in": "frame", "force": {"axes": axes, "sensor": "wrench"}}
    law = Controller(robot, "impedance", **options)
    pose, still = robot.frame_pose(q, "tool0"), {"measured_wrench": np.zeros(6)}
    at = {"position": pose[:3, 3], "orientation": quaternion(pose[:3, :3]), "posture": q} | still

    def torque(q, v):
        return law.torque(q, v, **at).tau - robot.gravity(q)

    K = -np.array(
        [(torque(q + h * e, 0 * e) - torque(q - h * e, 0 * e)) / (2 * h) for e in np.eye(6)]
    )
    D = -np.array([(torque(q, h * e) - torque(q, -h * e)) / (2 * h) for e in np.eye(6)])
    M = robot.mass_matrix(q)
    found = law.law.linearization(robot, law.gains, options, Poses(q[None], M[None]))
    size = np.abs(K).max() + 1.0
    assert np.allclose(found[0][0], K.T, atol=1e-4 * size)
    assert np.allclose(found[1][0], D.T, atol=1e-3 * np.abs(D).max())
    assert spectral_radii(M[None], *found, 1e-3, 2e-3)[0] <= 1.0 + 1e-6


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"force": [0, 0, 1]}, "expected a map with axes"),
        ({"force": {"axes": [0, 0, 0, 0, 0, 2]}}, "expected zeros and ones"),
        ({"force": {"axes": [0] * 6}}, "at least one of them 1"),
        ({"force": {"axes": [0, 0, 1, 0, 0, 0]}}, "axes_in='frame'"),
        ({"force": {"axes": FORCE, "sensor": "skin"}}, "'observer', 'torques', 'wrench'"),
        ({"force": {"axes": FORCE, "rate": 50.0}}, "rate is 50.0, expected 0 … 20 1/s"),
        ({"force": {"axes": FORCE, "approach_speed": [0.0, 1.0]}}, "expected positive: m/s, rad/s"),
        ({"force": {"axes": FORCE, "gain": 1.0}}, "'gain' is unknown, allowed: axes, sensor"),
        ({"force": {"axes": FORCE}, "axes": "orientation"}, "expected axes that the session"),
        ({"axes_in": "tool"}, "'tool' is unknown, allowed: 'world', 'frame'"),
    ],
)
def test_options_of_force_that_make_no_sense_are_refused(options, says):
    robot = Robot.from_urdf(find_file("ur5"))
    with pytest.raises(InputError, match=says):
        Controller(robot, "impedance", frame="tool0", **options)


def test_wrench_counts_for_the_state_that_it_comes_with():
    robot = without_effort_limits(Robot.from_urdf(find_file("ur5")))
    q, still = np.array(ARMS["ur5"][0]), np.zeros(6)
    law = Controller(robot, "impedance", frame="tool0")
    before = law.torque(q, still).tau
    pushed = law.torque(q, still, wrench=[0.0, 0.0, 0.0, 0.0, 0.0, -10.0]).tau
    assert np.abs(pushed - before).max() > 1.0
    assert np.array_equal(law.torque(q, still).tau, before)
