"""A robot computes for one thread at a time: others are refused, and have right results after."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.primitives.workspace import OwnershipError


@pytest.fixture
def short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_another_thread(call: Callable[[], Any]) -> Any:
    """What it gives there, or its error."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except OwnershipError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_results_of_several_threads_are_right_or_refused(short_turns):
    robot = Robot.family("chain", 12)
    states = [robot.random_state(np.random.default_rng(k)) for k in range(3)]
    right = [robot.coriolis_matrix(q, v) for q, v in states]
    wrong: list[int] = []

    def compute(k: int) -> None:
        for _ in range(1000):
            try:
                C = robot.coriolis_matrix(*states[k])
            except OwnershipError:
                continue
            if not np.array_equal(C, right[k]):
                wrong.append(k)

    threads = [threading.Thread(target=compute, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert np.array_equal(robot.coriolis_matrix(*states[0]), right[0])


USES: list[Callable[[Robot], Callable[[], Any]]] = [
    lambda robot: lambda: robot.gravity(robot.neutral()),
    lambda robot: lambda: robot.screws.mass_matrix(robot.neutral()),
    lambda robot: lambda: robot.in_coordinates("rbdl").neutral(),
    lambda robot: lambda: robot.set_inertia(robot.frame_names[-1], 1.0),
]


@pytest.mark.parametrize("use", USES)
def test_second_thread_is_refused_while_the_first_computes(use):
    robot = Robot.family("chain", 2)
    refused: list[Any] = []

    def report(done: int, steps: int) -> None:
        robot.gravity(robot.neutral())  # the same thread may
        refused.append(in_another_thread(use(robot)))

    robot.simulate(robot.neutral(), seconds=1e-3, report=report)
    assert isinstance(refused[0], OwnershipError) and "robot.copy()" in str(refused[0])
    assert not isinstance(in_another_thread(use(robot)), OwnershipError)


def test_controller_is_refused_while_another_thread_computes_with_its_robot():
    robot = Robot.family("chain", 2)
    controller, q = Controller(robot, "gravity"), robot.neutral()
    refused: list[Any] = []

    def report(done: int, steps: int) -> None:
        refused.append(in_another_thread(lambda: controller.torque(q, np.zeros(2))))

    robot.simulate(q, seconds=1e-3, report=report)
    assert isinstance(refused[0], OwnershipError)


def test_batch_is_refused_while_it_computes():
    robot = Robot.family("chain", 2)
    batch, refused, Q = robot.batch(threads=1), [], np.zeros((40, 2))

    def progress(done: int, total: int) -> None:
        batch.progress = None
        refused.append(in_another_thread(lambda: batch.center_of_mass_jacobian(Q)))

    batch.progress = progress
    batch.center_of_mass_jacobian(Q)
    assert isinstance(refused[0], OwnershipError) and "robot.copy().batch()" in str(refused[0])
    assert len(in_another_thread(lambda: batch.center_of_mass_jacobian(Q))) == 40


def test_errors_and_interruptions_leave_the_robot_free():
    robot = Robot.family("chain", 6)
    q, interrupted = robot.neutral(), 0
    with pytest.raises(ValueError):
        robot.gravity(q[:2])
    former = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for k in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 1e-6 * (k % 50))
                while True:
                    robot.coriolis_matrix(q)
            except KeyboardInterrupt:
                interrupted += 1
            assert not robot.users
    finally:
        signal.signal(signal.SIGALRM, former)
    assert interrupted == 300
    assert len(in_another_thread(lambda: robot.gravity(q))) == 6
