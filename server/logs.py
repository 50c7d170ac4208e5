"""What a daemon writes to standard error: one line for each event, as text or as JSON.

A repeated message is written once in `QUIET` seconds, with the number of suppressed ones. Each
entry into a fallback is written: it lasts until the session is resumed.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

FORMATS = ("text", "json")
#: Seconds before a warning is repeated.
QUIET = 10.0
#: Events that are never suppressed.
LATCHED = ("fallback",)
#: Maximum number of different warnings to remember; one more clears them.
MAX_REMEMBERED = 1000

_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "left_out"}


def set_up_log(level: str, form: str = "text", logger: str = "torqued") -> None:
    """Log to standard error in one of `FORMATS`; lines of text are headed by `logger`."""
    handler = logging.StreamHandler()
    text = TextLines(f"%(asctime)s %(levelname)s {logger}: %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    handler.addFilter(Repeats())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("torqued").setLevel(level)


def written_as() -> str:
    """Which of `FORMATS` this process logs in."""
    handlers = logging.getLogger().handlers
    return "json" if any(isinstance(item.formatter, JsonLines) for item in handlers) else "text"


class Repeats(logging.Filter):
    """Suppresses warnings that were written recently.

    Messages count as equal if they differ only in numbers and belong to the same session.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[object, ...], tuple[float, int]] = {}  # written at, suppressed since

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or getattr(record, "event", "") in LATCHED:
            return True
        args = record.args if isinstance(record.args, tuple) else ()
        words = tuple(value for value in args if isinstance(value, str))
        key = (record.name, record.msg, words, getattr(record, "session", None))
        now = self._clock()
        written, left_out = self._seen.get(key, (-QUIET, 0))
        if now - written < QUIET:
            self._seen[key] = (written, left_out + 1)
            return False
        if len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
        self._seen[key] = (now, 0)
        record.left_out = left_out
        return True


class TextLines(logging.Formatter):
    """For a person."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        left_out = getattr(record, "left_out", 0)
        line = super().formatMessage(record)
        return f"{line} ({left_out} similar messages suppressed)" if left_out else line


class JsonLines(logging.Formatter):
    """For a program: one object a line.

    Always time (ISO 8601, UTC), level, logger and message; `event` and its fields if a message has
    them, `left_out` if it was repeated, `exception` with a traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _ORDINARY}
        if getattr(record, "left_out", 0):
            line["left_out"] = record.left_out  # type: ignore[attr-defined]
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
