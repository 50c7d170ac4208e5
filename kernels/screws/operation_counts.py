"""Multiplications and additions per body of inverse dynamics in each representation, counted.

    NUMBA_DISABLE_JIT=1 python -m torqued.kernels.screws.operation_counts

The steps of kernels/screws/newton_euler.py run on numbers that count, for a body behind a joint
of one degree of freedom; so do those of the production path (`common`). Where bodies are and their
columns S come before, in all of them alike, and are not counted.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

from torqued.kernels.compilation.numba_internals import config
from torqued.kernels.dynamics import rnea
from torqued.kernels.dynamics.frames import REPRESENTATIONS, represent
from torqued.kernels.primitives.spatial import (
    add,
    add6,
    add_scaled6,
    cross_motion,
    dot6,
    scale6,
    sub,
)
from torqued.kernels.screws.newton_euler import (
    balance,
    carried_wrench,
    next_acceleration,
    next_twist,
    represented_inertia,
)


class Tally:
    multiplications = 0
    additions = 0


class Number:
    """Counts what is done with it; its value is of no interest."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def _product(self, other: Any) -> Number:
        self.tally.multiplications += 1
        return self

    def _sum(self, other: Any) -> Number:
        self.tally.additions += 1
        return self

    __mul__ = __rmul__ = _product
    __add__ = __radd__ = __sub__ = __rsub__ = _sum


def numbers(tally: Tally, count: int) -> Any:
    return tuple(Number(tally) for _ in range(count))


def counts() -> dict[str, dict[str, int]]:
    """By representation, and `common` for the production path."""
    found = {}
    for name, kind in REPRESENTATIONS.items():
        tally = Tally()
        recursive_step(kind, tally)
        found[name] = vars(tally).copy()
    tally = Tally()
    common_step(tally)
    found["common"] = vars(tally).copy()
    return found


def recursive_step(kind: int, tally: Tally) -> None:
    """One body of `newton_euler`, both sweeps."""

    def new(count: int) -> Any:
        return numbers(tally, count)

    R_parent, R, p, p_parent = new(9), new(9), new(3), new(3)
    v, a, V_parent, A_parent = Number(tally), Number(tally), new(6), new(6)
    work = SimpleNamespace(origin=new(3))
    X = represent(work, kind, R, p, new(6))
    motion, pull = scale6(X, v), scale6(X, a)
    away = sub(p, p_parent)
    V = next_twist(kind, R_parent, R, away, V_parent, motion)
    A = next_acceleration(kind, R_parent, R, away, V_parent, V, A_parent, motion, pull)
    inertia = represented_inertia(kind, R, add(p, work.origin), Number(tally), new(3), new(6))
    W = balance(kind, R, inertia, V, A)
    X = represent(work, kind, R, p, new(6))
    dot6(X, W)
    add6(new(6), carried_wrench(kind, R, R_parent, sub(p, p_parent), W))


def common_step(tally: Tally) -> None:
    """One body of dynamics/rnea.py."""

    def new(count: int) -> Any:
        return numbers(tally, count)

    S, v, a = new(6), Number(tally), Number(tally)
    twist = add_scaled6(new(6), S, v)
    acceleration = add_scaled6(new(6), S, a)
    acceleration = add_scaled6(acceleration, cross_motion(twist, S), v)
    state = SimpleNamespace(R=new(9), p=new(3))
    body = SimpleNamespace(com=new(3), mass=Number(tally), inertia=new(6))
    f = rnea.newton_euler(body, state, twist, acceleration)
    dot6(S, f)
    add6(new(6), f)


if __name__ == "__main__":
    if not config.DISABLE_JIT:
        sys.exit("numbers that count need plain functions: set NUMBA_DISABLE_JIT=1")
    print(json.dumps(counts()))
