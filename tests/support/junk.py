"""Values that are nothing of what was asked for: for tests that any input gives a clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

#: A robot without joints.
STONE = (
    '<robot name="stone"><link name="stone"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)

#: Fresh ones at each call would shrink no better; none of them is changed by anybody.
PLAIN: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    -0.0,
    1e308,
    1e-320,
    10**400,
    2**70,
    -(2**63),
    1j,
    "",
    "12",
    "nan",
    "native",
    "M",
    "\ud800",
    "x" * 300,
    b"12",
    b"",
    bytearray(8),
    [],
    (),
    {},
    {"a": 1},
    {1: 2},
    {None: None},
    {"frame": None},
    set(),
    object(),
    range(3),
    slice(0, 1),
    ...,
    [[]],
    [[1.0], [2.0, 3.0]],
    [None],
    ["1", "2"],
    [True, False],
    [1j],
    [10**400],
    [{}],
    [[1, [2, [3, [4]]]]],
    np.array(3.0),
    np.array([1, 2]),
    np.array([True]),
    np.array(["1.0"]),
    np.array([b"1.0"]),
    np.array([1j]),
    np.array([None]),
    np.array(["2020-01-01"], dtype="M8[D]"),
    np.zeros(0),
    np.zeros((0, 3)),
    np.zeros((2, 2, 2, 2)),
    np.zeros(3, dtype=[("x", "f8")]),
    np.ma.masked_array([1.0], [True]),
    np.float32(1.0),
    np.longdouble("1e4000"),
    np.int64(1),
    np.str_("1"),
    lambda: 0.0,
    int,
)


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


DEEP = nested(3000)

values = st.one_of(
    st.sampled_from(PLAIN),
    st.just(DEEP),
    st.recursive(
        st.sampled_from(PLAIN),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["kind", "frame", "name", "points", "position", "x"]),
                inner,
                max_size=3,
            ),
        ),
        max_leaves=6,
    ),
)


def vectors(*sizes: int) -> st.SearchStrategy[Any]:
    """Of the right size, mostly, with one number or another that is too much."""
    extremes = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e160, -1e160, 1e300, np.nan, np.inf])
    return st.one_of([st.lists(extremes, min_size=n, max_size=n) for n in sizes])
