"""Gains as users give them: checked, and as matrices for compiled code."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control.law import Array, Gains
from torqued.kernels.input_checks import numbers

#: How far from symmetric a matrix of gains may be, relative to its largest number.
ASYMMETRY = 1e-9


def asymmetric(value: Array) -> bool:
    with np.errstate(over="ignore"):  # infinite differences are asymmetric enough
        difference = np.abs(value - value.T).max(initial=0.0)
    return bool(difference > ASYMMETRY * np.abs(value).max(initial=1.0))


def matrix(
    given: Mapping[str, Any], name: str, default: Any, size: int, definite: bool = True
) -> Array:
    """A gain as a symmetric positive matrix (size, size), from a number, a diagonal or a matrix.

    Definite: eigenvalues are positive; otherwise zero is allowed.
    """
    field = f"gains.{name}"
    value = numbers(field, given.get(name, default), (), (size,), (size, size))
    if value.ndim < 2:
        value = np.diag(np.broadcast_to(value, (size,)))
    if asymmetric(value):
        raise InputError(f"{field} is not symmetric", "gains", None, "a symmetric matrix")
    least = float(np.linalg.eigvalsh(value).min(initial=np.inf))
    rounding = 0.0 if definite else ASYMMETRY * np.abs(value).max(initial=0.0)
    if least < -rounding or (definite and least == 0.0):
        allowed = "positive" if definite else "zero or positive"
        raise InputError(
            f"{field} has the eigenvalue {least:.6g}, expected all {allowed}", "gains", least
        )
    return np.ascontiguousarray(0.5 * value + 0.5 * value.T)


def positive(given: Mapping[str, Any], name: str, default: Any, *shapes: tuple[int, ...]) -> Array:
    """A gain of positive numbers, of one of these shapes."""
    values = numbers(f"gains.{name}", given.get(name, default), *shapes)
    if (values <= 0.0).any():
        least = float(values.min())
        raise InputError(f"gains.{name} has {least}, expected positive numbers", "gains", least)
    return values


def not_negative(
    given: Mapping[str, Any], name: str, default: Any, *shapes: tuple[int, ...]
) -> Array:
    """A gain of numbers that are zero or positive."""
    values = numbers(f"gains.{name}", given.get(name, default), *shapes)
    if (values < 0.0).any():
        least = float(values.min())
        message = f"gains.{name} has {least}, expected zero or positive numbers"
        raise InputError(message, "gains", least)
    return values


def not_both(given: Mapping[str, Any], name: str, others: Collection[str]) -> None:
    """Refuse a gain together with those that it stands for."""
    for other in others:
        if name in given and other in given:
            raise InputError(f"gains: {name!r} and {other!r} exclude each other", "gains", name)


def pack(gains: Gains) -> Array:
    """Gains one behind the other, as compiled code has them."""
    return np.concatenate([np.zeros(0), *(np.ravel(value) for value in gains.values())])
