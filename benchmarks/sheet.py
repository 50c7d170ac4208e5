"""Tables of figures, for terminals and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


@dataclass(frozen=True)
class Sheet:
    """A table before it is drawn. `texts` columns at the left hold words, the others numbers."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int
    notes: tuple[str, ...] = ()

    def to_rich(self) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for k, name in enumerate(self.header):
            justify: Literal["left", "right"] = "left" if k < self.texts else "right"
            table.add_column(name, justify=justify, overflow="fold")
        grouped = any(not row[0] for row in self.rows)  # the name stands in a group's first row
        for row in self.rows:
            if grouped and row[0]:
                table.add_section()
            table.add_row(*(_coloured(cell) for cell in row))
        return table

    def print(self, console: Console) -> None:
        console.print(self.title, markup=False, style="bold")
        console.print(self.to_rich())
        for note in self.notes:
            console.print(note, markup=False)
        console.print()

    def to_markdown(self) -> str:
        rule = ["---"] * self.texts + ["---:"] * (len(self.header) - self.texts)
        header = [name.replace("\n", " ") for name in self.header]
        lines = [f"**{self.title}**", "", *map(_markdown_row, (header, rule, *self.rows))]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _coloured(cell: str) -> str:
    """Verdicts in colour, and everything as it is: names may hold rich's brackets."""
    from rich.markup import escape

    colour = {"✓": "green", "✗": "bold red"}.get(cell[-1:])
    return f"[{colour}]{escape(cell)}[/]" if colour else escape(cell)
