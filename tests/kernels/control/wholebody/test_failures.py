"""When there is no solution: it is said why, and torques fade."""

import numpy as np
import pytest

from support.agreement import assert_agree
from support.wholebody_cases import FEET, STANDING, biped, random_state
from torqued.common.status import SOLVER
from torqued.kernels import Robot
from torqued.kernels.control.wholebody.whole_body import WholeBody

BOX = """<robot name="box"><link name="box"><inertial><mass value="3"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""

#: The underside of a box, so that the center of mass is above it.
UNDERSIDE = [[x, y, -0.1] for x in (0.1, -0.1) for y in (0.1, -0.1)]


def box(contacts):
    robot = Robot.from_xml(BOX, base="floating")
    control = WholeBody(robot, [{"kind": "com"}], contacts)
    return control, robot.neutral(), np.zeros(6)


def test_a_box_lies_on_a_table():
    control, q, v = box([{"frame": "box", "points": UNDERSIDE}])
    answer = control.torque(q, v, control.hold(q))
    assert answer["violated"] == "nothing"
    assert_agree(answer["force"][:, 2], np.full(4, 3 * 9.81 / 4), 1e-6)


@pytest.mark.parametrize(
    ("contact", "blamed"),
    [
        # A smooth wall holds nothing up.
        ({"frame": "box", "points": UNDERSIDE, "normal": [1, 0, 0], "friction": 0.0}, "friction"),
        # Nor does a slope that is steeper than its friction.
        ({"frame": "box", "points": UNDERSIDE, "normal": [1, 0, 1], "friction": 0.5}, "friction"),
        # Nor a table that must not be leant on.
        ({"frame": "box", "points": UNDERSIDE, "max_force": 20.0}, "friction"),
    ],
)
def test_friction_is_blamed_for_contacts_that_cannot_hold(contact, blamed):
    control, q, v = box([contact])
    answer = control.torque(q, v, control.hold(q))
    assert (answer["violated"], answer["status"]) == (blamed, SOLVER)


@pytest.mark.parametrize(("limit", "blamed"), [(1e4, "nothing"), (0.01, "torque")])
def test_torque_is_blamed_for_limits_that_cannot_hold_the_arm(limit, blamed):
    # Its hand must not move, and what it is held against carries nothing.
    robot = Robot.family("chain", 3)
    wall = {"frame": robot.frame_names[-1], "half_size": [0.1, 0.1], "max_force": 0.0}
    q, v = random_state(robot, 0, speed=0.0)
    control = WholeBody(robot, [{"kind": "posture"}], [wall], {"torque": limit})
    answer = control.torque(q, v, control.hold(q))
    assert answer["violated"] == blamed
    if blamed == "nothing":
        assert_agree(answer["tau"], robot.gravity(q), 1e-6)


def test_joint_limits_are_blamed_where_they_contradict_the_torques():
    robot = Robot.family("chain", 3)
    limits = {"torque": 0.0, "position": False, "velocity": False, "acceleration": 1e-3}
    control = WholeBody(robot, [{"kind": "posture"}], limits=limits)
    q, v = random_state(robot, 0, speed=0.0)
    answer = control.torque(q, v, control.hold(q))
    assert (answer["violated"], answer["status"]) == ("joint_limits", SOLVER)


@pytest.mark.parametrize("solved_before", [False, True])
def test_the_more_important_of_two_contradictions_is_blamed(solved_before):
    """Whichever a solver finds first, and whatever it has left behind of a solution."""
    robot = Robot.family("chain", 3)
    # A hand that must stop at once takes more than the motors have, and than joints are allowed.
    wall = {"frame": robot.frame_names[-1], "half_size": [0.1, 0.1], "max_force": 0.0}
    wall |= {"damping": 1e6}
    limits = {"torque": 200.0, "position": False, "velocity": False, "acceleration": 50.0}
    control = WholeBody(robot, [{"kind": "posture"}], [wall], limits)
    q, _ = random_state(robot, 0)
    v = np.array([0.3, -0.2, 0.4])
    if solved_before:
        assert control.torque(q, v, control.hold(q) | {"active": [0.0]})["violated"] == "nothing"
    answer = control.torque(q, v, control.hold(q))
    assert (answer["violated"], answer["status"]) == ("torque", SOLVER)


def test_a_report_takes_no_more_iterations_than_two_attempts():
    robot = Robot.family("chain", 3)
    wall = {"frame": robot.frame_names[-1], "half_size": [0.1, 0.1], "max_force": 0.0}
    q, v = random_state(robot, 0, speed=0.0)
    for iterations in range(1, 30):
        limits = {"torque": 0.01, "position": False, "velocity": False, "acceleration": 1e-3}
        args = (robot, [{"kind": "posture"}], [wall], limits)
        control = WholeBody(*args, iterations=iterations)
        answer = control.torque(q, v, control.hold(q))
        assert answer["status"] == SOLVER
        assert answer["iterations"] <= 2 * iterations
    assert answer["violated"] == "torque"


def test_bounds_of_joints_yield_where_a_standing_robot_would_fall():
    """Named, and with the torque of the same robot without bounds."""
    robot = biped(1)
    q, v = random_state(robot, 1)
    feet = [contact | {"friction": 5.0} for contact in FEET]
    free = {"position": False, "velocity": False}
    control = WholeBody(robot, STANDING, feet, free | {"acceleration": 1e-3})
    expected = WholeBody(robot, STANDING, feet, free).torque(q, v, control.hold(q))
    assert (expected["status"], expected["violated"]) == (0, "nothing")
    answer = control.torque(q, v, control.hold(q))  # feet that move have to stop
    assert (answer["status"], answer["violated"]) == (0, "joint_limits")
    assert_agree(answer["tau"], expected["tau"], 1e-6)


def test_torque_fades_after_the_last_solution():
    robot = Robot.family("chain", 3)
    wall = {"frame": robot.frame_names[-1], "half_size": [0.1, 0.1], "max_force": 0.0}
    # What moves at this speed would have to stop at once: too much for any motor.
    wall |= {"damping": 1e6}
    limits = {"torque": 200.0, "position": False, "velocity": False}
    control = WholeBody(robot, [{"kind": "posture"}], [wall], limits, fade=0.02)
    q, _ = random_state(robot, 0)
    v = np.array([0.3, -0.2, 0.4])
    free = control.hold(q) | {"active": [0.0]}
    held = control.torque(q, v, free)
    assert held["status"] == 0
    shares = []
    for _ in range(25):
        answer = control.torque(q, v, control.hold(q))
        assert (answer["status"], answer["violated"]) == (SOLVER, "torque")
        shares.append(answer["tau"] / held["tau"])
    expected = np.maximum(0.0, 1.0 - np.arange(1, 26) * 1e-3 / 0.02)
    assert_agree(np.array(shares), np.repeat(expected[:, None], robot.nv, 1), 1e-9)
    again = control.torque(q, v, free)
    assert again["status"] == 0
    assert_agree(again["tau"], held["tau"], 1e-9)


@pytest.mark.parametrize("place", ["q", "v", "reference", "max_force", "orientation"])
def test_numbers_that_make_no_sense_are_not_passed_on(place):
    robot = biped(1)
    control = WholeBody(robot, STANDING, FEET)
    q, v = random_state(robot, 1)
    state = control.pack(q, v, control.hold(q))
    good = control.tick(state)
    assert good["status"] == 0
    start = robot.nq + robot.nv
    if place == "orientation":
        state[start + 9 : start + 13] = 0.0  # no rotation at all
    else:
        at = {"q": 8, "v": robot.nq + 7, "reference": start + 1, "max_force": -1}[place]
        state[at] = np.nan
    answer = control.tick(state)
    assert answer["status"] == SOLVER
    for name in control.outputs:
        if name != "violated":
            assert np.isfinite(answer[name]).all(), name
    assert answer["violated"] == "input"


def test_an_iteration_cap_is_a_failure_and_not_a_wrong_torque():
    robot = biped(3)
    references = {"com.acceleration": [3.0, 3.0, -5.0]}
    q, v = random_state(robot, 3)
    capable = WholeBody(robot, STANDING, FEET, limits={"torque": 60.0})
    answer = capable.torque(q, v, capable.hold(q) | references)
    assert answer["iterations"] > 3
    capped = WholeBody(robot, STANDING, FEET, limits={"torque": 60.0}, iterations=2)
    assert capped.torque(q, v, capped.hold(q) | references)["status"] == SOLVER
