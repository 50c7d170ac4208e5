"""The compiled entries: results fully written, nothing beside them, and how they come about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.kernel_calls import example_robot, kernel_calls
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED, compile_all
from torqued.kernels.compilation.jit import CACHE_FOLDER, CACHE_PROBLEM, ENTRIES
from torqued.kernels.dynamics.quantities import WANTS, quantities
from torqued.kernels.model.description import Array

ROBOT = example_robot()
CALLS = kernel_calls(ROBOT, np.random.default_rng(0))
WRITING = [name for name, call in CALLS.items() if call.results]

#: Numbers on either side of an array that no kernel may touch.
MARGIN, CANARY = 64, -7.25e250


def fenced(shape: tuple[int, ...], fill: float) -> tuple[Array, Array]:
    """A contiguous array in the middle of a larger one, and that larger one."""
    size = int(np.prod(shape))
    whole = np.full(size + 2 * MARGIN, CANARY)
    whole[MARGIN : MARGIN + size] = fill
    return whole[MARGIN : MARGIN + size].reshape(shape), whole


def assert_untouched(whole: Array) -> None:
    assert (whole[:MARGIN] == CANARY).all() and (whole[-MARGIN:] == CANARY).all()


@pytest.mark.parametrize("name", WRITING)
def test_results_are_written_in_full_whatever_they_held(name):
    call = CALLS[name]
    kernel = getattr(COMPILED, name)
    found = []
    for rubbish in (np.nan, 1e300):
        for result in call.results:
            result[...] = rubbish
        kernel(*call.arguments)
        found.append([result.copy() for result in call.results])
    for first, second in zip(*found, strict=True):
        assert np.isfinite(first).all()
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", WRITING)
def test_nothing_is_written_beside_results(name):
    call = CALLS[name]
    fences = [fenced(result.shape, np.nan) for result in call.results]
    getattr(COMPILED, name)(*call.writing([array for array, _ in fences]))
    for array, whole in fences:
        assert np.isfinite(array).all()
        assert_untouched(whole)


@pytest.mark.parametrize("dofs", range(1, 11))
@pytest.mark.parametrize("kind", ["chain", "tree", "biped"])
def test_kernels_that_work_in_lanes_of_four_stay_within_any_size(kind, dofs):
    robot = Robot.family(kind, dofs)
    q, v = robot.random_state(np.random.default_rng(dofs))
    n = robot.nv
    handle = robot.work.handle
    Gamma, gamma_fence = fenced((n, n, n), 0.0)
    COMPILED.christoffel(handle, q, Gamma)
    assert_untouched(gamma_fence)
    fences = [fenced((n, n), np.nan) for _ in range(3)]
    for kernel in (COMPILED.coriolis_matrix, COMPILED.coriolis_matrix_direct):
        kernel(handle, q, v, *(array for array, _ in fences))
        for array, whole in fences:
            assert np.isfinite(array).all()
            assert_untouched(whole)


def test_inputs_are_left_as_they_were():
    robot = example_robot()
    for name, call in kernel_calls(robot, np.random.default_rng(1)).items():
        if not call.results:
            continue
        before = [np.array(x, copy=True) for x in call.inputs]
        getattr(COMPILED, name)(*call.arguments)
        for x, kept in zip(call.inputs, before, strict=True):
            np.testing.assert_array_equal(x, kept, err_msg=name)


@pytest.mark.parametrize("word", WANTS)
def test_evaluate_writes_what_is_wanted_and_nothing_else(word):
    """Into arrays of full size, so that there is room for what is not wanted."""
    q, v = ROBOT.random_state(np.random.default_rng(0))
    everything = quantities(sum(WANTS.values()), ROBOT.nv, 1)
    coming = quantities(WANTS[word], ROBOT.nv, 1)  # M, Mdot and C come together
    out = everything._replace(**{name: np.full(x.shape, CANARY) for name, x in named(everything)})
    out = out._replace(Gamma=np.where(coming.Gamma.size, 0.0, out.Gamma))  # zeroed beforehand
    frames = ROBOT.frame_table.records(ROBOT.frame_names[:1])
    COMPILED.evaluate(ROBOT.work.handle, q, v, WANTS[word], frames, 0, out)
    assert getattr(coming, word).size > 0
    for name, array in named(out):
        if getattr(coming, name).size:
            assert not (array == CANARY).any(), name
        else:
            assert (array == CANARY).all(), name


def named(arrays: Any) -> Any:
    """The arrays of a tuple with their names."""
    return arrays._asdict().items()


def test_unknown_kernel_is_told_with_those_that_exist():
    with pytest.raises(AttributeError, match=r"no kernel 'warp'; there are .*mass_matrix"):
        _ = COMPILED.warp


def test_compiling_all_reports_each_kernel_and_the_end():
    seen: list[tuple[str, int, int, float]] = []

    def report(*progress: Any) -> None:
        seen.append(progress)

    summary = compile_all(report)
    total = len(ENTRIES)
    assert [name for name, _, _, _ in seen] == [*ENTRIES, ""]
    assert [done for _, done, _, _ in seen] == list(range(total + 1))
    assert {count for _, _, count, _ in seen} == {total}
    assert seen[-1][3] == 0.0
    assert summary.kernels == total
    assert 0 <= summary.from_cache <= total
    assert summary.cache == (str(CACHE_FOLDER) if CACHE_FOLDER else CACHE_PROBLEM)
