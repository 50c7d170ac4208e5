"""The whole-body program: its answers are optimal, and physics agrees with them."""

import daqp
import numpy as np
import pytest

from support.agreement import assert_agree
from support.wholebody_cases import (
    FEET,
    STANDING,
    TALOS,
    biped,
    program_and_solution,
    random_references,
    random_state,
    talos,
    wrenches,
)
from torqued.common.status import SOLVER
from torqued.kernels import Robot
from torqued.kernels.control.wholebody.dense import dense_program
from torqued.kernels.control.wholebody.whole_body import WholeBody

SEEDS = range(6)

ALL_TASKS = [
    {"kind": "com", "weight": 20.0},
    {"kind": "momentum"},
    {"kind": "frame", "frame": "body", "axes": [1, 1, 1, 0, 0, 1]},
    {"kind": "point", "frame": "link_left_03", "point": [0.1, 0.0, 0.2], "weight": 1.0},
    {"kind": "orientation", "frame": "link_right_02", "weight": 0.5},
    {"kind": "posture", "joints": ["joint_left_01", "joint_right_04"]},
    {"kind": "posture"},
]


@pytest.fixture(scope="module", params=SEEDS)
def case(request):
    robot = biped(request.param)
    control = WholeBody(robot, ALL_TASKS, FEET, limits={"torque": 300.0})
    q, v = random_state(robot, request.param)
    references = random_references(control, q, request.param)
    state = control.pack(q, v, references)
    answer = control.tick(state)
    assert answer["violated"] == "nothing"
    return control, q, v, references, state, answer


def assert_optimal(program, x, tolerance=1e-6):
    """Karush-Kuhn-Tucker: multipliers may come from anywhere, the conditions judge x."""
    H, f, A, lower, upper = program
    _, _, flag, info = daqp.solve(H, f, A, upper, lower, program.sense)
    assert flag == 1
    multipliers = info["lam"]
    n = len(lower) - len(A)
    rows = np.vstack([np.eye(len(x))[:n], A])
    values = rows @ x
    size = 1.0 + np.abs(rows * x).sum(axis=1)
    assert ((lower - values) / size).max() < tolerance
    assert ((values - upper) / size).max() < tolerance
    gradient = H @ x + f
    assert np.abs(gradient + rows.T @ multipliers).max() < tolerance * (1 + np.abs(gradient).max())
    free = lower != upper
    slack = np.where(multipliers > 0.0, upper - values, values - lower)
    holds = free & (multipliers != 0.0)
    assert np.abs(multipliers[holds] * slack[holds]).max(initial=0.0) < tolerance * size.max()


def test_solution_meets_the_optimality_conditions(case):
    control, *_, state, _ = case
    assert_optimal(*program_and_solution(control, state))


def test_torques_accelerations_and_forces_obey_the_equations_of_motion(case):
    control, q, v, _, _, answer = case
    acting = wrenches(control, answer["force"])
    tau = control.robot.inverse_dynamics(q, v, answer["a"], f_ext=acting)
    assert_agree(tau, answer["tau"], 1e-6)
    assert (answer["tau"][:6] == 0.0).all()


def test_points_in_contact_stay(case):
    control, q, v, _, _, answer = case
    damping = control.gains[control.gain_names[f"contact.{FEET[0]['frame']}.damping"]]
    for contact in FEET:
        for point in ([0.1, 0.05, 0.0], [-0.1, 0.05, 0.0], [0.0, 0.0, 0.0]):
            frame = contact["frame"]
            a = control.robot.frame_acceleration(q, v, answer["a"], frame, point=point)
            u = control.robot.frame_velocity(q, v, frame, point=point)
            turning = np.cross(u[:3], u[3:] - control.robot.frame_velocity(q, v, frame)[3:])
            held = a[3:] - turning + damping * u[3:]
            assert np.abs(held).max() < 1e-6 * (1 + np.abs(a).max())


def test_forces_are_inside_their_cones(case):
    *_, answer = case
    force = answer["force"]
    assert (force[:, 2] > -1e-6).all()
    across = np.hypot(force[:, 0], force[:, 1])
    assert (across <= 0.8 * force[:, 2] + 1e-6 * (1 + np.abs(force).max())).all()


def test_torques_are_inside_their_limits():
    robot = biped(1)
    q, v = random_state(robot, 1)
    free = WholeBody(robot, STANDING, FEET, limits={"torque": False})
    references = free.hold(q)
    loads = np.abs(free.torque(q, v, references)["tau"])
    limit = 0.9 * loads.max()
    tight = WholeBody(robot, STANDING, FEET, limits={"torque": limit})
    answer = tight.torque(q, v, references)
    assert answer["violated"] == "nothing"
    assert np.abs(answer["tau"]).max() <= limit
    assert_optimal(*program_and_solution(tight, tight.pack(q, v, references)))


def test_without_contacts_the_center_of_mass_falls_freely():
    robot = biped(2)
    control = WholeBody(robot, STANDING, FEET)
    q, v = random_state(robot, 2)
    references = control.hold(q) | {"active": [0.0, 0.0]}
    answer = control.torque(q, v, references)
    assert answer["violated"] == "nothing"
    assert (answer["force"] == 0.0).all()
    rate = robot.centroidal_matrix(q) @ answer["a"] + robot.centroidal_bias(q, v)
    fall = np.concatenate([np.zeros(3), robot.total_mass * robot.gravity_vector])
    assert_agree(rate, fall, 1e-6)


def test_task_is_met_where_nothing_stands_against_it():
    robot = Robot.family("chain", 7)
    frame = robot.frame_names[-1]
    task = {"kind": "point", "frame": frame, "weight": 1e6, "stiffness": 30.0, "damping": 5.0}
    control = WholeBody(robot, [task], limits={"torque": False, "position": False})
    q, v = random_state(robot, 0)
    target = robot.frame_pose(q, frame)[:3, 3] + [0.02, 0.0, -0.01]
    answer = control.torque(q, v, {"point.position": target})
    a = robot.frame_acceleration(q, v, answer["a"], frame)[3:]
    wanted = 30.0 * np.array([0.02, 0.0, -0.01]) - 5.0 * robot.frame_velocity(q, v, frame)[3:]
    assert_agree(a, wanted, 1e-5)
    assert_agree(answer["error"][0, 1], np.linalg.norm([0.02, 0.0, -0.01]), 1e-9)


@pytest.mark.parametrize("kind", ["point", "orientation", "frame"])
def test_relative_task_moves_one_frame_as_wanted_in_the_axes_of_the_other(kind):
    """Seen from the other frame, which moves and turns: against differences of relative poses."""
    robot = biped(6)
    frame, other, point = "link_left_04", "link_right_03", np.array([0.05, 0.1, -0.1])
    task = {"kind": kind, "frame": frame, "relative_to": other, "weight": 1e4, "name": "it"}
    task |= {} if kind == "orientation" else {"point": point}
    control = WholeBody(robot, [task], limits={"torque": False})
    q, v = random_state(robot, 6)
    references = control.hold(q)
    rng = np.random.default_rng(6)
    for name in ("it.velocity", "it.acceleration"):
        references[name] = rng.normal(size=references[name].shape)
    a = control.torque(q, v, references)["a"]
    at = np.zeros(3) if kind == "orientation" else point

    def seen(t):
        """Relative pose on the way that a makes of q and v."""
        moved = robot.integrate(q, v + 0.5 * t * a, t)
        pose = robot.frame_pose(moved, frame) @ np.block([[np.eye(3), at[:, None]], [0, 0, 0, 1]])
        return np.linalg.solve(robot.frame_pose(moved, other), pose)

    h = 1e-4
    before, now, after = seen(-h), seen(0.0), seen(h)
    shift = (after - before)[:3, 3] / (2 * h)
    bend = (after - 2.0 * now + before)[:3, 3] / h**2
    spin, turned = (after - before)[:3, :3] / (2 * h), (after - 2 * now + before)[:3, :3] / h**2
    omega = vector(spin @ now[:3, :3].T)
    alpha = vector(turned @ now[:3, :3].T)
    twist = np.concatenate([omega, shift])
    rate = np.concatenate([alpha, bend])
    rows = {"point": slice(3, 6), "orientation": slice(0, 3), "frame": slice(0, 6)}[kind]
    damping = 20.0
    wanted = references["it.acceleration"] + damping * (references["it.velocity"] - twist[rows])
    assert_agree(rate[rows], wanted, 1e-3)


def vector(A):
    """The axis of the skew part of a matrix."""
    return 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])


@pytest.mark.parametrize("active", [(1, 0, 0), (0, 1, 1), (1, 1, 1), (0, 0, 1), (0, 0, 0)])
def test_contacts_that_are_inactive_might_as_well_not_have_been_named(active):
    robot = biped(3)
    hand = {"frame": "link_left_02", "points": [[0.0, 0.0, 0.1]], "normal": [0.0, 1.0, 0.5]}
    every = [*FEET, hand]
    control = WholeBody(robot, STANDING, every, limits={"torque": False})
    few = [contact for contact, on in zip(every, active, strict=True) if on]
    alone = WholeBody(robot, STANDING, few, limits={"torque": False})
    q, v = random_state(robot, 3)
    references = random_references(control, q, 3)
    control.torque(q, v, references)  # with all of them, so that there is something to forget
    answer = control.torque(q, v, references | {"active": active})
    names = {name: value for name, value in references.items() if "." in name}
    names["contact_force"] = references["contact_force"][np.array(active, bool)]
    expected = alone.torque(q, v, names)
    assert answer["violated"] == expected["violated"] == "nothing"
    assert_agree(answer["tau"], expected["tau"], 1e-7)
    assert_agree(answer["a"], expected["a"], 1e-7)


def test_a_start_from_the_last_tick_changes_nothing_but_the_iterations():
    robot = biped(4)
    warm = WholeBody(robot, STANDING, FEET, limits={"torque": 150.0})
    q, v = random_state(robot, 4)
    references = random_references(warm, q, 4)
    spared = 0
    for k in range(12):
        references["com.acceleration"] = [2.0 * np.sin(0.3 * k), 1.0, -2.0]
        state = warm.pack(q, v, references)
        cold = WholeBody(robot, STANDING, FEET, limits={"torque": 150.0}).tick(state)
        answer = warm.tick(state)
        assert_agree(answer["tau"], cold["tau"], 1e-7)
        spared += cold["iterations"] - answer["iterations"]
        q = robot.integrate(q, v, 1e-3)
    assert spared > 0


def test_a_contact_is_unloaded_by_its_largest_force():
    robot = biped(5)
    control = WholeBody(robot, STANDING, FEET, limits={"torque": False})
    q, v = random_state(robot, 5, speed=0.0)
    references = control.hold(q)
    before = control.torque(q, v, references)["force"][:4, 2].sum()
    assert before > 1.0
    for share in (0.6, 0.2, 0.0):
        references["max_force"] = [share * before, 1e30]
        answer = control.torque(q, v, references)
        assert answer["violated"] == "nothing"
        assert answer["force"][:4, 2].sum() <= share * before + 1e-5 * before
    assert np.abs(answer["force"][:4]).max() < 1e-5 * before


def test_contact_presses_with_the_wanted_force_where_tasks_leave_it_open():
    """Held at both ends, an arm may press as it likes: it presses as it is asked to."""
    robot = Robot.family("chain", 7, seed=2)
    tip = {"frame": robot.frame_names[-1], "normal": [0.0, 0.0, 1.0], "friction": 1.0}
    control = WholeBody(robot, [{"kind": "posture"}], [tip], limits={"torque": False})
    q, v = random_state(robot, 3, speed=0.0)
    references = control.hold(q)
    for wanted in (0.0, 12.0, 40.0):
        answer = control.torque(q, v, references | {"contact_force": [wanted]})
        assert answer["violated"] == "nothing"
        assert answer["force"][0] == pytest.approx([0.0, 0.0, wanted], abs=0.02 * wanted + 1e-3)
        tau = robot.gravity(q) - robot.frame_jacobian(q, tip["frame"])[5] * wanted
        assert np.allclose(answer["tau"], tau, atol=0.02 * wanted + 0.05)
    limited = references | {"contact_force": [40.0], "max_force": [15.0]}
    assert control.torque(q, v, limited)["force"][0, 2] <= 15.0 + 1e-4


def test_joints_do_not_leave_their_limits():
    robot = Robot.family("chain", 4)
    control = WholeBody(robot, [{"kind": "posture"}], limits={"torque": False, "velocity": 2.0})
    q, v = robot.neutral(), np.zeros(4)
    far = np.full(4, 10.0)  # beyond the limits of ±π
    fastest = 0.0
    for _ in range(4000):
        answer = control.torque(q, v, {"posture.position": far})
        assert answer["violated"] == "nothing"
        v = v + 1e-3 * answer["a"]
        q = q + 1e-3 * v
        fastest = max(fastest, np.abs(v).max())
    assert (q <= robot.limits.upper + 1e-3).all()
    assert (q > robot.limits.upper - 0.05).all()
    assert 1.9 < fastest <= 2.0 + 1e-9


def test_limits_of_position_may_be_given_where_the_robot_has_none():
    text = """<robot name="wheel"><link name="a"/><link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    robot = Robot.from_xml(text)
    control = WholeBody(robot, [{"kind": "posture"}], limits={"position": [[-0.2, 0.1]]})
    q, v = robot.neutral(), np.zeros(1)
    for _ in range(1500):
        v = v + 1e-3 * control.torque(q, v, {"posture.position": [9.0]})["a"]
        q = q + 1e-3 * v
    assert 0.09 < q[0] < 0.1001


def test_mimic_joints_are_followed():
    text = """<robot name="two"><link name="a"/>
    <link name="b"><inertial><origin xyz="0.2 0 0.1"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <link name="c"><inertial><origin xyz="0.3 0.1 0"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
      <limit lower="-3" upper="3" effort="90" velocity="9"/></joint>
    <joint name="k" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.4 0 0"/>
      <axis xyz="0 0.6 0.8"/><limit lower="-3" upper="3" effort="9" velocity="9"/>
      <mimic joint="j" multiplier="-0.5" offset="0.2"/></joint></robot>"""
    robot = Robot.from_xml(text)
    control = WholeBody(robot, [{"kind": "posture", "weight": 1e3}, {"kind": "com"}])
    answer = control.torque([0.3], [0.5], control.hold([0.3]) | {"posture.position": [0.4]})
    assert answer["violated"] == "nothing"
    assert_agree(answer["tau"], robot.inverse_dynamics([0.3], [0.5], answer["a"]), 1e-9)
    assert_optimal(*program_and_solution(control, control.pack([0.3], [0.5], control.hold([0.3]))))


def test_redundant_contacts_are_no_contradiction():
    robot = biped(0)
    feet = [{"frame": "link_left_06", "half_size": [0.1, 0.05]}] * 2
    points = [{"frame": "link_left_06", "points": [[0.1, 0, 0], [-0.1, 0, 0]]}]
    q, v = random_state(robot, 0, speed=0.0)
    for contacts in (feet, points):
        control = WholeBody(robot, STANDING, contacts, limits={"torque": False})
        answer = control.torque(q, v, control.hold(q))
        assert answer["violated"] == "nothing"
        tau = robot.inverse_dynamics(q, v, answer["a"], f_ext=wrenches(control, answer["force"]))
        assert_agree(tau, answer["tau"], 1e-6)


@pytest.mark.skipif(not TALOS.exists(), reason="example-robot-data is not installed")
def test_talos_stands_with_defaults():
    robot = talos()
    tasks = [{"kind": "com"}, {"kind": "orientation", "frame": "base_link"}, {"kind": "posture"}]
    feet = [{"frame": f"{side}_sole_link", "half_size": [0.1, 0.06]} for side in ("left", "right")]
    control = WholeBody(robot, tasks, feet)
    q = robot.neutral()
    answer = control.torque(q, np.zeros(robot.nv), control.hold(q))
    assert answer["status"] == 0
    assert np.abs(answer["a"]).max() < 0.02
    weight = -robot.total_mass * robot.gravity_vector
    assert_agree(answer["force"].sum(axis=0), weight, 1e-4)
    assert_optimal(*program_and_solution(control, control.pack(q, answer["a"], control.hold(q))))


def test_program_that_is_handed_out_is_the_program_that_is_solved(case):
    control, *_, state, answer = case
    H, f, A, lower, upper = program = dense_program(control, state)
    x, _, flag, _ = daqp.solve(H, f, A, upper, lower, program.sense)
    assert flag == 1
    assert_agree(x[: control.robot.nv], answer["a"], 1e-6)
    assert answer["status"] & SOLVER == 0
