"""Events of sessions, found by comparing their entries in `stats`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torqued.common.status import TABLE
from torqued.server.logs import LATCHED

log = logging.getLogger("torqued")

#: Counter → event when it begins to grow.
COUNTED = {
    "stale": "stale",
    "fallbacks": "fallback",
    "overruns": "overrun",
    "bad_states": "bad_state",
    "lost_commanders": "lost_commander",
    "clamped": "clamped",
    "walls": "wall",
}
#: Status bit without a counter → event.
BITS = {row.name: row.event for row in TABLE if row.event}
#: Events of ordinary work, logged as INFO.
ORDINARY = {"opened", "closed", "clamped", "wall"}


@dataclass(frozen=True)
class SessionEvent:
    """Something that began in a session, or its opening or end."""

    event: str
    session: int
    law: str
    client: str
    of: str = ""  # joints or frames that it is about

    def __str__(self) -> str:
        what = self.event.replace("_", " ") + (f" of {self.of}" if self.of else "")
        return f"session {self.session} ({self.law}, {self.client}): {what}"


class SessionEvents:
    """Compares sessions with those of the last update.

    A condition that lasts is one event, when it begins; it ends with an update without it. Each
    entry into a fallback is an event. A session that is opened and closed between two updates has
    no events.
    """

    def __init__(self) -> None:
        self._known: dict[int, Mapping[str, Any]] = {}
        self._going_on: dict[int, set[str]] = {}

    def update(self, sessions: Sequence[Mapping[str, Any]]) -> list[SessionEvent]:
        """Events since the last update; `sessions` as in `stats`."""
        now = {int(session["session"]): session for session in sessions}
        found = [
            _event("closed", before) for number, before in self._known.items() if number not in now
        ]
        going_on = {}
        for number, session in now.items():
            if number not in self._known:
                found.append(_event("opened", session))
            going_on[number] = _happening(self._known.get(number, {}), session)
            begun = going_on[number] - self._going_on.get(number, set()).difference(LATCHED)
            found += [_event(name, session) for name in sorted(begun)]
        self._known, self._going_on = now, going_on
        return found


def write(events: Sequence[SessionEvent]) -> None:
    """Log events."""
    for event in events:
        level = logging.INFO if event.event in ORDINARY else logging.WARNING
        # The message names the event, so that different events are not suppressed as repetitions.
        log.log(level, str(event), extra=asdict(event))


def _event(name: str, session: Mapping[str, Any]) -> SessionEvent:
    of = ", ".join(session["at_wall"]) if name == "wall" else ""
    return SessionEvent(name, int(session["session"]), session["law"], session["client"], of)


def _happening(before: Mapping[str, Any], session: Mapping[str, Any]) -> set[str]:
    counted = {
        name for counter, name in COUNTED.items() if session[counter] > before.get(counter, 0)
    }
    if not before.get("states", 0):
        counted.discard("stale")  # every session is, until its first state
    return counted | {name for bit, name in BITS.items() if bit in session["status"]}
