"""What goes state by state keeps the promises of what is computed several states at a time."""

import multiprocessing
import subprocess
import sys
import warnings

import numpy as np
import pytest

from support.eventually import PATIENCE
from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.batch.computation import GRAIN

COUNT = 400
#: A batch in a thread that outlives the main one: no further threads can be had then.
LATE = """
import threading
import numpy as np
from torqued.kernels import Robot

def compute():
    threading.main_thread().join()
    found = robot.batch(threads=2).integrate(q, q, np.full(len(q), 0.1))
    print(np.allclose(found, 1.1 * q))

robot = Robot.family("chain", 6)
q = np.ones((400, 6))
threading.Thread(target=compute).start()
"""


def states(robot, count=COUNT):
    rng = np.random.default_rng(5)
    q, v = (np.array(x) for x in zip(*(robot.random_state(rng) for _ in range(count)), strict=True))
    return q, v, rng.standard_normal(v.shape)


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", 6)


def test_batch_goes_on_in_a_process_that_was_forked(robot):
    """Its threads stayed behind: those for state by state, and those for several at a time."""
    q, v, a = states(robot, max(COUNT, 4 * GRAIN.share))
    batch, dt = robot.batch(threads=2), np.full(len(q), 0.1)

    def results():
        return batch.integrate(q, v, dt), batch.inverse_dynamics(q, v, a)

    expected = results()

    def compute(end):
        end.send(all(map(np.array_equal, results(), expected)))

    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=compute, args=(there,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of what is tested
        process.start()
    try:
        assert here.poll(PATIENCE) and here.recv()
    finally:
        process.kill()
        process.join()


def test_batch_goes_on_alone_when_the_program_is_about_to_end():
    ended = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("True\n", "")


@pytest.mark.parametrize("wrenches", [{}, {"f_ext": True}], ids=["alone", "with wrenches"])
@pytest.mark.parametrize("count", [1, 9, 40])
def test_nothing_half_written_stays_whatever_state_is_wrong(robot, wrenches, count):
    frame = robot.frame_names[-1]
    given = {"f_ext": {frame: np.zeros((count, 6))}} if wrenches else {}
    for wrong in {0, count - 1}:
        q, v, a = states(robot, count)
        a[wrong, 1] = np.nan
        out = np.zeros((count, 6, 6)), np.zeros((count, 6, 6))
        with pytest.raises(InputError, match=rf"^state {wrong}: a\[1\] is nan") as caught:
            robot.batch().inverse_dynamics_derivatives(q, v, a, **given, out=out)
        assert caught.value.state == wrong
        assert all(np.isnan(array).all() for array in out)


def test_results_are_not_written_over_arguments_or_each_other(robot):
    q, v, a = states(robot, 9)
    f_ext = {robot.frame_names[-1]: np.zeros((9, 6))}
    memory, other = np.zeros(9 * 36), np.zeros((9, 6, 6))
    inside, whole = memory[:54].reshape(9, 6), memory.reshape(9, 6, 6)
    batch = robot.batch()
    for third, out in ((inside, (other, whole)), (a, (other, other))):
        with pytest.raises(InputError, match="an argument or another result"):
            batch.inverse_dynamics_derivatives(q, v, third, f_ext, out=out)
    with pytest.raises(InputError, match="an argument or another result"):
        batch.integrate(q, v, np.zeros(9), out=q)


@pytest.mark.parametrize("count", [1, 9])
def test_what_is_common_to_all_states_is_told_without_one(robot, count):
    q, v, a = states(robot, count)
    with pytest.raises(InputError, match="nowhere") as caught:
        robot.batch().inverse_dynamics_derivatives(q, v, a, {"nowhere": np.zeros((count, 6))})
    assert caught.value.state is None


@pytest.mark.parametrize(
    "change, field",
    [
        ({"q": [[0.0] * 6, [0.0]]}, "q"),
        ({"v": 3.0}, "v"),
        ({"f_ext": {"base": np.zeros((2, 6))}}, "f_ext['base']"),
    ],
)
def test_wrong_stacks_are_refused_by_their_name(robot, change, field):
    q, v, a = states(robot, 1)
    given = {"q": q, "v": v, "a": a, "f_ext": {robot.frame_names[-1]: np.zeros((1, 6))}}
    with pytest.raises(InputError) as caught:
        robot.batch().inverse_dynamics_derivatives(**(given | change))
    assert caught.value.field == field


@pytest.mark.parametrize("progress", [3, int, lambda: None])
@pytest.mark.parametrize("coordinates", ["native", "pinocchio"])
def test_progress_that_cannot_be_called_is_refused(robot, progress, coordinates):
    with pytest.raises(InputError, match=r"^progress: .*expected a function of states done"):
        robot.in_coordinates(coordinates).batch(progress=progress)
