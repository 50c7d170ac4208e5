"""Fewer velocities than the robot has: joints with a motion subspace S(q) of the user's."""

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree
from torqued.kernels import (
    Custom,
    Description,
    Inertia,
    InputError,
    Joint,
    Link,
    NumericalError,
    Pose,
    Robot,
)

Z = np.array([0.0, 0.0, 1.0])
MOMENTS = np.array([[0.2, 0.0, 0.01], [0.0, 0.3, 0.0], [0.01, 0.0, 0.4]])
BODY = Inertia(2.0, np.array([0.1, 0.2, 0.3]), MOMENTS)

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")


def arm(kind, **fields) -> Robot:
    """A turning upper link, a joint of that kind, and a last hinge."""
    links = (Link("base"), Link("upper", BODY), Link("screw", BODY), Link("hand", BODY))
    placed = Pose(np.eye(3), np.array([0.3, 0.0, 0.1]))
    joints = (
        Joint("a", "continuous", "base", "upper", placed, np.array([0.0, 1.0, 0.0])),
        Joint("b", kind, "upper", "screw", placed, Z, **fields),
        Joint("c", "continuous", "screw", "hand", placed, np.array([1.0, 0.0, 0.0])),
    )
    return Robot.from_description(Description("arm", links, joints))


def thread(height, slope, curvature):
    """The second joint slides by height(s) while it turns by s: its S(q) has the slope."""

    def A(q):
        a = np.zeros((4, 3))
        a[0, 0] = a[2, 1] = a[3, 2] = 1.0
        a[1, 1] = slope(q[2])
        return a

    def A_rate(q, v):
        rate = np.zeros((4, 3))
        rate[1, 1] = curvature(q[2]) * v[2]
        return rate

    def q_of(s):
        return np.array([s[0], height(s[1]), s[1], s[2]])

    return Custom(A, A_rate, "thread", size=3), q_of


STATE = np.random.default_rng(0).normal(size=(4, 3))


def test_constant_slope_is_a_helical_joint():
    custom, q_of = thread(lambda s: 0.2 * s, lambda s: 0.2, lambda s: 0.0)
    view, helical = arm("cylindrical").in_coordinates(custom), arm("helical", pitch=0.2)
    s, v, a, tau = STATE
    q = q_of(s)
    assert view.nv == 3 and view.joint_names == ("thread_1", "thread_2", "thread_3")
    for found, expected in (
        (view.mass_matrix(q), helical.mass_matrix(s)),
        (view.coriolis_matrix(q, v), helical.coriolis_matrix(s, v)),
        (view.bias(q, v), helical.bias(s, v)),
        (view.gravity(q), helical.gravity(s)),
        (view.inverse_dynamics(q, v, a), helical.inverse_dynamics(s, v, a)),
        (view.forward_dynamics(q, v, tau), helical.forward_dynamics(s, v, tau)),
        (view.solve_mass(q, tau), helical.solve_mass(s, tau)),
        (view.frame_jacobian(q, "hand"), helical.frame_jacobian(s, "hand")),
        (view.frame_pose(q, "hand"), helical.frame_pose(s, "hand")),
        (view.frame_bias(q, v, "hand"), helical.frame_bias(s, v, "hand")),
    ):
        assert_agree(found, expected, within=1e-12)


def test_curved_thread_obeys_lagranges_equations():
    """d/dt ∂L/∂ṡ − ∂L/∂s = τ, with L from the native energies along q(s)."""
    custom, q_of = thread(
        lambda s: 0.1 * np.sin(s), lambda s: 0.1 * np.cos(s), lambda s: -0.1 * np.sin(s)
    )
    robot = arm("cylindrical")
    view = robot.in_coordinates(custom)
    s, v, a, _ = STATE
    M = view.mass_matrix(q_of(s))
    dM = np.array(
        [derivative(lambda t, e=e: view.mass_matrix(q_of(s + t * e)), 1e-2) for e in np.eye(3)]
    )
    dU = np.array(
        [derivative(lambda t, e=e: robot.energy(q_of(s + t * e), None)[1], 1e-2) for e in np.eye(3)]
    )
    Mdot = np.einsum("kij,k->ij", dM, v)
    expected = M @ a + Mdot @ v - 0.5 * np.einsum("kij,i,j->k", dM, v, v) + dU
    assert_agree(view.inverse_dynamics(q_of(s), v, a), expected, within=1e-8)
    assert_agree(view.mass_matrix_rate(q_of(s), v), Mdot, within=1e-8)
    C = view.coriolis_matrix(q_of(s), v)
    assert_agree(C + C.T, Mdot, within=1e-8)
    assert_agree(view.forward_dynamics(q_of(s), v, expected), a, within=1e-8)


def test_what_needs_all_velocities_is_refused():
    custom, q_of = thread(lambda s: s, lambda s: 1.0, lambda s: 0.0)
    view = arm("cylindrical").in_coordinates(custom)
    for compute in (view.contact_dynamics, view.simulate, view.forward_dynamics_derivatives):
        with pytest.raises(InputError, match="coordinates 'thread' leave out velocities; expect"):
            compute(q_of(STATE[0]), STATE[1], STATE[2], ())


def test_columns_that_depend_on_each_other_are_refused():
    view = arm("cylindrical").in_coordinates(Custom(np.ones((4, 2)), size=2))
    with pytest.raises(NumericalError, match="A is singular here"):
        view.forward_dynamics(np.zeros(4), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    ("custom", "problem"),
    [
        (Custom(np.eye(4), size=3), r"A: shape \(4, 4\), expected \(4, 3\)"),
        (Custom(np.eye(4), size=5), "size is 5, expected a whole number from 1 to 4"),
        (Custom(np.eye(4)[:, :3], np.eye(3), size=3), r"A_rate: shape \(3, 3\), expected \(4, 3\)"),
    ],
)
def test_sizes_are_checked(custom, problem):
    with pytest.raises(InputError, match=problem):
        arm("cylindrical").in_coordinates(custom)
