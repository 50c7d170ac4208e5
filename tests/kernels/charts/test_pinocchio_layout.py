"""`in_coordinates("pinocchio")` beside Pinocchio: its own q and v in, its own numbers out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.chart_cases import real
from support.random_trees import random_tree
from support.robots import robot_urdfs
from torqued.kernels import InputError, Robot
from torqued.kernels.model.description import Array

pytest.importorskip("pinocchio")

import pinocchio as pin

from oracles.pinocchio_model import pinocchio_model
from oracles.pinocchio_urdf import build, is_body

#: Humanoid, quadrupeds, arm with a gripper, arms and wheels with continuous joints.
FILES = ("talos_reduced", "anymal", "solo12", "a1", "panda", "kinova", "tiago_no_hand", "centauro")

#: [linear; angular] to [angular; linear].
SWAP = np.roll(np.eye(6), 3, axis=0)

CHART = "pinocchio"


class Both(NamedTuple):
    robot: Robot
    model: Any
    data: Any
    q: Array
    v: Array
    a: Array


def state(model: Any, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def tree(seed: int) -> Both:
    """Kinds of joints that files for Pinocchio rarely have."""
    types = ("revolute", "prismatic", "planar", "spherical", "floating", "translation", "helical")
    description = random_tree(np.random.default_rng(seed), 8, types)
    model = pinocchio_model(description, "floating")
    robot = Robot.from_description(description, "floating")
    return Both(robot, model, model.createData(), *state(model, seed))


REAL = [(name, base) for name in FILES for base in ("fixed", "floating")]
of_files = pytest.mark.parametrize("both", REAL, indirect=True)


@pytest.fixture(scope="module", params=[*REAL, *range(6)])
def both(request: pytest.FixtureRequest) -> Both:
    if request.param not in REAL:
        return tree(request.param)
    name, base = request.param
    path = next(path for path in robot_urdfs() if path.stem == name)
    model = build(path, base)
    return Both(real(name, base, mimic="free"), model, model.createData(), *state(model))


@of_files
def test_sizes_and_order_are_pinocchios(both):
    chart = both.robot.chart("pinocchio")
    assert (chart.nq, chart.nv) == (both.model.nq, both.model.nv)
    names = [name for name in both.model.names if name != "universe"]
    assert list(chart.joint_names) == names


def test_the_files_have_continuous_joints_and_another_order():
    kinova, talos = real("kinova", "fixed"), real("talos_reduced", "fixed")
    assert kinova.chart("pinocchio").nq > kinova.nq
    assert talos.chart("pinocchio").joint_names != talos.joint_names


def test_dynamics_agree(both):
    robot, model, data, q, v, a = both
    charted = robot.in_coordinates(CHART)
    M = np.array(pin.crba(model, data, q))
    M = np.triu(M) + np.triu(M, 1).T
    assert_agree(charted.mass_matrix(q), M)
    C = np.array(pin.computeCoriolisMatrix(model, data, q, v))
    size = largest(M)
    assert_agree(charted.coriolis_matrix(q, v), C, size=1e-3 * size)
    g = pin.computeGeneralizedGravity(model, data, q)
    assert_agree(charted.gravity(q), g, size=1e-3 * size)
    bias = pin.nonLinearEffects(model, data, q, v)
    assert_agree(charted.bias(q, v), bias, size=1e-3 * size)
    tau = np.array(pin.rnea(model, data, q, v, a))
    assert_agree(charted.inverse_dynamics(q, v, a), tau)
    acceleration = charted.forward_dynamics(q, v, tau)
    if np.linalg.cond(M) < 1e5:
        assert_agree(acceleration, pin.aba(model, data, q, v, tau))
    assert_agree(M @ acceleration + bias, tau, size=size * largest(acceleration))
    kinetic = pin.computeKineticEnergy(model, data, q, v)
    assert_agree(charted.energy(q, v)[0], kinetic)
    J = np.array(pin.jacobianCenterOfMass(model, data, q))
    assert_agree(charted.center_of_mass_jacobian(q), J)


def test_integration_agrees(both):
    robot, model, _, q, v, _ = both
    assert_agree(robot.in_coordinates(CHART).neutral(), pin.neutral(model))
    end = pin.integrate(model, q, 0.3 * v)
    assert_agree(robot.in_coordinates(CHART).integrate(q, v, 0.3), end)
    other = pin.integrate(model, q, np.tanh(v))
    assert_agree(robot.in_coordinates(CHART).difference(q, other), pin.difference(model, q, other))


def test_continuous_joints_take_the_shorter_way_as_in_pinocchio():
    robot = real("double_pendulum_continuous", "fixed")
    q0 = np.tile([np.cos(3.0), np.sin(3.0)], robot.nv)
    q1 = np.tile([np.cos(-3.0), np.sin(-3.0)], robot.nv)
    assert_agree(robot.in_coordinates(CHART).difference(q0, q1), np.full(robot.nv, 2 * np.pi - 6.0))


@of_files
def test_frame_jacobians_agree(both):
    robot, model, data, q, v, a = both
    kinds = {"hybrid": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL, "spatial": pin.WORLD}
    links = [k for k, frame in enumerate(model.frames) if is_body(frame)]
    for k in links[:: max(1, len(links) // 5)]:
        name = model.frames[k].name
        for kind, reference in kinds.items():
            J = SWAP @ np.array(pin.computeFrameJacobian(model, data, q, k, reference))
            assert_agree(robot.in_coordinates(CHART).frame_jacobian(q, name, kind), J)
        pin.forwardKinematics(model, data, q, v, a)
        motion = SWAP @ pin.getFrameAcceleration(model, data, k, pin.LOCAL).vector
        acceleration = robot.in_coordinates(CHART).frame_acceleration(q, v, a, name, "body")
        assert_agree(acceleration, motion, size=1e-3)


def test_joints_come_in_pinocchios_order_for_every_file():
    compared = 0
    for path in robot_urdfs():
        try:
            model = build(path, "fixed")
        except ValueError:
            continue
        if model.nv:
            robot = real(path.stem, "fixed", mimic="free", accept_unphysical=True)
            if robot.model.source != str(path):
                continue  # another file of the same name
            assert list(robot.chart("pinocchio").joint_names) == list(model.names)[1:], path
            compared += 1
    assert compared > 40


def test_cosine_and_sine_must_fit_together():
    robot = real("double_pendulum_continuous", "fixed")
    q = robot.in_coordinates(CHART).neutral()
    q[:2] = 0.6, 0.9
    with pytest.raises(InputError, match=r"q\[0:2\], joint '\w+'.*\(cos, sin\) has norm 1.08"):
        robot.in_coordinates(CHART).gravity(q)
