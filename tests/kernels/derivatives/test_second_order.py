"""Second derivatives of τ and ∂M/∂q against differences in extended precision and identities."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from oracles import extended_precision
from oracles.extended_precision import second_slope
from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import GRAVITY, Case, cases, examples, random_case
from support.chart_cases import NAMES, random_chart_case
from support.robots import load_real
from torqued.kernels import InputError, Robot
from torqued.kernels.model.catalog import find_file

needs_extended = pytest.mark.skipif(
    not extended_precision.IS_EXTENDED, reason="numpy's long double is no wider than float64"
)


def by_differences(case: Case) -> tuple[np.ndarray, ...]:
    """Of the first derivatives, which have tests of their own."""
    robot, q, v, a = case.robot, case.q, case.v, case.a

    def first(q, v):
        return robot.inverse_dynamics_derivatives(q, v, a)

    def stacked(of):
        return np.stack([derivative(lambda h, e=e: of(e, h), 0.05) for e in np.eye(robot.nv)], 2)

    return (
        stacked(lambda e, h: first(robot.integrate(q, e, h), v)[0]),
        stacked(lambda e, h: first(q, v + h * e)[1]),
        stacked(lambda e, h: first(q, v + h * e)[0]),
        stacked(lambda e, h: robot.mass_matrix(robot.integrate(q, e, h))),
    )


@examples(10, case=cases(most=7))
def test_second_derivatives_are_derivatives_of_the_first_along_the_manifold(case):
    found = case.robot.inverse_dynamics_second_derivatives(case.q, case.v, case.a)
    size = largest(case.robot.inverse_dynamics(case.q, case.v, case.a))
    for ours, expected in zip(astuple(found), by_differences(case), strict=True):
        assert_agree(ours, expected, within=1e-9, size=size)
    assert_agree(case.robot.mass_matrix_derivatives(case.q), found.dM_dq)


def family_case(kind: str, dofs: int) -> Case:
    """Of the papers' families."""
    robot, rng = Robot.family(kind, dofs), np.random.default_rng(5)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    return Case(None, robot.model.base, robot, q, v, a, rng)


def real_case(name: str, base: str) -> Case:
    robot, rng = load_real(find_file(name), base, mimic="free"), np.random.default_rng(6)
    q, v = robot.random_state(rng)
    return Case(None, base, robot, q, v, rng.normal(size=robot.nv), rng)


@pytest.mark.parametrize(
    ("load", "which"),
    [
        (family_case, ("chain", 20)),
        (family_case, ("tree", 20)),
        (real_case, ("panda", "fixed")),
        (real_case, ("solo12", "floating")),
        (real_case, ("talos_reduced", "floating")),
    ],
)
def test_second_derivatives_of_known_robots(load, which):
    case = load(*which)
    found = case.robot.inverse_dynamics_second_derivatives(case.q, case.v, case.a)
    for ours, expected in zip(astuple(found), by_differences(case), strict=True):
        assert_agree(ours, expected, within=1e-9)


@needs_extended
@pytest.mark.parametrize(("seed", "base"), [(3, "fixed"), (4, "floating")])
def test_second_derivatives_agree_with_second_differences_in_extended_precision(seed, base):
    """Of τ of the papers' recursion itself: nothing of the first derivatives goes in."""
    case = random_case(seed, 4, base)
    robot, tree, q, v, a = case.robot, case.free_tree(), case.q, case.v, case.a
    units = np.eye(robot.nv)
    found = robot.inverse_dynamics_second_derivatives(q, v, a)

    def moved(q, e, h):
        return extended_precision.integrate(tree, q, e, h)

    def tau(q, v, a=a):
        return extended_precision.rnea(tree, q, v, a, GRAVITY)

    ours = {"qq": found.dtau_dqdq, "vv": found.dtau_dvdv, "qv": found.dtau_dqdv, "aq": found.dM_dq}
    sizes = {name: largest(x) for name, x in ours.items()}
    last = robot.nv - 1
    for k, m in [(0, 0), (last, 0), (1, last), (2, 1), (1, 2)]:
        e, d = units[k], units[m]
        expected = {
            # First along m, at whose end along k: the derivative by m of that by k.
            "qq": second_slope(lambda h, g, e=e, d=d: tau(moved(moved(q, d, g), e, h), v)),
            "vv": second_slope(lambda h, g, e=e, d=d: tau(q, v + h * e + g * d)),
            "qv": second_slope(lambda h, g, e=e, d=d: tau(moved(q, e, h), v + g * d)),
            "aq": second_slope(lambda h, g, e=e, d=d: tau(moved(q, d, g), v, a + h * e)),
        }
        for name, x in expected.items():
            assert_agree(ours[name][:, k, m], x, within=1e-11, size=sizes[name])


@examples(10, case=cases(most=6))
def test_by_velocities_they_are_christoffel_symbols_in_both_orders(case):
    found = case.robot.inverse_dynamics_second_derivatives(case.q, case.v, case.a)
    Gamma = case.robot.christoffel(case.q)
    assert_agree(found.dtau_dvdv, Gamma + Gamma.transpose(0, 2, 1), size=1e-6)


def test_by_positions_they_are_symmetric_where_velocities_are_rates():
    case = family_case("tree", 12)
    qq = case.robot.inverse_dynamics_second_derivatives(case.q, case.v, case.a).dtau_dqdq
    assert_agree(qq, qq.transpose(0, 2, 1))


def test_on_a_floating_base_the_order_matters_by_the_bracket_of_its_velocities():
    """∂_l ∂_k − ∂_k ∂_l is the derivative along [e_l, e_k]: of two twists of one body."""
    case = family_case("biped", 6)
    robot = case.robot
    qq = robot.inverse_dynamics_second_derivatives(case.q, case.v, case.a).dtau_dqdq
    dq, _ = robot.inverse_dynamics_derivatives(case.q, case.v, case.a)
    difference = qq[:, :6, :6] - qq[:, :6, :6].transpose(0, 2, 1)
    assert largest(difference) > 0.1 * largest(dq[:, :6])
    for k in range(6):
        for m in range(6):
            e_k, e_m = np.eye(6)[[k, m]]
            bracket = np.hstack(
                [
                    np.cross(e_m[:3], e_k[:3]),
                    np.cross(e_m[:3], e_k[3:]) + np.cross(e_m[3:], e_k[:3]),
                ]
            )
            assert_agree(difference[:, k, m], dq[:, :6] @ bracket, size=largest(qq))


def test_robot_far_away_has_the_same_second_derivatives():
    case = family_case("biped", 8)
    near = case.robot.inverse_dynamics_second_derivatives(case.q, case.v, case.a)
    case.q[:3] += [6e3, -8e3, 1e3]
    far = case.robot.inverse_dynamics_second_derivatives(case.q, case.v, case.a)
    for here, there in zip(astuple(near), astuple(far), strict=True):
        assert_agree(there, here)


@pytest.mark.parametrize("name", NAMES)
def test_in_every_chart_the_mass_matrix_has_derivatives(name):
    case = random_chart_case(name, seed=3)
    robot, chart, at = case.robot, case.chart, name
    found = robot.in_coordinates(at).mass_matrix_derivatives(case.q)
    # Along the chart's own motion: redundant parameters have no other.
    rate = derivative(lambda h: robot.in_coordinates(at).mass_matrix(case.moved(h)), case.step)
    size = largest(robot.in_coordinates(at).mass_matrix(case.q)) * max(1.0, largest(case.v))
    assert_agree(found @ case.v, rate, within=1e-8, size=size)
    if not chart.constant:
        with pytest.raises(InputError, match=f"derivative of A than '{name}' has; allowed"):
            robot.in_coordinates(at).inverse_dynamics_second_derivatives(case.q, case.v, case.a)


def test_in_a_chart_that_reorders_they_are_those_of_the_chart():
    robot, rng = Robot.family("biped", 6), np.random.default_rng(3)
    q, v = robot.in_coordinates("pinocchio").random_state(rng)
    a = rng.normal(size=robot.nv)
    found = robot.in_coordinates("pinocchio").inverse_dynamics_second_derivatives(q, v, a)

    def first(h, e):
        at = robot.in_coordinates("pinocchio").integrate(q, e, h)
        return robot.in_coordinates("pinocchio").inverse_dynamics_derivatives(at, v, a)[0]

    e = np.eye(robot.nv)[1]
    assert_agree(found.dtau_dqdq[:, :, 1], derivative(lambda h: first(h, e), 0.05), within=1e-9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"q": [0.0]}, r"^q: shape"), ({"v": [0.0, np.nan, 0.0]}, r"^v"), ({"a": "fast"}, r"^a: ")],
)
def test_bad_input_is_refused_by_name(changed, message):
    given = {"q": np.zeros(3), "v": np.zeros(3), "a": np.zeros(3)} | changed
    with pytest.raises(InputError, match=message):
        Robot.family("chain", 3).inverse_dynamics_second_derivatives(**given)
