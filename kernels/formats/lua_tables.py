"""Values out of a table of Lua, as `lua_program.py` gives it: a list or a dictionary by names.

What does not fit is written down, and a stand-in takes its place, so that one pass finds all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from torqued.kernels.input_checks import shown
from torqued.kernels.model.checks_mass import MAX_NUMBER
from torqued.kernels.model.description import Array, Pose
from torqued.kernels.model.diagnostics import Findings

#: How far files of few digits, and how far rounding may put a rotation or an axis' length off.
PRINTED, ROUNDED = 1e-3, 1e-9

Table = dict[str, Any]


class Tables:
    """Typed access. `where` names the table in messages."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.unused: Counter[tuple[str, str]] = Counter()

    def table(self, where: str, item: Table, key: str) -> Table:
        """A table by names; empty where there is none."""
        wanted = "a table with names"
        return self._value(where, item, key, lambda x: type(x) is dict or x == [], wanted, {}) or {}

    def tables(self, where: str, item: Table, key: str) -> list[Table]:
        wanted = "a list of tables"
        given = self._value(where, item, key, lambda x: type(x) is list, wanted, [])
        return [self.table(f"{key} number {k + 1}", {key: x}, key) for k, x in enumerate(given)]

    def text(self, where: str, item: Table, key: str) -> str:
        """A text that must be there."""
        return str(self._value(where, item, key, _is_text, "a text", "", True))

    def numbers(
        self, where: str, item: Table, key: str, shape: tuple[int, ...], default: Any = None
    ) -> Array:
        """An array of this shape (-1: any number of rows); it must be there without a default."""
        size = " x ".join(map(str, shape)).replace("-1", "k")
        wanted = f"{size} numbers" if shape else "a number"
        wanted += f" from {-MAX_NUMBER:g} to {MAX_NUMBER:g}"
        needed = default is None
        stand_in = np.ones([max(1, n) for n in shape]) if needed else default
        given = self._value(
            where, item, key, lambda x: _are_numbers(x, shape), wanted, stand_in, needed
        )
        return np.asarray(given, np.float64)

    def pose(self, where: str, item: Table) -> Pose:
        """Of r and E: E as it is given."""
        position = self.numbers(where, item, "r", (3,), np.zeros(3))
        E = self.numbers(where, item, "E", (3, 3), np.eye(3))
        if not E[2].any():  # in an example of RBDL, whose axes are right without it
            E = np.array([E[0], E[1], np.cross(E[0], E[1])])
            self.findings.warn(where, "the last row of E is zero and was made the cross product")
        if np.abs(E).max() <= 2.0 and np.linalg.det(E) > 0.0:
            U, _, V = np.linalg.svd(E)
            off = float(np.abs(U @ V - E).max())
            if off <= ROUNDED:
                return Pose(E, position)
            if off <= PRINTED:
                self.findings.warn(where, f"E is a rotation within {off:.2g} and was made one")
                return Pose(U @ V, position)
        self.findings.fault(where, f"E {E.tolist()} is not a rotation")
        return Pose(np.eye(3), position)

    def count_unused(self, where: str, item: Table, used: Iterable[str]) -> None:
        self.unused.update((where, key) for key in item.keys() - set(used))

    def note_unused(self) -> None:
        for (where, key), times in sorted(self.unused.items()):
            count = "once" if times == 1 else f"{times} times"
            self.findings.warn(where, f"{key!r} is ignored ({count})")

    def _value(
        self,
        where: str,
        item: Table,
        key: str,
        fits: Callable[[Any], Any],
        wanted: str,
        stand_in: Any,
        needed: bool = False,
    ) -> Any:
        given = item.get(key)
        if given is not None and fits(given):
            return given
        if given is not None or needed:
            problem = "is missing" if given is None else f"is {shown(given)}"
            self.findings.fault(where, f"{key!r} {problem}, expected {wanted}")
        return stand_in


def _is_text(given: Any) -> bool:
    return type(given) is str and bool(given.strip())


def _are_numbers(given: Any, shape: tuple[int, ...]) -> bool:
    if not shape:
        return type(given) in (int, float) and abs(given) <= MAX_NUMBER
    if type(given) is not list or not given or shape[0] not in (-1, len(given)):
        return False
    return all(_are_numbers(item, shape[1:]) for item in given)
