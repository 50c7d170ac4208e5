"""How often a viewer looks at the ring: seldom without a subscriber, unless the ring fills."""

from __future__ import annotations

import sys
import threading

import pytest

from support.eventually import PATIENCE
from torqued.tools.viewers import following as module
from torqued.tools.viewers.following import (
    IDLE_INTERVAL,
    MAX_IDLE_BACKLOG,
    POLL_INTERVAL,
    Following,
    Stopping,
)


class Ring:
    """A reader of rings that are filled as said."""

    processor = None

    def __init__(self, *backlogs: float) -> None:
        self.backlogs = list(backlogs)

    @property
    def backlog(self) -> float:
        return self.backlogs[0]

    def poll(self) -> float:
        return self.backlogs.pop(0)


class ReaderPriority:
    def __init__(self, processor: int | None) -> None:
        self.backlogs: list[float] = []

    def update(self, backlog: float) -> None:
        self.backlogs.append(backlog)


@pytest.fixture
def paused(monkeypatch):
    """The pauses between polls."""
    monkeypatch.setattr(module, "ReaderPriority", ReaderPriority)

    def pauses(*backlogs: float, **options) -> list[float]:
        following = Following(Ring(*backlogs))
        found: list[float] = []

        def pause(seconds: float) -> None:
            found.append(seconds)
            if len(found) == len(backlogs):
                following.stop()

        following.pause = pause
        assert list(following.batches(**options)) == list(backlogs)
        assert following._priority.backlogs == list(backlogs)
        return found

    return pauses


def test_who_is_watched_keeps_its_pace(paused):
    assert paused(0.0, 0.01, 0.5) == [POLL_INTERVAL, POLL_INTERVAL, POLL_INTERVAL]
    assert paused(0.0, pause=0.05, is_watched=lambda: True) == [0.05]


def test_who_is_not_looks_seldom_but_where_a_ring_fills(paused):
    half = MAX_IDLE_BACKLOG / 2
    assert paused(half, MAX_IDLE_BACKLOG, half, is_watched=lambda: False) == [
        IDLE_INTERVAL,
        POLL_INTERVAL,
        IDLE_INTERVAL,
    ]


def test_who_looks_seldom_anyway_does_not_look_more_often(paused):
    assert paused(0.0, pause=2 * IDLE_INTERVAL, is_watched=lambda: False) == [2 * IDLE_INTERVAL]


def test_a_signal_may_come_anywhere_in_a_pause():
    """Its handler runs between two instructions of the thread that pauses."""
    ended = []

    def handled(*_):
        sys.settrace(None)
        stopping.stop()
        sys.settrace(handled)
        return handled

    def pause():
        sys.settrace(handled)
        stopping.pause(60.0)
        sys.settrace(None)
        ended.append(not stopping.goes_on)

    stopping = Stopping()
    thread = threading.Thread(target=pause, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert ended == [True]
