"""exp, log and dexp against their series in 60 digits: near 0, near π, near 2π and between."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from oracles import decimal_group
from torqued.kernels import InputError, NumericalError
from torqued.kernels.integration import lie

#: Of exp and log, relative to the largest entry, |u| included.
ROUNDING = 2e-15
#: Of dexp, likewise; its inverse magnifies it by its own size.
DIFFERENTIAL = 5e-15

ANGLES = (
    *(0.0, 1e-300, 1e-160, 1e-16, 1e-9, 1e-5, 3e-3, 9.99e-3, 1.001e-2, 0.3, 0.999, 1.001),
    *(1.999, 2.001, 3.0, np.pi - 1e-3, np.pi - 1e-8, np.pi - 1e-15, 4.0, 5.5, 6.0),
)


def cases(size: int):
    rng = np.random.default_rng(size)
    for angle in ANGLES:
        axis = rng.normal(size=3)
        x = rng.normal(size=size)
        x[:3] = angle * axis / np.linalg.norm(axis)
        yield pytest.param(x, id=f"{angle:.4g}")


BOTH = [*cases(3), *cases(6)]
SHORT = [case for case in BOTH if np.linalg.norm(case.values[0][:3]) < np.pi]


@pytest.mark.parametrize("x", BOTH)
def test_exp_is_its_series(x):
    found = lie.exp(x)
    assert decimal_group.difference(found, decimal_group.exp(x)) <= ROUNDING * np.abs(found).max()


@pytest.mark.parametrize("x", BOTH)
def test_series_are_mpmaths_matrix_exponential(x):
    """The oracle itself, by another program: both have 60 digits."""
    w, u = x[:3], x[3:] if len(x) == 6 else np.zeros(3)
    cross = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = cross, u
    with mpmath.workdps(60):
        exact = mpmath.expm(mpmath.matrix(X.tolist()), method="taylor")
        size = len(x) // 3 + 2
        for i, row in enumerate(decimal_group.exp(x)):
            for j, number in enumerate(row):
                assert size == len(row) and abs(mpmath.mpf(str(number)) - exact[i, j]) < 1e-50


@pytest.mark.parametrize("x", BOTH)
def test_dexp_is_its_series(x):
    found = lie.dexp(x)
    bound = DIFFERENTIAL * np.abs(found).max()
    assert decimal_group.difference(found, decimal_group.dexp(x)) <= bound


@pytest.mark.parametrize("x", BOTH)
def test_dexp_inverse_is_the_inverse(x):
    found = lie.dexp_inverse(x)
    exact = decimal_group.dexp(x)
    size = np.abs(found).max() * np.abs(decimal_group.rounded(exact)).max()
    assert decimal_group.residual_of_inverse(found, exact) <= DIFFERENTIAL * size


@pytest.mark.parametrize("x", SHORT)
def test_log_is_the_inverse_of_exp(x):
    C = decimal_group.rounded(decimal_group.exp(x))
    # The rounding of C moves log by as much; dexp⁻¹ is at most 4 for turns up to π.
    assert np.abs(lie.log(C) - x).max() <= 4.0 * ROUNDING * max(1.0, np.abs(x).max())


def test_log_of_half_a_turn_is_one_of_the_two():
    for axis in np.eye(3):
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        w = lie.log(R)
        assert np.abs(np.abs(w) - np.pi * axis).max() < 1e-15
        with pytest.raises(NumericalError, match="log jumps at π"):
            lie.dlog(R)


@pytest.mark.parametrize("size", [3, 6])
def test_dlog_is_the_rate_of_log_along_spatial_velocities(size):
    rng = np.random.default_rng(3)
    C, V, h = lie.exp(rng.normal(size=size)), rng.normal(size=size), 1e-6
    rate = (lie.log(lie.exp(h * V) @ C) - lie.log(lie.exp(-h * V) @ C)) / (2.0 * h)
    assert np.abs(lie.dlog(C) @ V - rate).max() < 1e-8


def test_dexp_has_no_inverse_at_a_full_turn():
    with pytest.raises(NumericalError, match="less than 2π"):
        lie.dexp_inverse([0.0, 2.0 * np.pi, 0.0])


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lie.exp, [1.0, 2.0]),
        (lie.exp, "turn"),
        (lie.exp, [np.nan, 0.0, 0.0]),
        (lie.log, 2.0 * np.eye(3)),
        (lie.log, np.diag([1.0, 1.0, -1.0])),
        (lie.log, np.ones((4, 4))),
        (lie.log, np.full((3, 3), 1e308)),
        (lie.dexp, np.zeros((3, 3))),
    ],
)
def test_what_is_no_rotation_or_twist_is_refused(function, value):
    with pytest.raises(InputError):
        function(value)
