"""Errors that are bounded: what their springs say of themselves, and what comes of them."""

from __future__ import annotations

import numpy as np
import pytest

from support.compiled_kernels import from_python
from torqued.kernels import Robot
from torqued.kernels.control import saturation
from torqued.kernels.control.controller import Controller
from torqued.kernels.model.catalog import find_file

saturated, slope = from_python(saturation.saturated), from_python(saturation.slope)
potential, approach = from_python(saturation.potential), from_python(saturation.approach)
drawn_in = from_python(saturation.drawn_in)
ERRORS = np.concatenate([-np.geomspace(1e-4, 10.0, 60)[::-1], np.geomspace(1e-4, 10.0, 60)])
LIMIT, SPEED = 0.3, 1.7


def test_spring_is_linear_inside_bounded_outside_and_grows_everywhere():
    values = np.array([saturated(e, LIMIT) for e in ERRORS])
    inside = np.abs(ERRORS) <= 0.5 * LIMIT
    assert np.array_equal(values[inside], ERRORS[inside])
    assert (np.abs(values) < LIMIT).all() and (np.diff(values) > 0.0).all()
    assert np.allclose(values, -values[::-1])


def test_slope_and_potential_are_those_of_the_spring():
    for e in ERRORS:
        h = 1e-6 * abs(e)
        rise = saturated(e + h, LIMIT) - saturated(e - h, LIMIT)
        assert np.isclose(rise / (2 * h), slope(e, LIMIT), atol=1e-6)
        gained = potential(e + h, LIMIT) - potential(e - h, LIMIT)
        assert np.isclose(gained / (2 * h), saturated(e, LIMIT), rtol=1e-5)


def test_approach_is_bounded_and_begins_where_the_spring_is_no_longer_linear():
    for e in ERRORS:
        w, rate = approach(e, LIMIT, SPEED)
        assert abs(w) < SPEED and w * e >= 0.0 and (w == 0.0) == (abs(e) <= 0.5 * LIMIT)
        h = 1e-6 * abs(e)
        rise = approach(e + h, LIMIT, SPEED)[0] - approach(e - h, LIMIT, SPEED)[0]
        assert np.isclose(rise / (2 * h), rate, atol=1e-4)
    assert approach(1.0, LIMIT, 0.0) == (0.0, 0.0)


def test_bandwidth_draws_errors_in_from_the_start_and_below_the_same_speed():
    rate, speeds = 12.0, []
    for e in ERRORS:
        w, w_slope = drawn_in(e, LIMIT, SPEED, rate)
        speeds.append(w)
        assert abs(w) < SPEED and w * e > 0.0 and abs(w) >= abs(approach(e, LIMIT, SPEED)[0])
        h = 1e-6 * abs(e)
        rise = drawn_in(e + h, LIMIT, SPEED, rate)[0] - drawn_in(e - h, LIMIT, SPEED, rate)[0]
        assert np.isclose(rise / (2 * h), w_slope, atol=1e-4)
    assert (np.diff(speeds) > 0.0).all()
    assert np.allclose(drawn_in(1e-3, LIMIT, SPEED, rate), (rate * 1e-3, rate))
    assert drawn_in(0.2, LIMIT, SPEED, 0.0) == approach(0.2, LIMIT, SPEED)
    assert drawn_in(2.0, LIMIT, 0.0, rate) == (2.0 * rate, rate)  # no speed that could bound it


@pytest.fixture(scope="module")
def panda():
    return Robot.from_urdf(find_file("panda"))


def moved(robot, law, q, target, seconds, delay=2, step=1e-3):
    """Fastest speeds (nv,) relative to their limits on the way, and where it ends: the robot's own
    forward dynamics under torques that come late."""
    controller = Controller(robot, law)
    v, late, fastest = np.zeros(robot.nv), [], np.zeros(robot.nv)
    for k in range(round(seconds / step)):
        late.append(controller.torque(q, v, step if k else 0.0, q_ref=target).tau)
        tau = late[max(0, k - delay)]
        for _ in range(2):
            a = robot.forward_dynamics(q, v, tau)
            q, v = robot.integrate(q, v + 0.25 * step * a, 0.5 * step), v + 0.5 * step * a
        fastest = np.maximum(fastest, np.abs(v) / robot.limits.velocity)
    return fastest, q


@pytest.mark.parametrize(
    ("law", "most"), [("passivity", 1.0), ("computed_torque", 1.0), ("pd", 1.5), ("pd_plus", 1.5)]
)
def test_jump_by_one_radian_does_not_spin_joints_up(panda, law, most):
    """With torques that are cut on the way, for all joints but the fingers."""
    start = 0.5 * (panda.limits.lower + panda.limits.upper)
    jump = np.array([1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0])
    fastest, end = moved(panda, law, start, start + jump, 2.0)
    assert fastest.max() < most
    assert np.abs(end - start - jump).max() < 0.05


@pytest.mark.parametrize("law", ["pd", "pd_plus"])
def test_joint_whose_spring_is_weak_is_held_by_its_inertia(law):
    """Two axes that line up with next to nothing between them leave a constant spring hardly any
    stiffness; a load that the model lacks must not turn such a joint away."""
    robot = Robot.from_urdf(find_file("icub"))
    gains = Controller(robot, law).gains
    K, rates, q = np.diag(gains["stiffness"]), gains["bandwidth"], robot.neutral()
    k = list(robot.joint_names).index("r_hip_pitch")
    assert rates[k] > 10.0 and (rates == 0.0).sum() > robot.nv // 2
    error = np.zeros(robot.nv)
    error[k] = 1e-3
    at = Controller(robot, law).torque(q, np.zeros(robot.nv), q_ref=q - error).tau
    softer = Controller(robot, law, gains={"bandwidth": 0.0})
    pull = at - softer.torque(q, np.zeros(robot.nv), q_ref=q - error).tau
    D = gains["damping"] + gains["damping_rate"] * robot.mass_matrix(q)
    assert np.allclose(pull, -D @ (rates * error), rtol=1e-3, atol=1e-6)
    assert -pull[k] > 10.0 * K[k] * error[k]


def test_joints_that_have_the_stiffness_they_ask_for_need_no_bandwidth(panda):
    assert not Controller(Robot.from_urdf(find_file("ur5")), "pd_plus").gains["bandwidth"].any()
    rates = Controller(panda, "pd_plus").gains["bandwidth"]  # joint 3 has 0.495 of it
    assert (rates > 0.0).sum() <= 1 and rates.max() < 0.5
    given = Controller(panda, "pd_plus", gains={"stiffness": 1e-3}).gains
    assert not given["bandwidth"].any()


def test_continuous_joint_takes_the_shorter_way():
    xml = """<robot name="wheel"><link name="base"/><link name="wheel"><inertial><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="wheel"/>
      <axis xyz="0 0 1"/><limit effort="100" velocity="10"/></joint></robot>"""
    robot = Robot.from_xml(xml)
    controller = Controller(robot, "pd_plus", gains={"stiffness": 10.0, "damping": 1.0})

    def pull(q, q_ref):
        return controller.torque([q], [0.0], q_ref=[q_ref]).tau[0]

    assert np.isclose(pull(3.1, -3.1), pull(0.0, 2 * np.pi - 6.2))
    assert pull(3.1, -3.1) > 0.0  # onwards, over π
    for turns in (-3, 1, 12):
        assert np.isclose(pull(0.2 + turns * 2 * np.pi, 0.3), pull(0.2, 0.3))


def test_joint_with_limits_goes_back_the_way_it_came(panda):
    q = panda.neutral()
    q[0] = 2.8
    controller = Controller(panda, "pd_plus")
    target = q.copy()
    target[0] = -2.8
    assert (controller.torque(q, np.zeros(8), q_ref=target).tau - panda.gravity(q))[0] < 0.0
