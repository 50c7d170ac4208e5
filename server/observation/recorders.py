"""Reports of recorders, for the daemon's `stats`: alarms above all."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from torqued.common.errors import InputError

log = logging.getLogger("torqued")

#: Fields of a report with their defaults, which also give the types.
FIELDS: dict[str, Any] = {
    "process": 0,
    "state": "",
    "file": "",
    "ticks": 0,
    "lost": 0,
    "keep": 0.0,
    "alarm": "",
}
STATES = ("recording", "stopped", "ended")
MAX_TEXT = 4096
MAX_NUMBER = 2**62
#: Maximum number of recorders; seconds without a report until a recorder has an alarm.
MAX_RECORDERS, SILENCE = 16, 5.0


class Recorders:
    """The reports. Control thread only."""

    def __init__(self) -> None:
        self._reports: dict[int, dict[str, Any]] = {}
        self._heard: dict[int, float] = {}

    def take(self, report: Mapping[str, Any]) -> None:
        """A recorder's report, checked."""
        for name in report:
            if name not in FIELDS:
                listed = ", ".join(FIELDS)
                raise InputError(f"report: {name!r} is unknown, allowed: {listed}", "report")
        found = {name: checked(name, report.get(name, FIELDS[name])) for name in FIELDS}
        if found["state"] not in STATES:
            listed = ", ".join(STATES)
            raise InputError(f"report: state is {found['state']!r}, expected {listed}", "report")
        process = found["process"]
        if found["alarm"] and not self._reports.get(process, {}).get("alarm"):
            log.error("recorder %d: %s", process, found["alarm"])
        self._forget()
        if found["state"] == "ended" and not found["alarm"]:
            self._reports.pop(process, None)
            return
        if process not in self._reports and len(self._reports) >= MAX_RECORDERS:
            self._reports.pop(min(self._reports, key=lambda key: self._heard[key]))
        self._reports[process], self._heard[process] = found, time.monotonic()

    def known(self) -> list[dict[str, Any]]:
        """Reports of running recorders and of those with an alarm."""
        self._forget()
        return [dict(report) for report in list(self._reports.values())]

    def _forget(self) -> None:
        now = time.monotonic()
        for process, report in list(self._reports.items()):
            if not report["alarm"] and now - self._heard[process] > SILENCE:
                report.update(state="stopped", alarm="no report from the recorder: was it killed?")
                log.error("no report from recorder %d", process)


def checked(name: str, value: Any) -> Any:
    """A value of a report, of the type that it should have."""
    kind: Any = type(FIELDS[name])
    allowed: tuple[Any, ...] = (int, float) if kind is float else (kind,)
    if isinstance(value, bool) or not isinstance(value, allowed):
        raise InputError(f"report: {name} is {value!r:.80}, expected {kind.__name__}", "report")
    if kind is not str and not 0 <= value < MAX_NUMBER:
        raise InputError(f"report: {name} is {value!r:.80}, expected 0 or more", "report")
    if kind is str and len(value) > MAX_TEXT:
        raise InputError(f"report: {name} has {len(value)} characters", "report", len(value))
    return value
