"""Both programs compute the same thing, and the benchmark notices when they do not."""

import numpy as np
import pinocchio as pin
import pytest

from torqued.benchmarks import robots
from torqued.benchmarks.robots import HESSIAN, KERNELS, DisagreementError
from torqued.common.errors import InputError


@pytest.mark.parametrize("name", robots.ROBOTS)
def test_budget_robots_agree_with_pinocchio(name):
    robots.load(name, states=2).verify()


def test_talos_has_the_38_dof_of_the_budget():
    assert robots.load("talos", states=1).robot.nv == 38


def test_panda_is_the_free_model_in_both_programs():
    case = robots.load("panda", states=1)
    assert case.robot.nv == case.model.nv == 9


@pytest.mark.parametrize("kernel", KERNELS)
def test_another_mass_in_pinocchio_is_noticed_by_every_kernel_of_dynamics(kernel):
    case = robots.load("biped8", states=2)
    case.verify([kernel])
    case.model.inertias[3].mass *= 1.0 + 1e-6
    with pytest.raises(DisagreementError, match=rf"biped8, {kernel}: .* differs from Pinocchio's"):
        case.verify([kernel])


@pytest.mark.parametrize("kernel", (*KERNELS, HESSIAN))
def test_another_state_in_pinocchio_is_noticed_by_every_kernel(kernel):
    case = robots.load("chain5", states=2)
    case.pin_states[1].q[2] += 1e-6
    with pytest.raises(DisagreementError, match="chain5"):
        case.verify([kernel])


def test_result_that_is_not_a_number_is_noticed():
    case = robots.load("chain5", states=1)
    case.pin_states[0].tau[0] = np.nan
    with pytest.raises(DisagreementError, match="a differs from Pinocchio's by nan"):
        case.verify(["aba"])


def test_different_numbers_of_dof_are_noticed():
    chain, model = robots.load("chain5", states=1), robots.load("chain6", states=1).model
    with pytest.raises(DisagreementError, match="chain5: 5 DoF here, 6 in Pinocchio"):
        robots.Case("chain5", chain.robot, model, states=1)


def test_twist_of_a_floating_base_is_linear_first_in_pinocchio():
    case = robots.load("biped4", states=1)
    assert list(robots.velocity_map(case.robot, case.model)[:6]) == [3, 4, 5, 0, 1, 2]


def test_unlimited_joint_has_cosine_and_sine_in_pinocchio():
    case = robots.load("kinova", states=1)
    assert case.model.nq > case.robot.nq
    assert pin.isNormalized(case.model, case.pin_states[0].q, 1e-12)


def test_states_differ_and_are_the_same_in_every_run():
    first, second = robots.load("chain5", states=3), robots.load("chain5", states=3)
    assert len({state.q.tobytes() for state in first.states}) == 3
    for here, there in zip(first.states, second.states, strict=True):
        assert np.array_equal(here.q, there.q)


@pytest.mark.parametrize("kernel", (*KERNELS, HESSIAN))
def test_methods_of_robot_give_what_the_kernels_give(kernel):
    case = robots.load("tree7", states=1)
    (function, arguments), (method, given) = case.ours(kernel)[0], case.method(kernel)[0]
    function(*arguments)
    found = method(*given)
    last = found[-1] if isinstance(found, tuple) else found  # derivatives are several matrices
    assert np.allclose(last, arguments[-1], rtol=1e-12, atol=0.0)


def test_unknown_robot_is_refused_by_name():
    with pytest.raises(InputError, match="'pandda' is not known"):
        robots.require_known("pandda")


@pytest.mark.parametrize("name", [*robots.ROBOTS, "tree7"])
def test_known_robots_are_let_through(name):
    robots.require_known(name)
