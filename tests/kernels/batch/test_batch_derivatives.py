"""Derivatives of many states at once: those of single calls are in test_batch.py."""

import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.common.errors import InputError, NumericalError
from torqued.kernels import Robot
from torqued.kernels.batch.computation import GRAIN
from torqued.kernels.model.catalog import find_file
from torqued.kernels.primitives.wide import WIDTH

INVERSE, FORWARD = "inverse_dynamics_derivatives", "forward_dynamics_derivatives"


def states(robot, count):
    rng = np.random.default_rng(5)
    q, v = (np.array(x) for x in zip(*(robot.random_state(rng) for _ in range(64)), strict=True))
    given = q, v, rng.standard_normal(v.shape)
    return [np.resize(x, (count, x.shape[1])) for x in given]


@pytest.fixture(scope="module")
def talos():
    with pytest.warns(UserWarning, match="mimic"):
        return Robot.from_urdf(find_file("talos"), base="floating")


def test_matrices_of_a_humanoid_do_not_depend_on_what_its_workspace_did_before(talos):
    """M⁻¹ of a floating base is full where M, C and ∂τ/∂q of other branches are zero."""
    q, v, a = states(talos, 2 * WIDTH)
    batch = talos.batch(threads=1)
    batch.forward_dynamics_derivatives(q, v, a)
    found = batch.dynamics(q, v, ("M", "C"))
    dq, dv = batch.inverse_dynamics_derivatives(q, v, a)
    for k in (0, WIDTH + 1):
        assert_agree(found["M"][k], talos.mass_matrix(q[k]), 1e-12)
        assert_agree(found["C"][k], talos.coriolis_matrix(q[k], v[k]), 1e-12)
        expected = talos.inverse_dynamics_derivatives(q[k], v[k], a[k])
        assert_agree(dq[k], expected[0], 1e-12)
        assert_agree(dv[k], expected[1], 1e-12)
        assert np.array_equal(dq[k] == 0.0, expected[0] == 0.0)


@pytest.mark.parametrize("name", [INVERSE, FORWARD])
@pytest.mark.parametrize("joints", [20, 21])
def test_large_batches_are_small_ones_to_the_last_bit(name, joints):
    robot = Robot.family("chain", joints)
    results = 2 if name == INVERSE else 3
    given = states(robot, 2 * GRAIN.share + 5)
    count = len(given[0])
    out = tuple(np.full((count, joints, joints), np.nan) for _ in range(results))
    found = getattr(robot.batch(threads=3), name)(*given, out=out)
    assert all(x is y for x, y in zip(found, out, strict=True))
    small = getattr(robot.batch(threads=1), name)
    for first in range(0, count, 100):
        part = slice(first, first + 100)
        for array, expected in zip(out, small(*(x[part] for x in given)), strict=True):
            assert np.array_equal(array[part], expected)


@pytest.mark.parametrize("name", [INVERSE, FORWARD])
def test_a_wrong_state_is_named_and_nothing_half_written_stays(name):
    robot = Robot.family("chain", 5)
    given = states(robot, 3 * WIDTH)
    given[2][WIDTH + 2, 1] = np.inf
    out = tuple(np.zeros((3 * WIDTH, 5, 5)) for _ in range(2 if name == INVERSE else 3))
    third = "a" if name == INVERSE else "tau"
    with pytest.raises(InputError, match=rf"^state {WIDTH + 2}: {third}\[1\] is inf") as caught:
        getattr(robot.batch(), name)(*given, out=out)
    assert caught.value.state == WIDTH + 2
    assert all(np.isnan(array).all() for array in out)


def test_a_state_without_finite_results_is_named():
    robot = Robot.family("chain", 5)
    q, v, a = states(robot, 2 * WIDTH)
    v[WIDTH + 1] = 1e200
    with pytest.raises(NumericalError, match=rf"^state {WIDTH + 1}: "):
        robot.batch().inverse_dynamics_derivatives(q, v, a)


@pytest.mark.parametrize("out", [np.zeros((9, 3, 3)), (np.zeros((9, 3, 3)),), []])
def test_results_go_into_as_many_arrays_as_there_are(out):
    robot = Robot.family("chain", 3)
    with pytest.raises(InputError, match="out: expected 2 arrays in a tuple for these results"):
        robot.batch().inverse_dynamics_derivatives(*states(robot, 9), out=out)


def test_results_are_not_written_over_arguments_or_each_other():
    robot = Robot.family("chain", 3)
    q, v, a = states(robot, 9)
    memory, other = np.zeros(81), np.zeros((9, 3, 3))
    inside, whole = memory[:27].reshape(9, 3), memory.reshape(9, 3, 3)
    batch = robot.batch()
    with pytest.raises(InputError, match="shares its memory with an argument or another result"):
        batch.inverse_dynamics_derivatives(q, v, inside, out=(other, whole))
    with pytest.raises(InputError, match="shares its memory with an argument or another result"):
        batch.inverse_dynamics_derivatives(q, v, a, out=(other, other))
    with pytest.raises(InputError, match="shares its memory with an argument or another result"):
        batch.dynamics(q, v, ("M", "C"), out={"M": other, "C": other})


def unaligned(shape):
    """An array whose numbers begin within a word."""
    size = int(np.prod(shape)) * 8
    return np.zeros(size + 8, np.uint8)[4 : size + 4].view(np.float64).reshape(shape)


def test_arrays_that_begin_within_a_word():
    """Streams write whole words: into such an array they would end the process."""
    robot = Robot.family("chain", 4)
    q, v, a = states(robot, 9)
    shifted = unaligned(a.shape)
    shifted[...] = a
    batch = robot.batch()
    expected = batch.inverse_dynamics_derivatives(q, v, a)
    found = batch.inverse_dynamics_derivatives(q, v, shifted)
    assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))
    with pytest.raises(InputError, match=r"out: .*expected a writeable float64 array .*aligned"):
        batch.mass_matrix(q, out=unaligned((9, 4, 4)))
