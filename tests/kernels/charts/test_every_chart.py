"""What holds in every chart, on trees of all kinds of joints, with and without mimics."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.chart_cases import NAMES, ChartCase, random_chart_case, real
from torqued.kernels import InputError, NumericalError, Robot
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.quantities import WANTS

CASES = [
    *((name, seed, "floating") for name in NAMES for seed in range(2)),
    *((name, seed, "fixed") for name in NAMES if name != "com" for seed in range(2)),
]


@pytest.fixture(params=CASES, ids=lambda p: f"{p[0]}-{p[1]}-{p[2]}")
def case(request: pytest.FixtureRequest) -> ChartCase:
    return random_chart_case(*request.param)


def test_coordinates_round_trip(case):
    chart = case.chart
    assert_agree(chart.from_native(chart.to_native(case.q)), case.q)
    there = case.robot.difference(case.native_q, chart.to_native(case.q))
    turns = there / (2.0 * np.pi)  # cos and sin forget whole turns
    forgets = case.name == "pinocchio"
    assert largest(turns - np.round(turns) if forgets else there) < 1e-10


def test_velocities_accelerations_and_torques_round_trip(case):
    chart, robot, q, v = case.chart, case.robot, case.native_q, case.native_v
    rng = np.random.default_rng(0)
    a, tau = rng.normal(size=(2, robot.nv))
    own = chart.from_native(q)
    own_v = chart.velocity_from_native(q, v)
    assert_agree(chart.velocity_to_native(own, own_v), v)
    own_a = chart.acceleration_from_native(q, v, a)
    assert_agree(chart.acceleration_to_native(own, own_v, own_a), a)
    own_tau = chart.torque_from_native(q, tau)
    assert_agree(chart.torque_to_native(own, own_tau), tau)
    assert own_tau @ own_v == pytest.approx(tau @ v)  # the same power


def test_A_is_the_derivative_of_the_map_to_native_coordinates(case):
    robot, chart = case.robot, case.chart
    start = chart.to_native(case.q)
    along = derivative(lambda h: robot.difference(start, chart.to_native(case.moved(h))), case.step)
    assert_agree(along, case.native_v, within=1e-8)


def test_A_rate_is_the_rate_of_A(case):
    chart = case.chart
    rate = derivative(lambda h: chart.A(chart.to_native(case.moved(h))), case.step)
    assert_agree(chart.A_rate(case.native_q, case.v), rate, within=1e-8, size=1.0)


def test_A_inverse_rate_is_the_rate_of_A_inverse(case):
    chart = case.chart
    rate = derivative(lambda h: chart.A_inverse(chart.to_native(case.moved(h))), case.step)
    assert_agree(chart.A_inverse_rate(case.native_q, case.native_v), rate, within=1e-7, size=1.0)


def test_A_rate_is_linear_in_the_velocity(case):
    chart, q = case.chart, case.native_q
    x, y = np.random.default_rng(1).normal(size=(2, chart.nv))
    both = 2.0 * chart.A_rate(q, x) - 3.0 * chart.A_rate(q, y)
    assert_agree(chart.A_rate(q, 2.0 * x - 3.0 * y), both, size=1.0)


def test_mass_matrix_rate_equals_C_plus_C_transposed_and_finite_differences(case):
    charted, q, v = case.charted, case.q, case.v
    Mdot = charted.mass_matrix_rate(q, v)
    for factorization in ("christoffel", "direct"):
        C = charted.coriolis_matrix(q, v, factorization)
        assert_agree(C + C.T, Mdot)
    rate = derivative(lambda h: charted.mass_matrix(case.moved(h)), case.step)
    assert_agree(Mdot, rate, within=1e-7)


def test_equations_of_motion_hold(case):
    robot, charted, q, v = case.robot, case.charted, case.q, case.v
    native_a = case.chart.acceleration_to_native(q, v, case.a)
    tau = case.chart.torque_from_native(
        case.native_q, robot.inverse_dynamics(case.native_q, case.native_v, native_a)
    )
    M = charted.mass_matrix(q)
    C = charted.coriolis_matrix(q, v)
    g = charted.gravity(q)
    assert_agree(M @ case.a + C @ v + g, tau)
    assert_agree(charted.bias(q, v), C @ v + g)
    assert_agree(charted.inverse_dynamics(q, v, case.a), tau)
    a = charted.forward_dynamics(q, v, tau)
    assert_agree(a, case.a, within=1e-7)


def test_external_forces_act_the_same_in_every_chart(case):
    robot, charted, q, v = case.robot, case.charted, case.q, case.v
    tip = robot.frame_names[-1]
    f_ext = {tip: np.arange(1.0, 7.0)}
    J = charted.frame_jacobian(q, tip)
    tau = charted.inverse_dynamics(q, v, case.a)
    forced = charted.inverse_dynamics(q, v, case.a, f_ext)
    assert_agree(forced, tau - J.T @ f_ext[tip])
    a = charted.forward_dynamics(q, v, forced, f_ext)
    assert_agree(a, case.a, within=1e-7)


def test_christoffel_symbols_sum_to_C(case):
    charted, q, v = case.charted, case.q, case.v
    Gamma = charted.christoffel(q)
    assert_agree(Gamma @ v, charted.coriolis_matrix(q, v))


def test_products_and_solves_are_those_of_the_matrices(case):
    charted, q, v = case.charted, case.q, case.v
    w = np.random.default_rng(2).normal(size=len(v))
    M = charted.mass_matrix(q)
    C = charted.coriolis_matrix(q, v)
    assert_agree(charted.mass_product(q, w), M @ w)
    assert_agree(charted.coriolis_product(q, v, w), C @ w)
    assert_agree(charted.coriolis_transposed_product(q, v, w), C.T @ w)
    assert_agree(charted.coriolis_transposed_product(q, v), C.T @ v)
    b = np.column_stack([M @ w, M @ v])
    x = charted.solve_mass(q, b)
    assert_agree(M @ x, b, size=largest(M) * largest(x))
    assert_agree(charted.solve_mass(q, b[:, 0]), x[:, 0])


def test_one_walk_gives_what_the_single_methods_give(case):
    robot, charted, q, v = case.robot, case.charted, case.q, case.v
    frame = robot.frame_names[-1]
    out = charted.dynamics(q, v, tuple(WANTS), (frame,), "body")
    single = {
        "M": charted.mass_matrix(q),
        "Mdot": charted.mass_matrix_rate(q, v),
        "C": charted.coriolis_matrix(q, v),
        "Gamma": charted.christoffel(q),
        "g": charted.gravity(q),
        "bias": charted.bias(q, v),
        "energy": charted.energy(q, v),
        "com": charted.center_of_mass(q),
        "momentum": charted.centroidal_momentum(q, v),
    }
    for word, value in single.items():
        assert_agree(out[word], value, size=1e-3)
    assert_agree(out["J"][frame], charted.frame_jacobian(q, frame, "body"))
    bias = charted.frame_bias(q, v, frame, "body")
    assert_agree(out["Jdot_v"][frame], bias, size=1.0)
    assert_agree(out["pose"][frame], charted.frame_pose(q, frame))
    assert set(out) == set(WANTS)
    alone = charted.dynamics(q, want=("g",))
    assert_agree(alone["g"], single["g"])
    at_rest = charted.dynamics(q, want=("M", "C", "bias"))
    assert_agree(at_rest.M, single["M"])
    assert not at_rest.C.any()
    assert_agree(at_rest.bias, single["g"], size=1.0)
    with pytest.raises(InputError, match="want: 'H' is unknown"):
        charted.dynamics(q, v, ("H",))


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_frames_move_as_natively(case, representation):
    robot, charted, q, v, a = case.robot, case.charted, case.q, case.v, case.a
    nu, point = case.native_v, np.array([0.1, -0.2, 0.3])
    frame = robot.frame_names[-1]
    where = (frame, representation, point)
    J = charted.frame_jacobian(q, *where)
    assert_agree(
        charted.frame_pose(q, frame, point),
        robot.frame_pose(case.native_q, frame, point),
    )
    velocity = robot.frame_velocity(case.native_q, nu, *where)
    assert_agree(J @ v, velocity, size=1e-3)
    assert_agree(charted.frame_velocity(q, v, *where), velocity, size=1e-3)
    acceleration = charted.frame_acceleration(q, v, a, *where)
    native_a = case.chart.acceleration_to_native(q, v, a)
    expected = robot.frame_acceleration(case.native_q, nu, native_a, *where)
    assert_agree(acceleration, expected, size=1e-3)
    bias = charted.frame_bias(q, v, *where)
    assert_agree(J @ a + bias, acceleration, size=1e-3 + largest(J) * largest(a))


def test_center_of_mass_and_momentum_are_the_same_in_every_chart(case):
    robot, charted, q, v = case.robot, case.charted, case.q, case.v
    nq, nu = case.native_q, case.native_v
    assert_agree(charted.center_of_mass(q), robot.center_of_mass(nq))
    J = charted.center_of_mass_jacobian(q)
    assert_agree(J @ v, robot.center_of_mass_jacobian(nq) @ nu)
    h = robot.centroidal_momentum(nq, nu)
    assert_agree(charted.centroidal_momentum(q, v), h)
    A_G = charted.centroidal_matrix(q)
    assert_agree(A_G @ v, h)
    rate = derivative(lambda t: charted.centroidal_matrix(case.moved(t)) @ v, case.step)
    assert_agree(charted.centroidal_bias(q, v), rate, within=1e-7, size=largest(h))
    assert_agree(charted.energy(q, v), robot.energy(nq, nu))


def test_difference_is_the_inverse_of_integrate(case):
    charted = case.charted
    v = case.v * 0.3 / max(1.0, largest(case.native_v))  # well within half a turn
    end = charted.integrate(case.q, v, 1.0)
    assert_agree(charted.difference(case.q, end), v, within=1e-9)
    halfway = charted.integrate(case.q, v, 0.5)
    half = charted.difference(case.q, halfway)
    assert_agree(half, 0.5 * v, within=1e-9)


def test_random_states_and_the_neutral_one_are_of_the_chart(case):
    robot, charted = case.robot, case.charted
    rng = np.random.default_rng(5)
    q, v = charted.random_state(rng)
    assert q.shape == (case.chart.nq,) and v.shape == (case.chart.nv,)
    native_q, native_v = robot.random_state(np.random.default_rng(5))
    assert_agree(case.chart.velocity_to_native(q, v), native_v)
    assert_agree(charted.center_of_mass(q), robot.center_of_mass(native_q))
    neutral = charted.neutral()
    assert_agree(charted.center_of_mass(neutral), robot.center_of_mass(robot.neutral()))


@pytest.mark.parametrize("name", ["hybrid", "rpy", "quaternion", "rotation_matrix"])
def test_on_a_fixed_base_there_is_nothing_to_parameterise(name):
    case = random_chart_case(name, 0, "fixed")
    assert_agree(case.q, case.native_q)
    assert_agree(case.v, case.native_v)


def test_a_copy_has_charts_of_its_own():
    robot = random_chart_case("rpy", 0).robot
    other = robot.copy()
    assert other.chart("rpy") is not robot.chart("rpy")
    assert other.chart("rpy").robot is other
    assert robot.chart("rpy") is robot.chart("rpy")


# Faults


@pytest.fixture
def solo() -> Robot:
    return real("solo12")


@pytest.mark.parametrize("name", NAMES)
def test_wrong_shapes_are_named(solo, name):
    nq, nv = solo.chart(name).nq, solo.chart(name).nv
    q = solo.in_coordinates(name).neutral()
    with pytest.raises(InputError, match=rf"q: shape \({nq + 1},\), expected \({nq},\)"):
        solo.in_coordinates(name).gravity(np.append(q, 0.0))
    with pytest.raises(InputError, match=rf"v: shape \({nv + 1},\), expected \({nv},\)"):
        solo.in_coordinates(name).bias(q, np.zeros(nv + 1))
    with pytest.raises(InputError, match=r"q1: shape"):
        solo.in_coordinates(name).difference(q, q[1:])


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("native", "3:7"),
        ("pinocchio", "3:7"),
        ("mujoco", "3:7"),
        ("rbdl", "0, 1, 2, 3, 4, 5, 18"),
        ("hybrid", "3:7"),
        ("quaternion", "3:7"),
        ("com", "3:7"),
    ],
)
def test_quaternions_that_are_not_of_unit_length_are_named(solo, name, place):
    q = solo.in_coordinates(name).neutral()
    q[18 if name == "rbdl" else slice(3, 7)] *= 2.0
    with pytest.raises(InputError, match=r"joint 'root_joint'.*norm 2, expected 1") as error:
        solo.in_coordinates(name).mass_matrix(q)
    if name in ("native", "com", "rbdl"):
        assert f"q[{place}]" in str(error.value)


def test_matrices_that_are_no_rotations_are_named(solo):
    q = solo.in_coordinates("rotation_matrix").neutral()
    stretched, mirrored = q.copy(), q.copy()
    stretched[3:12] *= 1.1
    mirrored[3] = -1.0
    with pytest.raises(InputError, match=r"q\[0:12\], joint 'root_joint'.*off by 0.21 from 1"):
        solo.in_coordinates("rotation_matrix").mass_matrix(stretched)
    with pytest.raises(InputError, match=r"determinant -1, expected 1"):
        solo.in_coordinates("rotation_matrix").mass_matrix(mirrored)


def test_center_of_mass_of_a_fixed_robot_is_refused_with_the_reason():
    robot = real("solo12", "fixed")
    with pytest.raises(InputError, match=r"'com'.*fixed base.*base='floating'"):
        robot.in_coordinates("com").mass_matrix(robot.neutral())


@pytest.mark.parametrize("pitch", [0.5 * np.pi, -0.5 * np.pi])
@pytest.mark.parametrize("offset", [0.0, 1e-7, -9e-7])
def test_singular_pitch_is_an_error_that_names_it(solo, pitch, offset):
    q = solo.in_coordinates("rpy").neutral()
    q[3:6] = 0.3, pitch + offset, -0.4
    view = solo.in_coordinates("rpy")
    for compute in (view.mass_matrix, view.gravity, view.christoffel):
        with pytest.raises(NumericalError, match=r"pitch of the base is -?1\.570"):
            compute(q)
    native = solo.neutral()
    native[3:7] = 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)
    with pytest.raises(NumericalError, match="roll and yaw"):
        solo.chart("rpy").from_native(native)
    assert np.isfinite(solo.in_coordinates("rpy").frame_pose(q, solo.frame_names[0])).all()


def test_just_outside_of_the_singular_pitch_the_equations_hold(solo):
    rng = np.random.default_rng(0)
    q, v = solo.in_coordinates("rpy").random_state(rng)
    q[4] = 0.5 * np.pi - 1e-3
    a = rng.normal(size=len(v))
    tau = solo.in_coordinates("rpy").inverse_dynamics(q, v, a)
    assert_agree(solo.in_coordinates("rpy").forward_dynamics(q, v, tau), a, within=1e-6)
