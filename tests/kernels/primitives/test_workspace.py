"""Workspaces: scratch of one thread, beside a model that all share and nobody writes to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.primitives.layout import Work
from torqued.kernels.primitives.workspace import (
    LoopWorkspace,
    OwnershipError,
    Workspace,
)

MODEL = ("world", "bodies", "body_of")


@pytest.fixture
def robot() -> Robot:
    return Robot.family("biped", 6)


def in_thread(call: Callable[[], Any], name: str = "other") -> Any:
    """What a call returns or raises in a thread of its own, which has ended then."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    thread.join()
    return found[0]


class TestMemory:
    def test_model_is_shared_and_scratch_is_not(self, robot):
        one, other = robot.work.arrays, robot.copy().work.arrays
        for name in Work._fields:
            shared = np.shares_memory(getattr(one, name), getattr(other, name))
            assert shared == (name in ("world", "bodies")), name

    @pytest.mark.parametrize("name", MODEL)
    def test_model_cannot_be_written(self, robot, name):
        with pytest.raises(ValueError, match="read-only"):
            getattr(robot.work.arrays, name)[...] = 0


class TestLoopWorkspace:
    @pytest.fixture
    def work(self, robot) -> LoopWorkspace:
        return LoopWorkspace(robot.model.world, robot.model.bodies)

    def test_owner_computes_in_it(self, robot, work):
        q, _ = robot.random_state(np.random.default_rng(0))
        M = np.zeros((robot.nv, robot.nv))
        assert in_thread(lambda: COMPILED.mass_matrix(work.claim(), q, M)) is None
        np.testing.assert_array_equal(M, robot.mass_matrix(q))

    def test_nobody_else_gets_it_while_the_owner_lives(self, work):
        handle = work.claim()
        refused = in_thread(work.claim, "request")
        assert isinstance(refused, OwnershipError)
        me = threading.current_thread().name
        assert str(refused) == (
            f"thread 'request' cannot have this workspace, it belongs to thread {me!r}"
        )
        assert work.owner is threading.current_thread()
        assert work.claim() == handle

    def test_another_loop_gets_it_when_the_thread_has_ended(self, work):
        handle = in_thread(work.claim)
        assert work.claim() == handle

    def test_it_is_no_workspace_that_a_robot_could_compute_in(self, work):
        assert not isinstance(work, Workspace)
        assert not hasattr(work, "handle") and not hasattr(work, "arrays")
