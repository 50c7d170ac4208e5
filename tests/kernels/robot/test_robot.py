"""`Robot` as a whole: parts under one face, the same methods in every chart."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from support.cases import random_case
from torqued.kernels import InputError, NumericalError, Robot
from torqued.kernels.charts import CHARTS, Custom
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.robot.pinocchio_names import PINOCCHIO_NAMES


def parameters(function: Any) -> dict[str, Any]:
    signature = inspect.signature(function)
    found = {name: parameter.default for name, parameter in signature.parameters.items()}
    return {name: default for name, default in found.items() if name != "out"}


#: In native coordinates alone; docs/COORDINATES.md says so.
NATIVE_ALONE = ("frame_geometric_jacobian", "geometric_derivatives", "inverse_dynamics_rates")
#: What compiled code takes.
FOR_KERNELS = ("constraint_set", "contact_terms", "solve_contacts")

IN_CHARTS = [
    name
    for name, method in inspect.getmembers(Robot, inspect.isfunction)
    if {"q", "q0"} & set(parameters(method))
    and not name.startswith("_")
    and name not in (*NATIVE_ALONE, *FOR_KERNELS)
]


class TestCoordinates:
    @pytest.mark.parametrize("name", IN_CHARTS)
    def test_view_has_the_same_method_with_the_same_defaults(self, name):
        assert parameters(getattr(ChartedRobot, name)) == parameters(getattr(Robot, name))

    def test_native_view_is_the_robot(self):
        robot = Robot.family("chain", 3)
        assert robot.in_coordinates("native") is robot

    def test_view_is_made_once_and_says_what_it_is(self):
        robot = Robot.family("biped", 4)
        view = robot.in_coordinates("quaternion")
        assert view is robot.in_coordinates("quaternion")
        assert (view.nq, view.nv) == (robot.nq, robot.nv + 1)
        assert view.frame_names == robot.frame_names
        assert "quaternion" in repr(view)

    @pytest.mark.parametrize("coordinates", ["polar", None, 3, ["native"], np.array(["native"])])
    def test_unknown_coordinates_are_refused(self, coordinates):
        robot = Robot.family("chain", 2)
        for call in (
            lambda: robot.in_coordinates(coordinates),
            lambda: robot.chart(coordinates),
        ):
            with pytest.raises(InputError, match=r"^coordinates: .* is unknown, allowed: 'native'"):
                call()

    @pytest.mark.parametrize("name", CHARTS)
    def test_terms_of_controllers_are_those_of_the_charts_matrices(self, name):
        case = random_case(5, 6, "floating")
        view = case.robot.in_coordinates(name)
        q, v = view.random_state(np.random.default_rng(1))
        w, a = np.random.default_rng(2).normal(size=(2, len(v)))
        if name in ("quaternion", "rotation_matrix"):  # velocities that such a robot can have
            chart = case.robot.chart(name)
            native = chart.to_native(q)
            w, a = (chart.A_inverse(native) @ (chart.A(native) @ x) for x in (w, a))
        M, C, g = (view.dynamics(q, v)[word] for word in ("M", "C", "g"))
        p, rate = view.generalized_momentum(q, v)
        close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(M).max()}
        np.testing.assert_allclose(view.tracking_torque(q, v, w, a), M @ a + C @ w + g, **close)
        np.testing.assert_allclose(p, M @ v, **close)
        np.testing.assert_allclose(rate, C.T @ v - g, **close)
        rotors = case.robot.limits.armature
        if not rotors.any():
            Y = view.regressor(q, v, a, w)
            found = Y @ case.robot.inertial_parameters
            np.testing.assert_allclose(found, M @ a + C @ w + g, **close)

    def test_custom_coordinates_have_a_view_too(self):
        robot = Robot.family("chain", 2)
        view = robot.in_coordinates(Custom(2.0 * np.eye(2)))
        np.testing.assert_allclose(
            view.mass_matrix(np.zeros(2)), 4.0 * robot.mass_matrix(np.zeros(2))
        )


class TestNames:
    @pytest.mark.parametrize("name", PINOCCHIO_NAMES)
    def test_names_of_pinocchio_lead_to_those_here(self, name):
        robot = Robot.family("chain", 1)
        assert hasattr(robot, PINOCCHIO_NAMES[name])
        with pytest.raises(AttributeError, match=f"here it is '{PINOCCHIO_NAMES[name]}'"):
            getattr(robot, name)

    def test_other_names_are_just_missing(self):
        with pytest.raises(AttributeError, match=r"^a robot has no 'wheels'$"):
            _ = Robot.family("chain", 1).wheels

    def test_robot_by_name(self):
        assert Robot.named("chain3").nv == 3
        assert Robot.named("biped4").model.base == "floating"
        assert Robot.named("panda").name == "panda"
        with pytest.raises(InputError, match="did you mean"):
            Robot.named("pnda")
        with pytest.raises(InputError, match=r"^path: 5"):
            Robot.named(5)  # type: ignore[arg-type]


class TestOverflow:
    """Finite numbers whose results are not finite."""

    ROBOT = Robot.family("chain", 3)
    Q, V = np.zeros(3), np.full(3, 1e160)

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("bias", (Q + 0.3, V)),
            ("inverse_dynamics", (Q + 0.3, V, V)),
            ("forward_dynamics", (Q + 0.3, V, V)),
            ("energy", (Q, V)),
            ("centroidal_bias", (Q + 0.3, V)),
            ("integrate", (Q, V, 1e200)),
            ("frame_bias", (Q + 0.3, V, "link_3")),
        ],
    )
    @pytest.mark.parametrize("coordinates", ["native", "pinocchio"])
    def test_method_raises_an_error_that_names_it(self, name, arguments, coordinates):
        if name.startswith("frame"):
            arguments = (*arguments[:-1], self.ROBOT.frame_names[-1])
        with pytest.raises(NumericalError, match=f"^{name}: the result is not finite"):
            getattr(self.ROBOT.in_coordinates(coordinates), name)(*arguments)

    @pytest.mark.parametrize("word", ["bias", "energy"])
    def test_quantity_is_named(self, word):
        with pytest.raises(NumericalError, match=f"^{word}: the result is not finite"):
            self.ROBOT.dynamics(self.Q + 0.3, self.V, ("M", word))

    def test_huge_results_that_are_finite_pass(self):
        large = np.full(3, 1e300)
        assert np.isfinite(self.ROBOT.mass_product(self.Q, large * 1e-10)).all()
