"""Walls: whatever a law wants, joints stay within limits and frames in their boxes, in MuJoCo."""

import numpy as np
import pytest

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.wall_options import walls_of
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.catalog import find_file
from torqued.tools.demos.generalize_robots import heavier
from torqued.tools.demos.plant import Plant

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

DT = 1e-3
ARMS = ("ur5", "z1", "xarm7")


def arm_in_mujoco(name):
    plant = Plant(read_file(find_file(name)))
    robot = plant.robot
    lower = np.where(np.isfinite(robot.limits.lower), robot.limits.lower, -2.0)
    upper = np.where(np.isfinite(robot.limits.upper), robot.limits.upper, 2.0)
    plant.reset(np.clip(0.5 * (lower + upper) + 0.2, lower, upper), np.zeros(robot.nv))
    return plant


class Push:
    """A law that pushes: gravity's torque, and one beside it that the test adds to the state."""

    def __init__(self, plant, **options):
        self.plant, self.robot = plant, plant.robot
        self.controller = Controller(plant.robot, "computed_torque", **options)

    def run(self, seconds, acceleration):
        """Ask for the same acceleration all the time. Rows of q, v, and status names."""
        rows, seen = [], set()
        for _ in range(round(seconds / DT)):
            q, v = self.plant.q, self.plant.v
            inside = np.clip(q, self.robot.limits.lower, self.robot.limits.upper)
            # A reference that runs along: no error, nothing but the acceleration is left.
            limits = np.where(np.isfinite(self.robot.limits.velocity), 1.0, 1.0)
            answer = self.controller.step(
                q, v, DT, q_ref=inside, v_ref=v * limits, a_ref=acceleration
            )
            self.plant.step(answer.tau, DT)
            rows.append((self.plant.q, self.plant.v))
            seen |= set(answer.status)
        return np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), seen


@pytest.mark.parametrize("name", ["xarm7", "ur10"])
def test_walls_leave_what_overcomes_friction(name):
    """A light wrist near its speed limit: 2 N m would be 1000 rad/s², were it not for friction."""
    robot = Robot.named(name)
    q, speed = robot.neutral(), np.zeros(robot.nv)
    speed[-1] = 0.85 * robot.limits.velocity[-1]
    friction = {"viscous": 0.5, "coulomb": 1.0}
    torques = []
    for walls in (True, False):
        options = {"friction": friction, "reference_limits": False, "walls": walls}
        controller = Controller(robot, "passivity", **options)
        references = {"q_ref": q, "v_ref": speed, "a_ref": np.zeros(robot.nv)}
        answer = controller.step(q, speed, DT, **references)
        assert "WALL" not in answer.status
        torques.append(answer.tau)
    np.testing.assert_array_equal(*torques)


@pytest.mark.parametrize(("name", "joint"), [("so101", "gripper"), ("xarm7", "joint6")])
@pytest.mark.parametrize("distance", [0.0, 0.01])
def test_what_overcomes_friction_does_not_push_a_joint_through_its_end(name, joint, distance):
    """A reference that goes on through the end: friction ahead is that of the allowed speed."""
    robot = Robot.named(name, locked=())
    k = list(robot.joint_names).index(joint)
    q, speed = robot.neutral(), np.zeros(robot.nv)
    q[k], speed[k] = robot.limits.upper[k] - distance, 1.0
    viscous = 0.5
    torques = []
    for walls in (True, False):
        friction = {"viscous": viscous, "coulomb": 0.0}
        options = {"friction": friction, "reference_limits": False, "walls": walls}
        controller = Controller(robot, "passivity", **options)
        references = {"q_ref": q, "v_ref": speed, "a_ref": np.zeros(robot.nv)}
        answer = controller.step(q, np.zeros(robot.nv), DT, **references)
        assert ("WALL" in answer.status) == walls
        torques.append(answer.tau[k] - robot.gravity(q)[k])
    held, free = torques
    assert free > viscous
    allowed = 20.0 * distance  # rad/s, and 150/s is how fast it may be reached
    inertia = robot.mass_matrix(q)[k, k]
    assert held <= viscous * allowed + (150.0 * allowed + 20.0) * inertia + 1e-3


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_joints_stay_within_positions_and_speeds(name, sign):
    plant = arm_in_mujoco(name)
    robot = plant.robot
    push = Push(plant, reference_limits=False, low_pass=0.0)
    q, v, seen = push.run(2.5, sign * np.full(robot.nv, 3.0))
    assert "WALL" in seen
    limits = robot.limits
    over = np.maximum(q - limits.upper, limits.lower - q).max(axis=0)
    assert (over < 0.01).all(), over
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, np.inf)
    assert (np.abs(v) <= 1.1 * speed).all(), (np.abs(v).max(axis=0), speed)


@pytest.mark.parametrize("name", ["z1", "so101", "xarm7"])
def test_wrong_masses_do_not_creep_through_limits(name):
    """An arm sinks by what its model lacks, and joints come to rest at their ends."""
    described = read_file(find_file(name))
    robot = Robot.from_description(described)
    plant = Plant(heavier(described, 1.3))
    q = np.clip(robot.neutral() + 0.3, robot.limits.lower, robot.limits.upper)
    plant.reset(q, np.zeros(robot.nv))
    controller = Controller(robot, "gravity")
    over, fastest, seen = np.zeros(robot.nv), np.zeros(robot.nv), set()
    for _ in range(4000):
        answer = controller.step(plant.q, plant.v, DT)
        plant.step(answer.tau, DT)
        seen |= set(answer.status)
        limits = robot.limits
        over = np.maximum(over, np.maximum(plant.q - limits.upper, limits.lower - plant.q))
        fastest = np.maximum(fastest, np.abs(plant.v) / limits.velocity)
    assert "WALL" in seen
    assert over.max() < 0.01
    assert fastest.max() < 1.08


def test_without_walls_the_same_law_goes_through():
    plant = arm_in_mujoco("z1")
    push = Push(plant, reference_limits=False, walls=False)
    q, v, seen = push.run(2.5, np.full(plant.robot.nv, 3.0))
    assert "WALL" not in seen
    limits = plant.robot.limits
    assert (q > limits.upper + 0.02).any() or (np.abs(v) > 1.1 * limits.velocity).any()


def test_walls_give_back_no_more_than_they_took():
    """Begun outside of its limits, a joint is held from going further, and not thrown back."""
    plant = arm_in_mujoco("xarm7")
    robot = plant.robot
    q = plant.q.copy()
    q[1] = robot.limits.upper[1] + 0.1
    plant.reset(q, np.zeros(robot.nv))
    controller = Controller(robot, "gravity")
    for _ in range(500):
        answer = controller.step(plant.q, plant.v, DT)
        plant.step(answer.tau, DT)
    assert np.abs(plant.q - q).max() < 1e-3


def test_frame_stays_in_its_box():
    plant = arm_in_mujoco("xarm7")
    robot = plant.robot
    frame = robot.frame_names[-1]
    start = robot.frame_pose(plant.q, frame)[:3, 3]
    box = [(start - 0.15).tolist(), (start + 0.15).tolist()]
    walls = {"frames": [{"frame": frame, "box": box}]}
    push = Push(plant, reference_limits=False, low_pass=0.0, walls=walls)
    seen = set()
    q, _, seen = push.run(1.5, np.full(robot.nv, 1.0))
    assert "WALL" in seen
    path = np.array([robot.frame_pose(x, frame)[:3, 3] for x in q[::10]])
    assert np.abs(path - start).max() < 0.16
    free = Push(arm_in_mujoco("xarm7"), reference_limits=False)
    q, _, _ = free.run(1.5, np.full(robot.nv, 1.0))
    path = np.array([robot.frame_pose(x, frame)[:3, 3] for x in q[::10]])
    assert np.abs(path - start).max() > 0.2


@pytest.mark.parametrize("joint", ["panda_joint2", "panda_joint7"])
def test_joint_at_its_wall_is_named(joint):
    robot = Robot.named("panda")
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    controller = Controller(robot, "pd", reference_limits=False)
    assert walls_of(controller.record[0], robot, None) == []
    places, v = robot.joint(joint), np.zeros(robot.nv)
    q[places.q], v[places.v] = robot.limits.upper[places.q], 0.5
    assert "WALL" in controller.step(q, v, DT).status
    assert walls_of(controller.record[0], robot, None) == [joint]
    q[places.q] = 0.0
    assert "WALL" not in controller.step(q, 0.0 * v, DT).status
    assert walls_of(controller.record[0], robot, None) == [joint]  # that of the last time


def test_frame_before_its_plane_is_named():
    robot = Robot.named("panda")
    walls = {"frames": [{"frame": "panda_hand", "normal": [0, 0, 1], "offset": 9.0}]}
    controller = Controller(robot, "gravity", walls=walls)
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    assert "WALL" in controller.step(q, np.full(robot.nv, -0.1), DT).status
    assert walls_of(controller.record[0], robot, walls) == ["panda_hand"]


@pytest.mark.parametrize(
    "walls, words",
    [
        ({"joint": True}, "expected true, false or a map of 'joints' and 'frames'"),
        ({"joints": 3}, "walls.joints: expected true or false"),
        ({"frames": "hand"}, "expected a list of maps"),
        ({"frames": [{"box": [[0, 0, 0], [1, 1, 1]]}]}, "expected a map with a 'frame'"),
        ({"frames": [{"frame": "body3"}]}, "either a 'box' or a 'normal'"),
        ({"frames": [{"frame": "body3", "box": [[1, 0, 0], [0, 1, 1]]}]}, "not below upper"),
        ({"frames": [{"frame": "body3", "normal": [0, 0, 0]}]}, "normal is zero"),
        ({"frames": [{"frame": "nowhere", "normal": [0, 0, 1]}]}, "nowhere"),
        ({"frames": [{"frame": "body3", "plane": 1}]}, "'plane' is unknown"),
    ],
)
def test_wrong_walls_are_refused(walls, words):
    robot = Robot.family("chain", 3)
    for item in walls.get("frames", []) if isinstance(walls.get("frames"), list) else []:
        if item.get("frame") == "body3":
            item["frame"] = robot.frame_names[-1]
    with pytest.raises(InputError, match=words):
        Controller(robot, "gravity", walls=walls)
