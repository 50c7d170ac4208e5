"""Integral action finds constant torques that no model has, within bounds, and winds nothing up."""

from __future__ import annotations

import numpy as np
import pytest

from support.disturbances import plant_of, swing
from torqued.common.status import CLAMPED, FALLBACK, STALE
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller

STEP = 1e-3


def hold(plant, controller, q, bias, seconds, events=lambda k: None):
    """Errors (steps, nv) while the arm should stay at q and a constant torque pushes."""
    plant.reset(q, np.zeros(plant.robot.nv))
    errors = []
    for k in range(round(seconds / STEP)):
        events(k)
        output = controller.torque(plant.q, plant.v, STEP if k else 0.0, q_ref=q)
        plant.step(output.tau + bias, STEP)
        errors.append(plant.q - q)
    return np.array(errors)


@pytest.mark.parametrize("name", ["panda", "ur5", "ur10", "z1"])
@pytest.mark.parametrize("law", ["pd", "pd_plus", "computed_torque", "passivity"])
def test_a_constant_torque_is_found(name, law):
    plant = plant_of(name)
    q = swing(plant, name).center
    # As much as gives every joint by itself the same acceleration: springs suit inertias.
    bias = 2.0 * np.diag(plant.robot.mass_matrix(q))
    controller = Controller(plant.robot, law, integral={"rate": 5.0})
    errors = hold(plant, controller, q, bias, 2.0)
    without = hold(plant, Controller(plant.robot, law), q, bias, 1.0)
    assert np.allclose(controller.data.bias, bias, rtol=0.01)
    assert np.abs(errors[-1]).max() < 0.02 * np.abs(without[-1]).max()


def test_the_estimate_has_bounds():
    plant = plant_of("panda")
    q, effort = swing(plant, "panda").center, plant.robot.limits.effort
    for given, bound in (({"rate": 10.0}, 0.1 * effort), ({"rate": 10.0, "limit": 1.0}, 1.0)):
        controller = Controller(plant.robot, "passivity", integral=given)
        hold(plant, controller, q, 0.3 * effort, 0.5)
        assert np.allclose(controller.data.bias, bound)


@pytest.mark.parametrize("status", [STALE, CLAMPED, FALLBACK])
def test_nothing_is_learned_while_the_robot_does_not_get_the_torque(status):
    plant = plant_of("panda")
    controller = Controller(plant.robot, "passivity", integral=5.0)

    def interrupt(k):
        controller.record[0].status = status

    hold(plant, controller, swing(plant, "panda").center, 1.0, 0.2, interrupt)
    assert not controller.data.bias.any()


def test_a_torque_that_is_cut_winds_nothing_up():
    """A jump of the reference of 1 rad: the estimate stays near what there is, nothing."""
    plant = plant_of("panda")
    q = swing(plant, "panda").center
    weak = 0.05 * plant.robot.limits.effort + np.abs(plant.robot.gravity(q))
    controller = Controller(plant.robot, "passivity", integral=5.0, effort_limit=weak)
    plant.reset(q, np.zeros(7))
    cut = 0
    for k in range(400):
        output = controller.torque(plant.q, plant.v, STEP if k else 0.0, q_ref=q + 1.0)
        cut += "CLAMPED" in output.status
        plant.step(output.tau, STEP)
    assert cut > 0
    assert np.abs(controller.data.bias).max() < 0.01 * plant.robot.limits.effort.max()


def test_it_is_in_the_account_of_power():
    robot = Robot.named("ur5")
    with_bias = Controller(robot, "passivity", integral=1.0)
    without = Controller(robot, "passivity")
    bias = 0.1 * np.arange(6.0)
    with_bias.data.bias[:] = bias
    q, v = robot.random_state(np.random.default_rng(3))
    some, none = with_bias.torque(q, 0.1 * v, q_ref=q), without.torque(q, 0.1 * v, q_ref=q)
    assert np.allclose(none.tau - some.tau, bias)
    power = some.reference_power - none.reference_power
    assert power == pytest.approx(-float(some.port @ bias))


@pytest.mark.parametrize(
    ("law", "given", "message"),
    [
        ("gravity", 1.0, "integral: law 'gravity' keeps no joint positions"),
        ("adaptive", 1.0, "integral: law 'adaptive' learns its load by itself"),
        ("pd", 0.0, "integral.rate is 0.0, expected above 0, at most 10 1/s"),
        ("pd", {"rate": 50.0}, "integral.rate is 50.0, expected above 0"),
        ("pd", {"limit": -1.0}, "integral.limit is -1.0, expected zero to the effort limit"),
        ("pd", {"limit": 1e6}, "integral.limit is 1000000.0, expected zero to the effort limit"),
        ("pd", {"gain": 1.0}, "integral: 'gain' is unknown, allowed: rate, limit"),
        ("pd", "fast", "integral.rate: expected numbers"),
    ],
)
def test_wrong_options_are_refused(law, given, message):
    robot = Robot.named("ur5")
    options = {"frame": "tool0"} if law == "adaptive" else {}
    with pytest.raises(InputError, match=message):
        Controller(robot, law, integral=given, **options)
