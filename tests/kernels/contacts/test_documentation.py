"""The tables of docs/CONTACTS.md name every kind and solver."""

from __future__ import annotations

from pathlib import Path

from torqued.kernels.contacts.solvers import SOLVERS
from torqued.kernels.contacts.types import KINDS

TEXT = (Path(__file__).parents[3] / "docs" / "CONTACTS.md").read_text(encoding="utf-8")


def test_every_kind_and_solver_is_described():
    for name in (*KINDS, *SOLVERS):
        assert f"| `{name}` |" in TEXT
