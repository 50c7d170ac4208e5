"""Colours of status bits, the same on the page and in pictures; legible on white and on black."""

from __future__ import annotations

from torqued.common.status import TABLE

ALARM, NOTICE, GOOD = "#e03131", "#b9770e", "#1e8449"
ALARMING = sum(row.bit for row in TABLE if row.alarm)


def status_color(status: int) -> str:
    """A fault, something to notice, or all good."""
    return ALARM if status & ALARMING else NOTICE if status else GOOD
