"""Contacts in every chart: the same forces, and equations that hold in the chart's coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from support.chart_cases import NAMES
from torqued.kernels import Contact, Robot


@pytest.fixture(scope="module")
def biped():
    return Robot.family("biped", 12)


def contacts(robot):
    left, right = robot.frame_names[-1], robot.frame_names[3]
    return [Contact(left, "frame"), Contact(right, "point", friction=0.6)]


@pytest.fixture(scope="module", params=NAMES)
def case(request, biped):
    rng = np.random.default_rng(4)
    chart = request.param
    q, v = biped.in_coordinates(chart).random_state(rng)
    torque = rng.normal(size=biped.nv)
    tau = biped.chart(chart).A(biped.chart(chart).to_native(q)).T @ torque
    return biped, chart, q, v, tau


def size(*arrays):
    return max(np.abs(array).max() for array in arrays)


def test_equation_of_motion_holds_with_the_charts_M_G_and_bias(case):
    robot, chart, q, v, tau = case
    s = robot.in_coordinates(chart).contact_dynamics(q, v, tau, contacts(robot))
    bias = robot.in_coordinates(chart).bias(q, v)
    residual = s.M @ s.a + bias - tau - s.G.T @ s.force
    assert size(residual) <= 1e-10 * size(s.M @ s.a, bias)


def test_contacts_hold_with_the_charts_G_and_gamma(case):
    robot, chart, q, v, tau = case
    s = robot.in_coordinates(chart).contact_dynamics(q, v, tau, contacts(robot))
    assert size(s.G @ s.a - s.gamma) <= 1e-10 * size(s.gamma, s.a)


def test_forces_are_those_of_the_native_coordinates(case):
    robot, chart, q, v, tau = case
    natively = robot.chart(chart)
    own_q = natively.to_native(q)
    expected = robot.contact_dynamics(
        own_q,
        natively.velocity_to_native(q, v),
        natively.torque_to_native(q, tau),
        contacts(robot),
    )
    found = robot.in_coordinates(chart).contact_dynamics(q, v, tau, contacts(robot))
    assert size(found.force - expected.force) <= 1e-9 * size(expected.force)


def test_friction_gives_the_native_forces(case):
    robot, chart, q, v, tau = case
    points = [Contact(robot.frame_names[3], "point", friction=0.6)]
    natively = robot.chart(chart)
    expected = robot.friction_dynamics(
        natively.to_native(q),
        natively.velocity_to_native(q, v),
        natively.torque_to_native(q, tau),
        points,
        1e-3,
    )
    found = robot.in_coordinates(chart).friction_dynamics(q, v, tau, points, 1e-3)
    assert found.states == expected.states
    assert size(found.force - expected.force) <= 1e-6 * (1.0 + size(expected.force))


def test_an_impact_stops_the_held_frames(case):
    robot, chart, q, v, tau = case
    G = robot.in_coordinates(chart).contact_dynamics(q, v, tau, contacts(robot)).G
    after = robot.in_coordinates(chart).impact(q, v, contacts(robot)).v
    assert size(G @ after) <= 1e-10 * size(G @ v)
