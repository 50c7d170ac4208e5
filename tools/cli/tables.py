"""Columns of text, for commands that work without the server's packages."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], words: int = 0, indent: str = "") -> list[str]:
    """Lines with right-aligned columns, except for the first `words`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        indent
        + "  ".join(
            cell.ljust(width) if k < words else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
