"""Lines of the log: what repeats is left out, what programs read is JSON."""

import io
import json
import logging
from dataclasses import asdict

import numpy as np
import pytest

from support.eventually import eventually
from torqued.server.logs import QUIET, JsonLines, Repeats, TextLines
from torqued.server.session_events import COUNTED, SessionEvents


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lines(clock):
    """A logger, and what it has written as JSON."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(Repeats(clock))
    logger = logging.Logger("torqued.test")
    logger.addHandler(handler)

    def written():
        return [json.loads(line) for line in stream.getvalue().splitlines()]

    return logger, written


class TestRepeats:
    def test_a_warning_is_written_once_and_then_counted(self, lines, clock):
        logger, written = lines
        for k in range(5):
            logger.warning("refused %d", k)
        assert [line["message"] for line in written()] == ["refused 0"]
        clock.now += QUIET
        logger.warning("refused %d", 5)
        assert written()[-1]["message"] == "refused 5"
        assert written()[-1]["left_out"] == 4

    def test_other_warnings_and_other_sessions_are_no_repetition(self, lines):
        logger, written = lines
        logger.warning("late")
        logger.warning("later")
        logger.warning("late", extra={"session": 2})
        assert len(written()) == 3

    def test_information_always_passes(self, lines):
        logger, written = lines
        for _ in range(3):
            logger.info("opened")
        assert len(written()) == 3

    def test_every_entry_into_a_fallback_is_written(self, lines):
        logger, written = lines
        events = SessionEvents()
        events.update([session(1)])
        for fallbacks in (1, 2, 2):
            for event in events.update([session(1, fallbacks=fallbacks, bad_states=fallbacks)]):
                logger.warning(str(event), extra=asdict(event))
        assert [line["event"] for line in written()] == ["bad_state", "fallback", "fallback"]

    def test_text_says_how_many_were_left_out(self):
        record = logging.makeLogRecord({"msg": "late", "levelno": logging.WARNING, "left_out": 7})
        assert TextLines("%(message)s").format(record) == "late (7 similar messages suppressed)"


def test_json_has_fields_and_the_traceback(lines):
    logger, written = lines
    try:
        raise ValueError("seven\nlines")
    except ValueError:
        logger.exception("failed", extra={"event": "failure", "session": 3, "q": np.float64(1.5)})
    (line,) = written()
    assert (line["level"], line["event"], line["session"]) == ("error", "failure", 3)
    assert "ValueError: seven" in line["exception"]
    assert line["time"].endswith("+00:00")


def session(number, status=(), **counters):
    known = {"session": number, "law": "pd", "client": "local", "status": list(status)}
    known["at_wall"] = []
    return known | dict.fromkeys(COUNTED, 0) | {"states": 1} | counters


class TestSessionEvents:
    def names(self, events):
        return [(event.event, event.session) for event in events]

    def test_sessions_come_and_go(self):
        events = SessionEvents()
        assert self.names(events.update([session(1)])) == [("opened", 1)]
        assert self.names(events.update([session(2)])) == [("closed", 1), ("opened", 2)]
        assert self.names(events.update([session(2)])) == []

    def test_what_goes_on_is_told_when_it_begins(self):
        events = SessionEvents()
        events.update([session(1)])
        assert self.names(events.update([session(1, stale=4)])) == [("stale", 1)]
        assert self.names(events.update([session(1, stale=9)])) == []
        assert self.names(events.update([session(1, stale=9)])) == []
        assert self.names(events.update([session(1, stale=10)])) == [("stale", 1)]

    def test_sessions_that_wait_for_their_first_state_are_not_told_of(self):
        events = SessionEvents()
        assert self.names(events.update([session(1, states=0, stale=3)])) == [("opened", 1)]
        assert self.names(events.update([session(1, states=0, stale=90)])) == []
        assert self.names(events.update([session(1, states=1, stale=95)])) == []
        assert self.names(events.update([session(1, states=9, stale=99)])) == [("stale", 1)]

    def test_wall_is_told_with_its_joint(self):
        events = SessionEvents()
        events.update([session(1)])
        (found,) = events.update([session(1, walls=3, at_wall=["elbow", "wrist"])])
        assert str(found) == "session 1 (pd, local): wall of elbow, wrist"

    def test_bits_without_counters(self):
        events = SessionEvents()
        events.update([session(1)])
        found = events.update([session(1, ["SOLVER", "LIMITED_REFERENCE"])])
        assert self.names(found) == [("solver", 1)]
        assert self.names(events.update([session(1, ["SOLVER"])])) == []


@pytest.mark.slow
def test_daemon_logs_as_json(another):
    daemon = another("--robot", "chain6", log_format="json", stale_ticks=3).start()

    def logged():
        return [json.loads(line) for line in daemon.log.read_text().splitlines()]

    def events():
        return [line.get("event") for line in logged()]

    with daemon.client() as client, client.session("pd_plus") as robot:
        eventually(lambda: "opened" in events())
        robot.step(np.zeros(6), np.zeros(6))
        eventually(lambda: "stale" in events())
    eventually(lambda: "closed" in events())
    assert daemon.stop() == 0
    ready = next(line for line in logged() if line.get("event") == "ready")
    assert "6 degrees of freedom" in ready["robot"]
    assert events()[-1] == "stopped"
    stale = next(line for line in logged() if line.get("event") == "stale")
    assert (stale["law"], stale["level"]) == ("pd_plus", "warning")
