"""Positions for robots that follow: against literal simulations, and within every limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from oracles.pinocchio_model import pinocchio_model
from torqued.common.status import status_names
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.virtual_robot import BRAKING, NEAR_RATE, REACH, TOLERANCE
from torqued.kernels.model.catalog import describe, find_file

POSES = {"ur5": [0.0, -1.2, 1.8, -2.1, -1.57, 0.3], "panda": [0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8]}
FRAMES = {"ur5": "tool0", "panda": "panda_link8"}
STIFFNESS, DAMPING = 60.0, 12.0  # N m/rad and N m s/rad of every joint
WALL = 4000.0  # N/m


def push(t):
    """N m and N on the frame, in its axes: comes and goes smoothly."""
    return np.sin(np.pi * min(t / 0.4, 1.0)) ** 2 * np.array([0.3, -0.4, 0.2, 6.0, -8.0, 5.0])


class Literal:
    """M q̈ + C q̇ + K (q − q_0) + D q̇ = Jᵀ f, by Pinocchio and an adaptive integrator."""

    def __init__(self, name):
        description = describe(name)
        self.model = pinocchio_model(description, "fixed")
        self.robot = Robot.from_description(description)
        self.q = np.array(POSES[name])
        self.model.armature[:] = self.robot.limits.armature
        self.data, self.frame = self.model.createData(), self.model.getFrameId(FRAMES[name])

    def pose(self, q):
        pin.forwardKinematics(self.model, self.data, q)
        return pin.updateFramePlacement(self.model, self.data, self.frame)

    def wrench(self, t, q, has_wall):
        """In the frame's axes: the push, or a wall of a spring that it goes into."""
        if not has_wall:
            return push(t)
        pose, start = self.pose(q), self.start
        force = WALL * max(0.0, start.translation[2] - 0.002 - pose.translation[2])
        return np.r_[np.zeros(3), pose.rotation.T @ [0.0, 0.0, force - 12.0]]

    def acceleration(self, t, x, has_wall):
        n = len(self.q)
        q, v = x[:n], x[n:]
        J = pin.computeFrameJacobian(self.model, self.data, q, self.frame, pin.LOCAL)
        w = self.wrench(t, q, has_wall)
        torque = J.T @ np.r_[w[3:], w[:3]] - STIFFNESS * (q - self.q) - DAMPING * v
        torque = torque + pin.computeGeneralizedGravity(self.model, self.data, q)
        return np.r_[v, pin.aba(self.model, self.data, q, v, torque)]

    def run(self, seconds, has_wall, times):
        self.start = self.pose(self.q).copy()
        found = solve_ivp(
            self.acceleration,
            (0.0, seconds),
            np.r_[self.q, 0.0 * self.q],
            method="Radau",
            t_eval=times,
            args=(has_wall,),
            rtol=1e-7,
            atol=1e-9,
        )
        return found.y.T


@pytest.mark.parametrize("has_wall", [False, True], ids=["push", "wall"])
@pytest.mark.parametrize("name", POSES)
def test_commands_are_the_motion_of_the_target_impedance(name, has_wall):
    """Errors are those of a torque that is held for a period: half of the period, half of them."""
    literal = Literal(name)
    robot, n = literal.robot, literal.robot.nv
    gains = {"stiffness": STIFFNESS, "damping": DAMPING, "error_limit": 10.0}
    errors = []
    for dt in (2e-3, 1e-3):
        steps = round(0.6 / dt)
        wanted = literal.run(0.6, has_wall, dt * np.arange(1, steps + 1))
        law = Controller(
            robot,
            "pd_plus",
            gains=gains,
            admittance={"frame": FRAMES[name]},
            low_pass=0.0,
            rate_limit=[1e6] * n,
        )
        q, v, rows = literal.q, np.zeros(n), []
        for k in range(steps):
            # The mean of what comes while the torque is held, as a sensor has it at least.
            w = literal.wrench((k + 0.5) * dt, q, has_wall)
            out = law.step(q, v, dt, measured_wrench=w)
            assert not out.status
            q, v = out.q_command, out.v_command
            rows.append(np.r_[q, v])
        off = np.abs(np.array(rows) - wanted)
        assert np.abs(wanted[:, :n] - literal.q).max() > 0.005
        errors.append(off[:, :n].max() / np.abs(wanted[:, :n] - literal.q).max())
    assert errors[1] < 0.02
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.parametrize("walls", [True, False])
@pytest.mark.parametrize("name", POSES)
def test_commands_stay_within_limits_whatever_pushes(name, walls):
    """Positions, speeds and steps of both, under torques and wrenches up to nonsense."""
    robot, rng = Robot.named(name), np.random.default_rng(3)
    n, dt, limits = robot.nv, 2e-3, robot.limits
    law = Controller(robot, "torque", admittance={"frame": FRAMES[name]}, walls=walls)
    q, v, reached = np.array(POSES[name]), np.zeros(n), np.zeros(n)
    most = limits.velocity / REACH
    for k in range(6000):
        if k % 300 == 0:
            size = 10.0 ** rng.uniform(-1.0, 2.0) if k % 1500 else 1e300
            tau = rng.choice([-1.0, 1.0], n) * rng.uniform(0.0, 1.5) * limits.effort
            wrench = size * rng.normal(size=6)
        out = law.step(q, v, dt, tau=tau, measured_wrench=wrench)
        after, speed = out.q_command, out.v_command
        assert np.isfinite(np.r_[after, speed, out.tau]).all()
        assert ((after >= limits.lower) & (after <= limits.upper)).all()
        assert (np.abs(speed) <= limits.velocity * (1.0 + 1e-12)).all()
        assert (np.abs(speed - v) <= most * dt * (1.0 + 1e-9)).all()
        # The motion ends by braking: no position is cut off.
        assert np.allclose(after - q, 0.5 * dt * (v + speed), atol=1e-12)
        reached = np.maximum(reached, np.abs(speed) / limits.velocity)
        q, v = after, speed
    assert (reached > 0.9).sum() >= n - 2  # limits were what held most joints


def test_measurements_that_overflow_are_reported_and_brake():
    robot, q, v, moved = Robot.named("ur5"), np.array(POSES["ur5"]), np.zeros(6), 0.0
    law = Controller(robot, "gravity", admittance={"frame": FRAMES["ur5"]})
    for k in range(300):
        wrench = np.full(6, 5.0 if k < 200 else 1.7e308)
        status = status_names(law.tick(q, v, 1e-3, {"measured_wrench": wrench}))
        q, v = law.data.virtual[0].copy(), law.data.virtual[1].copy()
        assert ("NONFINITE" in status) == (k >= 200)
        moved = np.abs(v).max() if k < 200 else moved
    assert moved > 0.01 and np.abs(v).max() < 1e-3 * moved


def test_joint_that_starts_beyond_its_end_goes_back_and_no_further():
    robot = Robot.named("panda")
    law = Controller(robot, "torque", admittance={"sensor": "none"}, walls=False)
    q, v = np.array(POSES["panda"]), np.zeros(7)
    q[3] = robot.limits.upper[3] + 0.01
    for side in (1.0, -1.0):
        for _ in range(200):
            out = law.step(q, v, 1e-3, tau=side * robot.limits.effort)
            assert out.q_command[3] <= robot.limits.upper[3] + 0.01
            q, v = out.q_command, out.v_command
    assert q[3] < robot.limits.upper[3] - 0.01


def test_command_can_always_brake_before_the_end():
    """The largest speed that limits allow falls with no more than a share of the acceleration."""
    assert BRAKING < 1.0 and NEAR_RATE * REACH <= 1.0


def test_wrench_and_joint_torques_move_the_virtual_robot_alike():
    ways = [pushed(sensor) for sensor in ("wrench", "torques")]
    assert ways[0][1] > 0.05
    assert np.allclose(*ways, atol=1e-9)


def pushed(sensor):
    """m, how far 5 N in the world's y move a frame that nothing holds."""
    robot = Robot.from_urdf(find_file("ur5"))
    law = Controller(robot, "gravity", admittance={"frame": "tool0", "sensor": sensor})
    q, v = np.array(POSES["ur5"]), np.zeros(6)
    start = robot.frame_pose(q, "tool0")
    for _ in range(300):
        pose, J = robot.frame_pose(q, "tool0"), robot.frame_jacobian(q, "tool0")
        world = np.array([0.0, 0.0, 0.0, 0.0, 5.0, 0.0])
        turned = np.kron(np.eye(2), pose[:3, :3].T) @ world
        felt = (
            {"measured_wrench": turned} if sensor == "wrench" else {"external_torque": J.T @ world}
        )
        out = law.step(q, v, 2e-3, **felt)
        q, v = out.q_command, out.v_command
    return robot.frame_pose(q, "tool0")[:3, 3] - start[:3, 3]


def test_robot_that_lags_is_told_from_one_that_does_not_follow():
    """One with the stated lag passes at any speed; one that stands is found at V T (1 + share)."""
    robot, lag, dt = Robot.from_urdf(find_file("ur5")), 0.05, 2e-3
    for stands in (False, True):
        option = {"sensor": "none", "lag": lag}
        law = Controller(robot, "computed_torque", admittance=option)
        q, late, v = np.array(POSES["ur5"]), np.array(POSES["ur5"]), np.zeros(6)
        goal, gone = q + np.array([1.5, 1.5, 1.2, 1.5, 1.5, 1.5]), 0.0
        for _ in range(600):
            out = law.step(late, v, dt, q_ref=goal)
            gone = np.abs(out.q_command - late).max()
            if "LAGGING" in out.status:
                break
            before = late
            late = q if stands else late + dt / lag * (out.q_command - late)
            v = (late - before) / dt
        assert ("LAGGING" in out.status) == stands
        if stands:
            assert gone < (1.0 + TOLERANCE) * lag * robot.limits.velocity.max() + 0.02
        else:
            assert np.abs(late - goal).max() < 0.01


def test_hold_restarts_at_the_measured_state():
    robot = Robot.from_urdf(find_file("ur5"))
    law = Controller(robot, "impedance", frame="tool0", admittance={"sensor": "none"})
    q, v = np.array(POSES["ur5"]), np.zeros(6)
    law.step(q, v, 2e-3)
    assert np.allclose(law.step(q + 0.05, v, 2e-3).q_command, q, atol=1e-9)
    law.hold()
    assert np.allclose(law.step(q + 0.05, v, 2e-3).q_command, q + 0.05, atol=1e-9)


def test_force_control_and_admittance_share_one_sensor():
    """The virtual robot presses on a spring until the sensor has the wanted force."""
    robot, k, dt = Robot.from_urdf(find_file("ur5")), 5000.0, 2e-3
    down = {"axes": [0, 0, 0, 0, 0, 1], "sensor": "wrench"}
    law = Controller(robot, "impedance", frame="tool0", force=down, admittance={})
    assert law.measured == {"measured_wrench": (6,)}
    q, v = np.array(POSES["ur5"]), np.zeros(6)
    floor = robot.frame_pose(q, "tool0")[2, 3] - 0.002
    for _ in range(1000):
        pose = robot.frame_pose(q, "tool0")
        force = k * max(0.0, floor - pose[2, 3])
        w = np.r_[np.zeros(3), pose[:3, :3].T @ [0.0, 0.0, force]]
        out = law.step(q, v, dt, measured_wrench=w, wrench=[0, 0, 0, 0, 0, -15.0])
        q, v = out.q_command, out.v_command
    assert force == pytest.approx(15.0, abs=0.05) and out.touching[5] == 1.0
    assert out.exerted[5] == pytest.approx(-15.0, abs=0.05)


@pytest.mark.parametrize(
    ("law", "options", "says"),
    [
        ("pd", {"admittance": True}, "expected a map with any of sensor, frame, lag"),
        ("pd", {"admittance": {}}, "frame of the wrench is None, expected a name"),
        ("pd", {"admittance": {"frame": "nose"}}, "'nose'"),
        ("pd", {"admittance": {"sensor": "skin"}}, "'wrench', 'torques', 'none'"),
        ("pd", {"admittance": {"sensor": "none", "lag": 0.0}}, "lag is 0.0"),
        ("pd", {"admittance": {"gain": 1.0}}, "'gain' is unknown"),
        ("pd", {"admittance": {"sensor": "none"}, "integral": 1.0}, "has no friction, integral"),
        (
            "pd",
            {"admittance": {"sensor": "none"}, "friction": {"viscous": 1.0}},
            "has no friction",
        ),
        ("adaptive", {"admittance": {"sensor": "none"}, "frame": "tool0"}, "law 'adaptive'"),
        (
            "impedance",
            {
                "frame": "tool0",
                "force": {"axes": [0, 0, 0, 0, 0, 1], "sensor": "wrench"},
                "admittance": {"sensor": "torques"},
            },
            "it has the sensor of `force`",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(law, options, says):
    with pytest.raises(InputError, match=says):
        Controller(Robot.from_urdf(find_file("ur5")), law, **options)


def test_robots_that_cannot_follow_are_refused():
    chain = Robot.family("chain", 3)
    weak = Robot(replace(chain.model, dofs=replace(chain.model.dofs, effort=np.zeros(3))))
    for robot, says in (
        (Robot.family("chain", 3, base="floating"), "has a floating base"),
        (Robot.named("panda", locked=()), "mimic others"),
        (weak, "a joint without effort"),
    ):
        with pytest.raises(InputError, match=says):
            Controller(robot, "gravity", admittance={"sensor": "none"})


def test_law_alone_gives_no_positions():
    law = Controller(Robot.from_urdf(find_file("ur5")), "pd", admittance={"sensor": "none"})
    with pytest.raises(InputError, match="positions come from `step`"):
        law.torque(np.zeros(6), np.zeros(6))
