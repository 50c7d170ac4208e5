"""∂τ/∂q and ∂τ/∂v against differences in extended precision, Pinocchio and identities."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import extended_precision
from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import GRAVITY, Case, cases, examples, random_case
from support.robots import load_real, random_motion
from torqued.kernels import InputError, Robot, Wrench
from torqued.kernels.model.catalog import find_file

needs_extended = pytest.mark.skipif(
    not extended_precision.IS_EXTENDED, reason="numpy's long double is no wider than float64"
)


def by_differences(case: Case, f_ext: object) -> tuple[np.ndarray, np.ndarray]:
    """∂τ/∂q along `integrate` and ∂τ/∂v, a column per velocity."""
    robot, q, v, a = case.robot, case.q, case.v, case.a

    def tau(q, v):
        return robot.inverse_dynamics(q, v, a, f_ext)

    units = np.eye(robot.nv)
    by_q = [derivative(lambda h, e=e: tau(robot.integrate(q, e, h), v), 0.05) for e in units]
    by_v = [derivative(lambda h, e=e: tau(q, v + h * e)) for e in units]
    return np.array(by_q).T, np.array(by_v).T


@pytest.mark.parametrize("forced", [False, True])
@examples(15, case=cases(most=8))
def test_derivatives_are_those_of_inverse_dynamics_along_the_manifold(case, forced):
    """Wrenches keep their axes while frames move."""
    robot, rng, f_ext = case.robot, case.rng, None
    if forced:
        f_ext = {case.frame(): rng.normal(size=6) * 10.0}
        f_ext[case.frame()] = [Wrench(*rng.normal(size=(3, 3)))]
    dq, dv = robot.inverse_dynamics_derivatives(case.q, case.v, case.a, f_ext)
    by_q, by_v = by_differences(case, f_ext)
    size = largest(robot.inverse_dynamics(case.q, case.v, case.a, f_ext))
    assert_agree(dq, by_q, within=1e-9, size=size)
    assert_agree(dv, by_v, within=1e-9, size=size)


@needs_extended
@pytest.mark.parametrize(("seed", "base"), [(3, "fixed"), (4, "floating")])
def test_derivatives_agree_with_differences_in_extended_precision(seed, base):
    case = random_case(seed, 5, base)
    robot, tree, q, v, a = case.robot, case.free_tree(), case.q, case.v, case.a
    wrenches = case.rng.normal(size=(len(tree.bodies), 6))
    links = [body.link for body in tree.bodies]
    f_ext = dict(zip(links, wrenches, strict=True))

    def tau(q, v):
        return extended_precision.rnea(tree, q, v, a, GRAVITY, wrenches)

    dq, dv = robot.inverse_dynamics_derivatives(q, v, a, f_ext)
    for k, e in enumerate(np.eye(robot.nv)):
        by_q = extended_precision.slope(
            lambda h, e=e: tau(extended_precision.integrate(tree, q, e, h), v)
        )
        by_v = extended_precision.slope(lambda h, e=e: tau(q, v + h * e))
        assert_agree(dq[:, k], by_q, within=1e-12, size=largest(dq))
        assert_agree(dv[:, k], by_v, within=1e-12, size=largest(dv))


@pytest.mark.parametrize("name", ["panda", "talos_reduced", "solo12", "ur5"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_derivatives_agree_with_pinocchio(name, base):
    pin = pytest.importorskip("pinocchio")
    from oracles.pinocchio_urdf import PinocchioUrdf, build

    path = find_file(name)
    robot = load_real(path, base, mimic="free")
    oracle = PinocchioUrdf(build(path, base), list(robot.model.joints))
    q, v, a = random_motion(robot, 2)
    # Pinocchio's tangent of a free flyer is the body twist too, with the linear part first.
    P = oracle.P
    data = oracle.model.createData()
    found = pin.computeRNEADerivatives(oracle.model, data, oracle.q_to_pin(q), P @ v, P @ a)
    dq, dv = robot.inverse_dynamics_derivatives(q, v, a)
    assert_agree(dq, P.T @ found[0] @ P)
    assert_agree(dv, P.T @ found[1] @ P)


@pytest.mark.parametrize("kind", ["chain", "tree"])
def test_by_velocity_is_twice_C_where_velocities_are_rates(kind):
    robot = Robot.family(kind, 12)
    q, v, a = random_motion(robot)
    _, dv = robot.inverse_dynamics_derivatives(q, v, a)
    assert_agree(dv, 2.0 * robot.coriolis_matrix(q, v))  # [EW21] remark 3


def test_at_rest_the_derivative_by_position_is_symmetric():
    robot = Robot.family("tree", 10)
    q, v = robot.random_state(np.random.default_rng(1))
    dq, dv = robot.inverse_dynamics_derivatives(q, 0.0 * v, 0.0 * v)
    assert_agree(dq, dq.T)  # the second derivative of the potential energy
    assert largest(dv) == 0.0


def test_robot_far_away_has_the_same_derivatives():
    robot = Robot.family("biped", 8)
    q, v, a = random_motion(robot, 3)
    near = robot.inverse_dynamics_derivatives(q, v, a)
    q[:3] += [6e3, -8e3, 1e3]
    for here, there in zip(near, robot.inverse_dynamics_derivatives(q, v, a), strict=True):
        assert_agree(there, here)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": [0.0]}, r"^q: shape"),
        ({"v": [0.0, np.nan, 0.0]}, r"^v"),
        ({"a": "fast"}, r"^a: "),
        ({"f_ext": {"nowhere": np.zeros(6)}}, "frame 'nowhere'"),
    ],
)
def test_bad_input_is_refused_by_name(changed, message):
    given = {"q": np.zeros(3), "v": np.zeros(3), "a": np.zeros(3)} | changed
    with pytest.raises(InputError, match=message):
        Robot.family("chain", 3).inverse_dynamics_derivatives(**given)
