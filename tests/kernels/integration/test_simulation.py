"""Robots over time: orders of convergence, what is kept, and what acts."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.cases import random_case
from support.textbook import DoublePendulum, free_body
from torqued.kernels import Contact, InputError, NumericalError, Robot
from torqued.kernels.control import Controller
from torqued.kernels.integration.schemes import METHODS
from torqued.kernels.integration.simulation import Acting
from torqued.kernels.model.families import family


def floating(gravity=(0.0, 0.0, 0.0)) -> tuple[Robot, np.ndarray, np.ndarray]:
    robot = Robot.from_description(family("biped", 4), base="floating", gravity=gravity)
    return robot, *robot.random_state(np.random.default_rng(2))


def last_error(robot, exact, found):
    there = robot.difference(exact.q[-1], found.q[-1])
    return max(largest(there), largest(exact.v[-1] - found.v[-1]))


@pytest.mark.parametrize("method", METHODS)
def test_error_falls_with_the_order_of_the_method(method):
    robot, q, v = floating()
    options = {"seconds": 0.4, "method": method}
    exact = robot.simulate(q, v, seconds=0.4, dt=0.4 / 800)
    coarse = last_error(robot, exact, robot.simulate(q, v, dt=0.4 / 20, **options))
    fine = last_error(robot, exact, robot.simulate(q, v, dt=0.4 / 40, **options))
    assert np.log2(coarse / fine) == pytest.approx(METHODS[method].order, abs=0.15)


@pytest.mark.parametrize("seed", [1, 4])
def test_methods_have_their_order_with_joints_of_every_kind(seed):
    case = random_case(seed, 4, "floating")
    robot, q, v = case.robot, case.q, 0.3 * case.v
    exact = robot.simulate(q, v, seconds=0.05, dt=0.05 / 256)
    errors = [
        last_error(robot, exact, robot.simulate(q, v, seconds=0.05, dt=0.05 / n, method="rkmk2"))
        for n in (8, 16)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.35)


def test_spatial_momentum_is_kept_to_rounding_by_the_method_that_promises_it():
    robot, q, v = floating()
    acting = Acting(robot, ())

    def drift(method):
        found = robot.simulate(q, v, seconds=1.0, dt=0.05, method=method)
        momenta = np.array(
            [acting.momentum(*state) for state in zip(found.q, found.v, strict=True)]
        )
        return largest(momenta - momenta[0]) / largest(momenta[0])

    assert drift("momentum") < 2e-14
    assert drift("rkmk4") > 1e-9  # which is what the test can see


def test_momentum_follows_gravity_and_torques_on_the_base():
    robot, q, v = floating(gravity=(0.5, -1.0, -9.0))
    tau = np.linspace(-1.0, 1.0, robot.nv)
    options = {"seconds": 0.2, "dt": 0.2 / 64}
    kept = robot.simulate(q, v, tau, method="momentum", **options)
    free = robot.simulate(q, v, tau, method="rkmk4", **options)
    assert last_error(robot, free, kept) < 1e-7
    assert last_error(robot, free, robot.simulate(q, v, method="rkmk4", **options)) > 1e-3


def test_energy_of_a_pendulum_is_kept_to_the_order_of_the_method():
    robot = DoublePendulum().robot
    q, v = np.array([1.0, -0.5]), np.array([0.3, 0.2])
    found = robot.simulate(q, v, seconds=1.0, dt=1e-2)
    energy = [sum(robot.energy(*state)) for state in zip(found.q, found.v, strict=True)]
    assert largest(np.array(energy) - energy[0]) < 1e-4 * abs(energy[0])
    assert found.time[-1] == pytest.approx(1.0, rel=1e-15)


def test_free_body_falls_along_its_parabola():
    robot = free_body(2.0, (0.1, 0.2, 0.25))
    q, v = robot.random_state(np.random.default_rng(0))
    pose = robot.frame_pose(q, "body")
    start = pose[:3, :3] @ v[3:]
    found = robot.simulate(q, v, seconds=0.5, dt=1e-2, method="momentum")
    expected = q[:3] + 0.5 * start + 0.125 * robot.gravity_vector
    assert_agree(found.q[-1, :3], expected, within=1e-7)


def test_held_frame_stays_where_it_is():
    robot, q, v = floating(gravity=(0.0, 0.0, -9.81))
    foot = robot.frame_names[-1]
    pose = robot.frame_pose(q, foot)
    contact = Contact(foot, "frame", target=pose, stiffness=400.0, damping=40.0)
    at_rest = robot.impact(q, v, [contact]).v
    found = robot.simulate(q, at_rest, seconds=0.1, dt=2e-3, contacts=[contact])
    assert largest(robot.frame_pose(found.q[-1], foot) - pose) < 1e-6
    free = robot.simulate(q, at_rest, seconds=0.1, dt=2e-3)
    assert largest(robot.frame_pose(free.q[-1], foot) - pose) > 1e-3


def test_torques_act_as_numbers_as_rows_as_functions_and_as_laws():
    robot = Robot.family("chain", 3)
    q, v = robot.random_state(np.random.default_rng(5))
    tau = np.array([0.3, -0.2, 0.1])
    options = {"seconds": 0.05, "dt": 1e-2}
    constant = robot.simulate(q, v, tau, **options)
    rows = robot.simulate(q, v, np.tile(tau, (5, 1)), **options)
    function = robot.simulate(q, v, lambda t, q, v: tau, **options)
    for other in (rows, function):
        np.testing.assert_array_equal(other.q, constant.q)
        np.testing.assert_array_equal(other.tau, np.tile(tau, (6, 1)))
    law = Controller(robot, "pd")
    held = robot.simulate(q, v, law, **options)
    assert_agree(held.tau[0], Controller(robot, "pd").torque(q, v).tau)


def test_charts_show_the_same_motion():
    robot, q, v = floating()
    chart = robot.chart("rpy")
    tau = np.linspace(0.0, 1.0, robot.nv)
    options = {"seconds": 0.02, "dt": 5e-3}
    natively = robot.simulate(q, v, lambda t, q, v: tau * (1.0 + t), **options)

    def own(t, own_q, own_v):
        return chart.torque_from_native(chart.to_native(own_q), tau * (1.0 + t))

    start = chart.from_native(q), chart.velocity_from_native(q, v)
    found = robot.in_coordinates("rpy").simulate(*start, own, **options)
    assert_agree(found.q[-1], chart.from_native(natively.q[-1]), within=1e-9)
    assert_agree(found.v[-1], chart.velocity_from_native(natively.q[-1], natively.v[-1]))


def test_only_every_so_many_steps_are_recorded_and_told():
    robot = Robot.family("chain", 2)
    told = []
    found = robot.simulate(
        [0.1, 0.2],
        [0.0, 0.0],
        seconds=0.01,
        dt=1e-3,
        every=5,
        report=lambda *done: told.append(done),
    )
    assert_agree(found.time, [0.0, 0.005, 0.01])
    assert told == [(5, 10), (10, 10)]
    assert found.q.shape == found.v.shape == found.tau.shape == (3, 2)


@pytest.mark.parametrize("report", [print, lambda done, steps=1, *, more=2: done, max])
def test_what_a_report_returns_and_may_take_besides_does_not_matter(report):
    Robot.family("chain", 2).simulate(np.zeros(2), seconds=2e-3, dt=1e-3, report=report)


def test_motion_that_leaves_all_numbers_is_an_error():
    robot = Robot.family("chain", 2)
    with pytest.raises(NumericalError):
        robot.simulate(np.zeros(2), np.full(2, 1e3), np.full(2, 1e300), seconds=1.0, dt=0.5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "leapfrog"}, r"^method"),
        ({"method": "momentum"}, "the base of"),
        ({"seconds": -1.0}, r"^seconds"),
        ({"seconds": 1e9, "dt": 1e-9}, r"^seconds: .* at most"),
        ({"dt": 0.0}, r"^dt"),
        ({"dt": np.nan}, r"^dt"),
        ({"tau": np.zeros(3)}, r"^tau"),
        ({"tau": np.zeros((3, 2))}, r"^tau: (3 rows|shape)"),
        ({"tau": lambda t, q, v: "hard"}, r"^tau"),
        ({"tau": lambda t: 0.0}, r"^tau: .*, expected a function of t, q, v: too many"),
        ({"tau": int}, r"^tau: <class 'int'>, expected a function of t, q, v$"),
        ({"report": lambda: 0.0}, r"^report: .*, expected a function of steps done, of how many: "),
        ({"report": lambda done, steps, more: None}, r"^report: .*: missing .* 'more'"),
        ({"report": int}, r"^report: <class 'int'>, expected a function of steps done"),
        ({"report": 3.0}, r"^report: 3.0, expected a function of steps done"),
        ({"every": 0}, r"^every"),
        ({"contacts": ["floor"]}, r"^contacts"),
        ({"v": [1.0]}, r"^v"),
    ],
)
@pytest.mark.parametrize("coordinates", ["native", "pinocchio"])
def test_bad_input_is_refused_by_name(changed, message, coordinates):
    fields = {"q": np.zeros(2), "v": np.zeros(2), "seconds": 0.01, "dt": 1e-3} | changed
    with pytest.raises(InputError, match=message):
        Robot.family("chain", 2).in_coordinates(coordinates).simulate(**fields)
