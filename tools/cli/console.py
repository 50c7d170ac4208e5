"""Where commands print: a console, and a bar of progress."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from torqued.common.durations import about


def make_console(quiet: bool = False) -> Console:
    return Console(highlight=False, soft_wrap=True, quiet=quiet)


class TimeLeft(ProgressColumn):
    """Counts down where a bar's end is foreseen."""

    def render(self, task: Task) -> Text:
        left = task.fields.get("end", 0.0) - time.monotonic()
        return Text(f"{about(left)} left" if left > 0.0 else "")


class Bar(Progress):
    """One bar, on terminals alone; it disappears at the end."""

    def __init__(self, console: Console, what: str, total: float | None, done: int = 0) -> None:
        text = TextColumn("{task.description}")
        columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeLeft())
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._bar = self.add_task(what, total=total, completed=done)

    def reach(self, done: float, **changes: Any) -> None:
        """So much is done; `total`, `description` and `left`, s, may change."""
        if "left" in changes:
            changes["end"] = time.monotonic() + changes.pop("left")
        self.update(self._bar, completed=done, **changes)

    def step(self) -> None:
        self.advance(self._bar)
