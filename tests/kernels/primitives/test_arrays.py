"""Arrays for compiled code: both sides follow one declaration, whatever the order of its lines."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from torqued.kernels.control.session_arrays import SessionArrays, Sizes
from torqued.kernels.control.wholebody.layout import Program, ProgramSizes
from torqued.kernels.primitives.arrays import LINE, Floats, Layout, Records, array
from torqued.kernels.primitives.layout import Work, WorkSizes

POINT = np.dtype([("x", "f8", (3,)), ("kind", "i8")], align=True)


class ExampleSizes(NamedTuple):
    n: int
    m: int


class Example(NamedTuple):
    left: Floats = array(float, "n")
    right: Floats = array(float, "n")  # of the same type and size: the pair that could be swapped
    table: Floats = array(float, "m", "n", 4)
    points: Records = array(POINT, "m")
    flags: Any = array(np.int32, 2)
    extra: Floats = array(float, 3, optional=True)


SIZES = ExampleSizes(n=3, m=2)
LINES = Example._field_defaults


def reordered(names: tuple[str, ...]) -> Any:
    """The example with its lines in another order."""
    return namedtuple("Example", names, defaults=[LINES[name] for name in names])


def fill(arrays: Any) -> None:
    """Other numbers in each array, found by its name."""
    for k, name in enumerate(LINES):
        value = getattr(arrays, name)
        words = value.reshape(-1).view(np.int32 if name == "flags" else np.float64)
        words[:] = 100 * k + np.arange(len(words))
    arrays.points.kind[:] = [7, 8]


def reader(layout: Any) -> Any:
    open_example, example_sizes = layout.open, layout.open_sizes

    @njit
    def read(address):
        sizes, a = example_sizes(address), open_example(address)
        total = a.left[0] + 10.0 * a.right[2] + a.table[1, 2, 3] + a.flags[1]
        for k in range(len(a.points)):
            total += a.points[k].x[1] * a.points[k].kind
        shapes = (a.left.shape, a.right.shape, a.table.shape, a.points.shape, a.flags.shape)
        return sizes.n, sizes.m, total, shapes, len(a.extra)

    return read


def in_plain_python(arrays: Any) -> float:
    total = arrays.left[0] + 10.0 * arrays.right[2] + arrays.table[1, 2, 3] + arrays.flags[1]
    for point in arrays.points:
        total += point.x[1] * point.kind
    return float(total)


SHUFFLED = itertools.islice(itertools.permutations(LINES), 100, 500, 160)
ORDERS = [tuple(LINES), tuple(reversed(LINES)), *SHUFFLED]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0] + "-" + order[1])
def test_the_order_of_lines_means_nothing(order):
    layout = Layout(reordered(order), ExampleSizes)
    memory = layout.allocate(SIZES)
    fill(memory.arrays)
    n, m, total, shapes, extra = reader(layout)(memory.address)
    assert (n, m) == SIZES
    assert shapes == ((3,), (3,), (2, 3, 4), (2,), (2,))
    assert total == in_plain_python(memory.arrays)
    assert extra == 3
    # By name, these are the numbers of the order that the example was written in.
    usual = Layout(Example, ExampleSizes).allocate(SIZES)
    fill(usual.arrays)
    assert total == in_plain_python(usual.arrays)


@pytest.mark.parametrize(
    ("arrays", "sizes", "at_once"),
    [(Work, WorkSizes, True), (SessionArrays, Sizes, False), (Program, ProgramSizes, False)],
    ids=["work", "session", "program"],
)
def test_what_compiled_code_opens_is_what_python_allocated(arrays, sizes, at_once):
    """Of every declaration in use: same addresses, lengths and types, name by name."""
    layout: Any = Layout(arrays, sizes, at_once=at_once)
    memory = layout.allocate(sizes(*range(2, 2 + len(sizes._fields))))
    open_arrays, open_sizes = layout.open, layout.open_sizes
    names = {"open_arrays": open_arrays, "open_sizes": open_sizes}

    def by_name(opener: str, fields: tuple[str, ...]) -> Any:
        """Each by its name, boxed by numba: arrays into numpy's, without copying."""
        listed = ", ".join(f"{opener}(at).{field}" for field in fields)
        return njit(eval(f"lambda at: ({listed},)", names))(memory.address)

    assert by_name("open_sizes", sizes._fields) == memory.sizes
    opened = by_name("open_arrays", arrays._fields)
    for name, theirs in zip(arrays._fields, opened, strict=True):
        mine = getattr(memory.arrays, name)
        assert mine.ctypes.data == theirs.ctypes.data, name
        assert mine.shape == theirs.shape and mine.strides == theirs.strides, name
        assert mine.dtype == theirs.dtype, name


class TestMemory:
    layout: Any = Layout(Example, ExampleSizes)

    def test_is_zero_at_first_and_each_array_has_lines_of_its_own(self):
        arrays = self.layout.allocate(SIZES).arrays
        spans = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays)
        assert all(start % LINE == 0 for start, _ in spans)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
        assert not any(a.view(np.uint8).any() for a in arrays)

    def test_arrays_that_are_given_are_used_as_they_are(self):
        right = np.arange(3.0)
        memory = self.layout.allocate(SIZES, given={"right": right})
        fill(memory.arrays)
        assert right.tolist() == [100.0, 101.0, 102.0]
        assert reader(self.layout)(memory.address)[2] == in_plain_python(memory.arrays)

    def test_two_names_may_be_one_array(self):
        memory = self.layout.allocate(SIZES, same={"left": "right"})
        memory.arrays.left[2] = 5.0
        assert reader(self.layout)(memory.address)[2] == 50.0

    def test_an_optional_array_may_be_absent(self):
        memory = self.layout.allocate(SIZES, absent=("extra",))
        assert memory.arrays.extra.shape == (0,)
        assert reader(self.layout)(memory.address)[4] == 0

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"given": {"wrong": np.zeros(3)}}, "Example has no array 'wrong'"),
            (
                {"same": {"left": "table"}},
                r"Example\.left is float64 \(2, 3, 4\), expected .* \(3,\)",
            ),
            (
                {"given": {"left": np.zeros(2)}},
                r"Example\.left is float64 \(2,\), expected .* \(3,\)",
            ),
            ({"given": {"left": np.zeros(3, int)}}, r"is int64 \(3,\), expected float64 \(3,\)"),
            ({"given": {"left": np.zeros(6)[::2]}}, "row by row"),
            ({"absent": ("left",)}, r"Example\.left is not optional"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, options, message):
        with pytest.raises(TypeError, match=message):
            self.layout.allocate(SIZES, **options)

    def test_nothing_is_kept_of_memory_that_nobody_uses(self):
        from torqued.kernels.primitives import arrays

        memory = self.layout.allocate(SIZES)
        address = memory.address
        assert address in arrays._MEMORIES
        del memory
        gc.collect()
        assert address not in arrays._MEMORIES


class TestDeclaration:
    def test_every_field_has_to_be_declared(self):
        class Forgotten(NamedTuple):
            x: Floats = array(float, "n")
            y: Any = None

        with pytest.raises(TypeError, match=r"Forgotten\.y is not declared by array"):
            Layout(Forgotten, ExampleSizes)

    def test_sizes_have_to_exist(self):
        class Misspelt(NamedTuple):
            x: Floats = array(float, "k")

        with pytest.raises(TypeError, match=r"Misspelt\.x: no size 'k', there are n, m"):
            Layout(Misspelt, ExampleSizes)


def test_without_compiler_the_same_names_lead_to_the_same_arrays():
    program = (
        "import test_arrays as t\n"
        "layout = t.Layout(t.Example, t.ExampleSizes)\n"
        "memory = layout.allocate(t.SIZES)\n"
        "t.fill(memory.arrays)\n"
        "n, m, total, _, _ = t.reader(layout)(memory.address)\n"
        "assert (n, m) == t.SIZES and total == t.in_plain_python(memory.arrays)\n"
        "assert layout.open(memory.address) is memory.arrays\n"
    )
    folder = os.path.dirname(__file__)
    subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": folder},
        check=True,
    )


def test_nothing_else_is_near_arrays_that_are_to_be_apart():
    arrays = Layout(Example, ExampleSizes, apart=4096).allocate(SIZES).arrays
    ends = [value.ctypes.data + value.nbytes for value in arrays]
    block = arrays.left
    while block.base is not None:
        block = block.base
    assert block.ctypes.data + block.nbytes >= max(ends) + 4096
