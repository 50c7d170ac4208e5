"""Robots and what is made of them are copied and sent to other processes, or refuse it by name."""

from __future__ import annotations

import copy
import multiprocessing
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.charts import Custom
from torqued.kernels.control.controller import Controller

COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda value: pickle.loads(pickle.dumps(value)),
]


def robot() -> Robot:
    return Robot.family("biped", 6)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize(
    "made",
    [
        lambda robot: robot,
        lambda robot: robot.in_coordinates("rpy"),
        lambda robot: robot.in_coordinates(Custom(2.0 * np.eye(robot.nv))),
    ],
)
def test_copy_computes_the_same_without_the_original(copied, made):
    original = made(robot())
    q, _ = original.random_state(np.random.default_rng(0))
    M = original.mass_matrix(q)
    other = copied(original)
    work = getattr(original, "robot", original).work
    assert getattr(other, "robot", other).work is not work
    del original, work
    assert np.array_equal(other.mass_matrix(q), M)


@pytest.mark.parametrize("copied", COPIES)
def test_copied_batch_computes_with_its_own_robot(copied):
    batch = robot().batch(threads=2)
    Q = np.array([batch.robot.random_state(np.random.default_rng(k))[0] for k in range(3)])
    J = batch.center_of_mass_jacobian(Q)
    other = copied(batch)
    assert other.robot is not batch.robot and other.pool.threads == 2
    del batch
    assert np.array_equal(other.center_of_mass_jacobian(Q), J)


@pytest.mark.parametrize("copied", COPIES)
def test_model_of_a_copy_is_read_only(copied):
    model = copied(robot()).model
    for array in (model.bodies, model.world, model.dofs.lower, model.frames[0].rotation):
        with pytest.raises(ValueError):
            array.flags.writeable = True


@pytest.mark.parametrize("copied", COPIES)
def test_memory_of_compiled_code_is_not_copied(copied):
    with pytest.raises(TypeError, match="a Workspace cannot be copied or pickled"):
        copied(robot().work)
    with pytest.raises(TypeError, match="a Controller cannot be copied or pickled"):
        copied(Controller(Robot.family("chain", 2), "gravity"))
    if copied is not copy.copy:
        with pytest.raises(TypeError, match="a Workspace cannot be copied or pickled"):
            copied(robot().tree)


def test_robot_reaches_processes_that_are_spawned():
    one = robot()
    center = operator.methodcaller("center_of_mass", one.neutral())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert np.array_equal(pool.map(center, [one, one]), [center(one)] * 2)
