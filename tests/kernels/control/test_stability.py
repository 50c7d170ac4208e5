"""Stability on the loop, against loops that are stepped one tick after the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from support.robots import load_real, without_effort_limits
from torqued.common.rotation import quaternion
from torqued.kernels import InputError, Robot
from torqued.kernels.control import joint_gains, stability
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.poses import Poses, coupled_groups, poses_of, random_poses
from torqued.kernels.control.stability import (
    MAX_DELAY,
    check_gains,
    scaled,
    spectral_radii,
    step_matrix,
)
from torqued.kernels.model.catalog import find_file

PERIOD = 1e-3


def grows(M, K, D, delay, ticks=4000, parts=20):
    """Step the loop with exact motion between small parts of a period; whether its end is larger
    than its middle. Nothing of it is the code under test."""
    n = len(M)
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=n), np.zeros(n)
    h = PERIOD / parts
    late = round(delay / h)
    sent = [np.zeros(n)] * (late + 1)
    sizes = []
    for k in range(ticks * parts):
        if k % parts == 0:
            held = np.linalg.solve(M, -K @ q - D @ v)
            sizes.append(np.linalg.norm(q) + np.linalg.norm(v))
        sent.append(held)
        a = sent[-1 - late]
        q, v = q + h * v + 0.5 * h * h * a, v + h * a
        if sizes[-1] > 1e9:
            return True
    return max(sizes[-200:]) > max(sizes[ticks // 4 : ticks // 4 + 200])


@pytest.mark.parametrize("delay", [0.0, 0.0005, 0.002, 0.0031, 0.0085, 0.05])
def test_radius_tells_growth_from_decay(delay):
    rng = np.random.default_rng(1)
    root = rng.normal(size=(2, 2))
    M = root @ root.T + 0.2 * np.eye(2)
    K, D = 400.0 * np.diag([1.0, 0.3]), 30.0 * np.array([[1.0, 0.1], [0.1, 0.5]])
    seen = set()
    # Just below and above the largest rates that are stable.
    low, high = 0.1, 300.0
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        radius = spectral_radii(M[None], middle**2 * K[None], middle * D[None], PERIOD, delay)[0]
        low, high = (middle, high) if radius < 1.0 else (low, middle)
    for rates in (0.9 * low, 1.1 * high):
        radius = spectral_radii(M[None], rates**2 * K[None], rates * D[None], PERIOD, delay)[0]
        assert grows(M, rates**2 * K, rates * D, delay) == (radius > 1.0)
        seen.add(bool(radius > 1.0))
    assert seen == {True, False}


@pytest.mark.parametrize("delay", [0.0041, 0.008, 0.0203, 0.05])
def test_loop_that_stands_for_a_later_one_is_stable_up_to_the_same_rates(delay):
    """Against the whole problem, with every input that is still to act."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(3, 3))
    K, D = 400.0 * root @ root.T, 30.0 * (np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
    M = np.eye(3)[None]
    low, high = 1e-3, 10.0
    while high / low > 1.0001:
        rates = math.sqrt(low * high)
        radius = spectral_radii(M, rates**2 * K[None], rates * D[None], PERIOD, delay)[0]
        low, high = (rates, high) if radius < 1.0 else (low, rates)
    sizes = [
        np.abs(np.linalg.eigvals(step_matrix(r**2 * K[None], r * D[None], PERIOD, delay))).max()
        for r in (0.99 * low, 1.01 * low)
    ]
    assert sizes[0] < 1.0 < sizes[1]


@pytest.mark.parametrize("name", ["panda", "ur5", "talos"])
def test_size_of_the_check_does_not_grow_with_the_delay(name, monkeypatch):
    robot = load_real(find_file(name))
    joints = max(len(group) for group in coupled_groups(poses_of(robot).M))
    seen = []

    def step(A, B, period, delay):
        seen.append((2 + math.ceil(delay / period - 1e-6)) * A.shape[-1])
        assert seen[-1] <= 6 * joints
        return step_matrix(A, B, period, delay)

    monkeypatch.setattr(stability, "step_matrix", step)
    for period in (1e-3, 5e-4):
        for delay in (0.0, 0.002, 0.0043, 0.012, MAX_DELAY):
            assert Controller(robot, "pd_plus").stabilize(period, delay).factor > 0.0
    assert seen


def test_modes_one_by_one_are_those_of_all_together():
    """Damping that shares K's modes takes another way through the code."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(5, 4, 4))
    M = root @ root.transpose(0, 2, 1) + np.eye(4)
    K = np.broadcast_to(np.diag(rng.uniform(100.0, 2000.0, 4)), M.shape)
    D = 20.0 * M + 0.01 * K
    together = spectral_radii(M, K, D, PERIOD, 0.002)
    L = np.linalg.cholesky(M)
    A, B = (
        np.linalg.solve(L, np.linalg.solve(L, X).transpose(0, 2, 1)).transpose(0, 2, 1)
        for X in (K, D)
    )
    eigenvalues = np.linalg.eigvals(step_matrix(A, B, PERIOD, 0.002))
    assert np.allclose(together, np.abs(eigenvalues).max(axis=1), rtol=1e-9)


def test_groups_are_joints_that_act_on_each_other():
    M = np.eye(5)[None].copy()
    M[0, 1, 3] = M[0, 3, 1] = 0.5
    assert [list(group) for group in coupled_groups(M)] == [[0], [1, 3], [2], [4]]
    K = np.zeros((1, 5, 5))
    K[0, 4, 3] = 1.0
    assert [list(group) for group in coupled_groups(M, K)] == [[0], [1, 3, 4], [2]]


@pytest.fixture(scope="module")
def panda():
    return Robot.from_urdf(find_file("panda"))


def test_gains_that_a_user_gave_are_refused_with_what_would_be_stable(panda):
    given = {"stiffness": 1000.0, "damping": 50.0}
    controller = Controller(panda, "pd_plus", gains=given)
    with pytest.raises(InputError, match=r"delay of 2 ms: at q = \[.*stable: stiff"):
        controller.stabilize(PERIOD)
    found = check_gains(panda, LAWS["pd_plus"], controller.gains, {}, PERIOD)
    assert not found.stable and found.margin < 0.0 and 0.0 < found.factor < 1.0
    slower = {"stiffness": 1000.0 * found.factor**2, "damping": 50.0 * found.factor}
    assert Controller(panda, "pd_plus", gains=slower).stabilize(PERIOD).stable
    faster = {"stiffness": 1200.0 * found.factor**2, "damping": 55.0 * found.factor}
    with pytest.raises(InputError, match="unstable"):
        Controller(panda, "pd_plus", gains=faster).stabilize(PERIOD)


#: Of libfranka's example of joint impedance: N m/rad and N m s/rad.
FRANKA = {
    "stiffness": [600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0],
    "damping": [50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0],
}


def test_gains_of_the_maker_are_stable_with_rotors_and_without_them_the_refusal_says_so():
    assert Controller(Robot.named("panda"), "pd_plus", gains=FRANKA).stabilize(PERIOD).stable
    bare = Robot.named("panda", armature={})
    with pytest.raises(InputError, match=r"no rotor inertia at panda_joint7, .*\[robot.armature\]"):
        Controller(bare, "pd_plus", gains=FRANKA).stabilize(PERIOD)


def test_rotors_are_not_blamed_where_they_would_not_help(panda):
    huge = {"stiffness": 1e6, "damping": 1e5}
    for robot in (panda, Robot.named("panda")):
        with pytest.raises(InputError, match="unstable") as caught:
            Controller(robot, "pd_plus", gains=huge).stabilize(PERIOD)
        assert "rotor" not in str(caught.value)


def test_unstable_gains_are_kept_on_the_word_of_a_user(panda):
    controller = Controller(panda, "pd_plus", gains={"stiffness": 1000.0, "damping": 50.0})
    found = controller.stabilize(PERIOD, check="warn")
    assert not found.stable and "gains are unstable" in found.overridden
    assert controller.overridden == found.overridden
    assert np.allclose(np.diag(controller.gains["stiffness"]), 1000.0)
    controller.tuned({"stiffness": 1.0, "damping": 0.1}, PERIOD, check="warn")
    assert controller.overridden == ""
    with pytest.raises(InputError, match="check: 'never'"):
        controller.stabilize(PERIOD, check="never")


def test_gains_that_nobody_gave_are_reduced_for_a_long_delay(panda):
    controller = Controller(panda, "pd_plus")
    before = controller.gains["stiffness"].copy()
    assert controller.stabilize(PERIOD).stable
    assert np.array_equal(controller.gains["stiffness"], before)
    found = controller.stabilize(PERIOD, 0.03)
    assert not found.stable and found.factor < 1.0
    assert np.allclose(controller.gains["stiffness"], found.factor**2 * before)
    taken = controller.data.gains[: before.size]
    assert np.array_equal(taken, controller.gains["stiffness"].ravel())
    assert controller.stabilize(PERIOD, 0.03).stable


@pytest.mark.parametrize("value", [-0.001, 1.0, math.nan])
def test_delay_that_makes_no_sense_is_refused(panda, value):
    with pytest.raises(InputError, match="delay is"):
        Controller(panda, "pd").stabilize(PERIOD, value)


@pytest.mark.parametrize("size", [1e40, 1e300])
def test_gains_beyond_all_reason_are_refused_and_nothing_overflows(panda, size):
    for law, gains in (
        ("pd", {"stiffness": size}),
        ("pd", {"damping": size}),
        ("computed_torque", {"stiffness": size}),
        ("passivity", {"bandwidth": size}),
    ):
        with pytest.raises(InputError, match="unstable"):
            Controller(panda, law, gains=gains).stabilize(PERIOD)


def answers(controller, q, directions, references):
    """−∂τ/∂q for references that move, so that gravity stays, and −∂τ/∂v, by differences."""
    robot, still, step = controller.robot, np.zeros(controller.robot.nv), 1e-6

    def along(at, v):
        return directions.T @ controller.torque(q, v, **references(at)).tau

    K, D = [], []
    for way in directions.T:
        ahead, behind = (robot.integrate(q, way, sign * step) for sign in (1.0, -1.0))
        K.append((along(ahead, still) - along(behind, still)) / (2 * step))
        D.append((along(q, -step * way) - along(q, step * way)) / (2 * step))
    return np.array(K).T, np.array(D).T


@pytest.mark.parametrize(("name", "frame"), [("ur5", "tool0"), ("so101", "gripper_frame_link")])
def test_impedance_at_rest_is_what_its_torques_answer(name, frame):
    robot = without_effort_limits(load_real(find_file(name)))
    controller = Controller(robot, "impedance", frame=frame, gains={"posture_damping": 0.01})
    poses = random_poses(robot, 6, seed=3)
    poses = Poses(poses.q[1:], poses.M[1:])
    K, D = LAWS["impedance"].linearization(robot, controller.gains, controller.fields, poses)

    # Joints lean on their ends by more than a step: that stiffness is of one side.
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)

    def references(q):
        pose = robot.frame_pose(q, frame)
        turned = quaternion(pose[:3, :3])
        posture = q - 2e-6 * np.sign(q - middle)
        return {"position": pose[:3, 3], "orientation": turned, "posture": posture}

    for q, k, d in zip(poses.q, K, D, strict=True):
        seen = answers(controller, q, np.eye(robot.nv), references)
        np.testing.assert_allclose(k, seen[0], atol=1e-5 * np.abs(k).max())
        np.testing.assert_allclose(d, seen[1], atol=1e-7 * np.abs(d).max())


def standing_go2(law):
    """Feet that do not slip and motors without limits: nothing of the programs binds."""
    robot = without_effort_limits(load_real(find_file("go2"), "floating"))
    feet = [f"{side}_foot" for side in ("FL", "FR", "RL", "RR")]
    options = {"contacts": [{"frame": foot, "friction": 20.0} for foot in feet]}
    if law == "wholebody":
        options["limits"] = dict.fromkeys(("torque", "velocity", "position"), False)
        options["tasks"] = [
            {"kind": "com"},
            {"kind": "orientation", "frame": "base"},
            {"kind": "posture"},
            {"kind": "momentum"},
            {"kind": "frame", "frame": "FL_calf", "relative_to": "RR_thigh", "point": [0, 0, 0.1]},
        ]
        options["gains"] = {"force_weight": 1e-12}
    else:
        options["tasks"] = [{"kind": "frame", "frame": "FL_calf"}]
    return Controller(robot, law, **options)


@pytest.mark.parametrize("law", ["wholebody", "balance"])
def test_standing_robot_at_rest_is_what_its_torques_answer(law):
    controller = standing_go2(law)
    robot, fields = controller.robot, controller.fields
    poses = LAWS[law].stances(robot, fields)
    assert poses.free.shape == (len(poses), 18, 6)
    K, D = LAWS[law].linearization(robot, controller.gains, fields, poses)
    hold = controller.prepared.owner.hold
    for k in (0, 1):
        seen = answers(controller, poses.q[k], poses.free[k], hold)
        np.testing.assert_allclose(K[k], seen[0], atol=1e-4 * np.abs(K[k]).max())
        np.testing.assert_allclose(D[k], seen[1], atol=1e-4 * np.abs(D[k]).max())


REFUSED = [
    ("impedance", {"frame": "tool0"}, {"stiffness": 1e6}, r"rotational_stiffness × 0\.\d"),
    ("impedance", {"frame": "tool0"}, {"stiffness": 1e300}, "nothing down to rates × 0.001"),
    ("wholebody", {"tasks": [{"kind": "posture"}]}, {"posture.damping": 2e3}, r"posture.damping ×"),
    ("wholebody", {"tasks": [{"kind": "posture", "stiffness": 1e6}]}, {}, "posture.stiffness ×"),
]


@pytest.mark.parametrize(("law", "options", "gains", "message"), REFUSED)
def test_gains_of_task_space_laws_are_refused_with_what_would_be_stable(
    law, options, gains, message
):
    robot = load_real(find_file("ur5"))
    controller = Controller(robot, law, **options, gains=gains)
    with pytest.raises(InputError, match=rf"delay of 2 ms: at q = \[.*stable: .*{message}"):
        controller.stabilize(PERIOD)


def test_gains_of_balancing_are_refused_or_reduced():
    controller = standing_go2("balance")
    before = controller.gains["base.damping"].copy()
    assert controller.stabilize(PERIOD).stable
    found = controller.stabilize(PERIOD, 0.015)
    assert not found.stable
    assert np.allclose(controller.gains["base.damping"], found.factor * before)
    with pytest.raises(InputError, match=r"stable: .*base\.damping × "):
        controller.tuned({"base.damping": 300.0 * before}, PERIOD)


def test_laws_without_springs_in_the_joints_are_not_judged():
    robot = Robot.family("chain", 3)
    assert Controller(robot, "stream").stabilize(PERIOD) is None
    assert Controller(robot, "gravity").stabilize(PERIOD).stable
    with pytest.raises(InputError, match="damping × "):
        Controller(robot, "gravity", gains={"damping": 100.0}).stabilize(PERIOD)


ARMS = ("ur10", "kinova", "xarm7", "so101")


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("law", ["pd", "pd_plus", "passivity", "computed_torque"])
def test_default_gains_are_stable_at_poses_they_were_not_chosen_for(name, law):
    robot = load_real(find_file(name))
    poses = random_poses(robot, 300, seed=99)
    gains = LAWS[law].gains(robot, {}, {})
    K, D = LAWS[law].linearization(robot, gains, {}, poses)
    assert spectral_radii(poses.M, K, D, PERIOD, 0.003).max() < 1.0


@pytest.mark.parametrize("name", ARMS)
def test_default_gains_are_stable_with_rotors_that_the_model_lacks(name):
    robot = load_real(find_file(name), armature={})
    poses = random_poses(robot, 100, seed=98)
    for law in ("pd", "pd_plus", "passivity", "computed_torque"):
        gains = LAWS[law].gains(robot, {}, {})
        K, D = LAWS[law].linearization(robot, gains, {}, poses)
        for inertia in (1e-4, 5e-3, 3e-2):  # kg m² per N m: from direct drives to heavy gears
            driven = poses.M + np.diag(inertia * robot.limits.effort)
            assert spectral_radii(driven, K, D, PERIOD, 0.003).max() < 1.0


@pytest.mark.parametrize("name", [*ARMS, "panda", "ur5"])
def test_default_spring_takes_the_effort_within_a_radian_or_is_as_fast_as_the_loop_can_follow(name):
    robot = load_real(find_file(name))
    M, effort = poses_of(robot).M, robot.limits.effort
    k = np.diag(LAWS["pd_plus"].gains(robot, {}, {})["stiffness"])
    asked = np.diag(LAWS["pd_plus"].gains(robot, {"frequency": 20.0}, {})["stiffness"])
    assert (k > 0.999 * asked).all()  # the floor takes nothing from any joint
    assert (k > 1.5 * asked).any()
    for j in np.flatnonzero(k < 0.9 * effort):
        stiffer = k.copy()
        stiffer[j] *= 2.0
        squares = np.linalg.eigvals(np.linalg.solve(M, np.diag(stiffer))).real.max()
        assert math.sqrt(squares) > 0.98 * joint_gains.FASTEST


def test_light_branch_does_not_weaken_the_others():
    """Talos' arm alone, and beside a joint that weighs nothing: the same stiffness."""
    M = poses_of(load_real(find_file("talos_left_arm"))).M
    n = M.shape[-1]
    both = np.zeros((len(M), n + 1, n + 1))
    both[:, :n, :n], both[:, n, n] = M, 1e-6
    wanted = np.full(n + 1, joint_gains.FREQUENCY)
    beside = joint_gains.stiffness_at(both, wanted, 0.0 * wanted)
    assert np.allclose(beside[:n], joint_gains.stiffness_at(M, wanted[:n], 0.0 * wanted[:n]))
    assert np.isclose(beside[n], 1e-6 * joint_gains.FREQUENCY**2)


def test_fastest_mode_of_the_default_stiffness_is_as_said():
    for name in ARMS:
        robot = load_real(find_file(name))
        K = LAWS["pd"].gains(robot, {}, {})["stiffness"]
        squares = [np.linalg.eigvals(np.linalg.solve(M, K)).real.max() for M in poses_of(robot).M]
        assert math.sqrt(max(squares)) < 1.02 * joint_gains.FASTEST


def test_damping_ratio_is_that_of_the_fastest_mode():
    robot = load_real(find_file("xarm7"))
    gains = LAWS["pd"].gains(robot, {"damping_ratio": 0.8}, {})
    poses = poses_of(robot)
    ratios, frequencies = [], []
    for M in poses.M:
        values, vectors = np.linalg.eig(np.linalg.solve(M, gains["stiffness"]))
        D = gains["damping"] + gains["damping_rate"] * M
        for square, x in zip(values.real, vectors.real.T, strict=True):
            frequencies.append(math.sqrt(square))
            ratios.append((x @ D @ x) / (x @ M @ x) / (2.0 * math.sqrt(square)))
    assert abs(ratios[int(np.argmax(frequencies))] - 0.8) < 0.02
    assert min(ratios) > 0.55 * 0.8


def test_scaled_gains_are_the_same_motion_slowed_down():
    law = LAWS["passivity"]
    gains = {"bandwidth": np.eye(2), "damping": np.eye(2), "damping_rate": np.array(4.0)}
    slower = scaled(law, gains, 0.5)
    assert slower["damping_rate"] == 2.0 and np.array_equal(slower["bandwidth"], 0.5 * np.eye(2))
