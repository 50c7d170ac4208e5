"""Compiled kernels allocate nothing, shown in two ways that a kernel which allocates fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.compiled_kernels import ALLOCATORS, allocations, assert_no_allocator, machine_code
from support.kernel_calls import example_robot, kernel_calls
from torqued.kernels.compilation import jit
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES
from torqued.kernels.primitives.layout import VECTOR

#: Entries of the dynamics; those of control and of the server have tests of their own.
KERNELS = [
    name
    for name, (dispatcher, _) in ENTRIES.items()
    if dispatcher.__module__.startswith("torqued.kernels.")
    and not dispatcher.__module__.startswith("torqued.kernels.control.")
]


def allocating(x):
    """A kernel as it must not be."""
    y = np.ones(len(x))
    for k in range(len(x)):
        x[k] = x[k] + y[k]


def hiding(x):
    """Another one: its array does not have a name."""
    x[:] = x + 1.0


def frugal(x):
    """The same as it should be."""
    for k in range(len(x)):
        x[k] = x[k] + 1.0


@pytest.fixture(scope="module")
def calls() -> Iterator[dict[str, Any]]:
    robot = example_robot()  # its workspace is what the calls work in
    yield kernel_calls(robot, np.random.default_rng(0))
    del robot


def owners(arguments: tuple[Any, ...]) -> int:
    """Numba makes one for each array that Python hands over, those in tuples included."""
    return sum(owners(x) if isinstance(x, tuple) else isinstance(x, np.ndarray) for x in arguments)


def allocated(function: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    before = allocations()
    function(*arguments)
    return allocations() - before


def compiled_for_test(function: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A dispatcher with the product's options, cached in a folder of its own."""
    folder.mkdir(exist_ok=True)
    monkeypatch.setattr(jit, "CACHE_FOLDER", folder)
    dispatcher = jit._compile(function, from_python=True)
    dispatcher.compile((VECTOR,))
    return dispatcher


def test_every_entry_is_called_here(calls):
    assert set(calls) == set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_allocates_nothing(name, calls, statistics):
    """But an owner for each of its arrays."""
    kernel, arguments = getattr(COMPILED, name), calls[name].arguments
    assert [allocated(kernel, arguments) for _ in range(3)] == [owners(arguments)] * 3


@pytest.mark.parametrize(("function", "expected"), [(allocating, 2), (hiding, 2), (frugal, 1)])
def test_counter_sees_an_array_made_in_a_kernel(
    function, expected, tmp_path, monkeypatch, statistics
):
    dispatcher = compiled_for_test(function, tmp_path, monkeypatch)
    entry_point = dispatcher.overloads[(VECTOR,)].entry_point
    assert allocated(entry_point, (np.zeros(3),)) == expected


def test_kernel_leaves_the_references_to_its_arrays_as_they_are(calls):
    kernel, arguments = COMPILED.inverse_dynamics, calls["inverse_dynamics"].arguments
    before = [sys.getrefcount(argument) for argument in arguments]
    kernel(*arguments)
    assert [sys.getrefcount(argument) for argument in arguments] == before


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_refers_to_no_allocator(name):
    assert_no_allocator(name)


def test_allocator_is_seen_in_the_code_of_a_kernel_that_allocates(tmp_path, monkeypatch):
    for function in (allocating, hiding):
        seen = machine_code(compiled_for_test(function, tmp_path / "a", monkeypatch))
        assert any(allocator in seen for allocator in ALLOCATORS)
    unseen = machine_code(compiled_for_test(frugal, tmp_path / "b", monkeypatch))
    assert not any(allocator in unseen for allocator in ALLOCATORS)
