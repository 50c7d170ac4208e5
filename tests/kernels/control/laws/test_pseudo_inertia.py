"""Loads that a body can have, against numpy's eigenvalues and points with masses."""

from __future__ import annotations

import numpy as np
import pytest

from support.compiled_kernels import from_python
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.laws import pseudo_inertia as kernels
from torqued.kernels.model.catalog import find_file

REACH = 0.3

fill_pseudo_inertia = from_python(kernels.fill_pseudo_inertia)
fill_parameters = from_python(kernels.fill_parameters)
gradient_of = from_python(kernels.gradient_of)
project_on_possible = from_python(kernels.project_on_possible)
scale_within = from_python(kernels.scale_within)


def of_points(rng, count):
    """(m, h, Ī) of points with masses."""
    m, x = rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3))
    inertia = sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for w, p in zip(m, x, strict=True))
    return np.array([m.sum(), *(m @ x), *inertia[np.triu_indices(3)]])


def pseudo_inertia(load):
    P = np.empty((4, 4))
    fill_pseudo_inertia(load, REACH, P)
    return P


@pytest.mark.parametrize("seed", range(5))
def test_points_with_masses_have_a_possible_load(seed):
    rng = np.random.default_rng(seed)
    load = of_points(rng, 6)
    P, back = pseudo_inertia(load), np.empty(10)
    assert np.linalg.eigvalsh(P)[0] > 0.0
    fill_parameters(P, REACH, back)
    assert np.allclose(back, load)
    few = pseudo_inertia(of_points(rng, 2))  # on a line: two directions have no extent
    assert np.allclose(np.linalg.eigvalsh(few)[:2], 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_gradient_is_that_of_the_ten_parameters(seed):
    rng = np.random.default_rng(seed)
    gradient, load, G = rng.normal(size=10), rng.normal(size=10), np.empty((4, 4))
    gradient_of(gradient, REACH, G)
    assert np.isclose((G * pseudo_inertia(load)).sum(), gradient @ load)


@pytest.mark.parametrize("seed", range(10))
def test_projection_is_the_nearest_matrix_with_eigenvalues_in_range(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    A = A + A.T
    values, vectors = np.linalg.eigh(A)
    expected = vectors @ np.diag(np.clip(values, 0.0, 1.5)) @ vectors.T
    P = A.copy()
    project_on_possible(P, np.empty((4, 4)), 1.5)
    assert np.allclose(P, expected, atol=1e-12)


def test_load_beyond_its_bounds_becomes_smaller_as_a_whole():
    load = np.array([2.0, 0.1, -0.2, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1])
    before = load.copy()
    upper = np.full(10, 1.0)
    scale_within(load, -np.full(10, 0.05), upper)
    assert np.allclose(load, 0.25 * before)
    assert load[2] == -0.05


@pytest.fixture(scope="module")
def panda():
    return Robot.from_urdf(find_file("panda"))


def test_whatever_is_learned_is_possible(panda):
    """Over states and references at random, with learning that is far too fast."""
    controller = Controller(
        panda, "adaptive", frame="panda_hand", gains={"adaptation": 1e4, "error_limit": 1e6}
    )
    rng = np.random.default_rng(0)
    heaviest = controller.data.memory[-1]
    masses = []
    for _ in range(300):
        q, v = panda.random_state(rng)
        load = controller.torque(q, v, 0.01, q_ref=q + 0.3 * rng.normal(size=8)).load
        controller.record[0].cut = 0
        fill = np.empty((4, 4))
        fill_pseudo_inertia(load, controller.data.memory[-2], fill)
        values = np.linalg.eigvalsh(fill)
        assert values[0] > -1e-9 * heaviest and values[-1] < (1 + 1e-9) * heaviest
        masses.append(load[0])
    assert max(masses) > 0.1 * heaviest


def test_load_only_becomes_smaller_while_torques_are_cut(panda):
    controller = Controller(
        panda, "adaptive", frame="panda_hand", gains={"adaptation": 5.0}, effort_limit=[1.0] * 8
    )
    learned = np.array([0.5, 0.01, 0.0, 0.0, 0.01, 0.0, 0.0, 0.01, 0.0, 0.01])
    controller.data.memory[:10] = learned
    q, v = 0.5 * (panda.limits.lower + panda.limits.upper), np.zeros(8)
    assert "CLAMPED" in controller.torque(q, v, 0.0, q_ref=q).status
    masses = []
    for e in (0.01, -0.01):  # one sags under a load, the other one is lifted by it
        controller.data.memory[:10] = learned
        masses.append(controller.torque(q, v, 0.01, q_ref=q + e).load[0])
    assert max(masses) == learned[0] and min(masses) < learned[0]


def test_load_is_learned_however_far_it_has_pulled_the_arm(panda):
    controller = Controller(panda, "adaptive", frame="panda_hand")
    q, v = 0.5 * (panda.limits.lower + panda.limits.upper), np.zeros(8)
    far = np.zeros(8)
    far[[1, 3]] = -0.8, 0.8
    learned = []
    for sign in (1.0, -1.0):
        controller.data.memory[:10] = 0.0
        learned.append(controller.torque(q, v, 0.001, q_ref=q + sign * far).load[0])
    assert max(learned) > 0.0
