"""∂J/∂q and higher partial derivatives: against finite differences, J̇, each other, Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import RATES, cases, examples
from support.chart_cases import NAMES, random_chart_case
from support.robots import load_real, random_motion
from torqued.kernels import InputError, Robot
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.model.catalog import find_file
from torqued.kernels.model.description import Array

representations = pytest.mark.parametrize("representation", REPRESENTATIONS)


@representations
@examples(8, case=cases())
def test_hessian_is_the_derivative_along_every_velocity(case, representation):
    robot, q, where = case.robot, case.q, (case.frame(), representation, case.rng.normal(size=3))
    H = robot.frame_hessian(q, *where)
    J = robot.frame_jacobian(q, *where)
    for k, e in enumerate(np.eye(robot.nv)):

        def moved(h: float, e: Array = e) -> Array:
            return robot.frame_jacobian(robot.integrate(q, e, h), *where)

        along = derivative(moved, 0.02, levels=3)
        assert_agree(H[:, :, k], along, within=1e-8, size=max(1.0, largest(J)))
    size = max(1.0, largest(H)) * max(1.0, largest(case.v))
    assert_agree(H @ case.v, robot.frame_jacobian_rate(q, case.v, *where), size=size)


@pytest.mark.parametrize("name", NAMES)
def test_hessian_in_charts_gives_the_rate_of_the_charts_jacobian(name):
    case = random_chart_case(name, 1)
    robot, q, v, at = case.robot, case.q, case.v, name
    frame = robot.frame_names[-1]
    H = robot.in_coordinates(at).frame_hessian(q, frame)
    assert H.shape == (6, len(v), len(v))
    assert_agree(H @ v, robot.in_coordinates(at).frame_jacobian_rate(q, v, frame), size=1.0)


@representations
@examples(8, case=cases(types=RATES, bases=("fixed",), most=8))
def test_partials_to_the_third_order_are_derivatives_of_those_below(case, representation):
    robot, q = case.robot, case.q
    where = (representation, case.rng.normal(size=3))
    frame = case.frame()
    along = case.rng.integers(robot.nv, size=3).tolist()
    first = robot.screws.jacobian_partial(q, frame, along[:1], *where)
    assert_agree(first, robot.frame_hessian(q, frame, *where)[:, :, along[0]], size=1.0)
    for order in (2, 3):
        e = np.eye(robot.nv)[along[order - 1]]

        def below(h: float, order: int = order, e: Array = e) -> Array:
            return robot.screws.jacobian_partial(q + h * e, frame, along[: order - 1], *where)

        found = robot.screws.jacobian_partial(q, frame, along[:order], *where)
        size = max(1.0, largest(found), largest(below(0.0)))
        assert_agree(found, derivative(below, 0.02, levels=3), within=1e-7, size=size)
        swapped = robot.screws.jacobian_partial(q, frame, along[:order][::-1], *where)
        assert_agree(swapped, found, size=size)


@representations
def test_second_partials_sum_to_the_second_rate_of_the_jacobian(representation):
    """J̈ = Σ ∂²J q̇ q̇ + ∂J q̈."""
    robot = Robot.family("tree", 7)
    q, v, a = random_motion(robot)
    frame, columns = robot.frame_names[-1], range(robot.nv)
    total = robot.frame_hessian(q, frame, representation) @ a
    for j in columns:
        for k in columns:
            partial = robot.screws.jacobian_partial(q, frame, [j, k], representation)
            total = total + partial * v[j] * v[k]
    Jddot = robot.frame_jacobian_second_rate(q, v, a, frame, representation)
    assert_agree(total, Jddot)


@pytest.mark.parametrize(
    ("name", "base", "frame"),
    [("panda", "fixed", "panda_hand"), ("talos_reduced", "floating", "gripper_left_base_link")],
)
def test_hessian_is_that_of_pinocchio(name, base, frame):
    pin = pytest.importorskip("pinocchio")
    robot = load_real(find_file(name), base, mimic="free")
    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    model = pin.buildModelFromUrdf(str(find_file(name)), *root)
    data = model.createData()
    q, _ = robot.in_coordinates("pinocchio").random_state(np.random.default_rng(0))
    pin.computeJointKinematicHessians(model, data, q)
    axes = {"hybrid": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL, "spatial": pin.WORLD}
    for representation, there in axes.items():
        H = pin.getFrameKinematicHessian(model, data, model.getFrameId(frame), there)
        # Its numbers come column by column in an array that says row by row.
        H = np.asarray(H).ravel().reshape(6, robot.nv, robot.nv, order="F")
        ours = robot.in_coordinates("pinocchio").frame_hessian(q, frame, representation)
        assert_agree(ours, H[np.r_[3:6, 0:3]])


class TestErrors:
    def test_columns_are_named(self):
        robot = Robot.family("biped", 4)
        q, frame = robot.neutral(), robot.frame_names[-1]
        with pytest.raises(InputError, match=r"along: column 2 is of joint 'root_joint' of type"):
            robot.screws.jacobian_partial(q, frame, [7, 2])
        with pytest.raises(InputError, match=r"along\[1\] is 10, expected a whole number from 0"):
            robot.screws.jacobian_partial(q, frame, [7, 10])
        with pytest.raises(InputError, match="along: how many columns is 0"):
            robot.screws.jacobian_partial(q, frame, [])
        with pytest.raises(InputError, match="along: 3, expected a list of columns of v"):
            robot.screws.jacobian_partial(q, frame, 3)

    def test_unknown_representation(self):
        robot = Robot.family("chain", 2)
        with pytest.raises(InputError, match="representation: 'local' is unknown"):
            robot.frame_hessian(np.zeros(2), robot.frame_names[-1], "local")
