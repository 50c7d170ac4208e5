"""Reading a session between two ticks: what changes meanwhile is read again."""

import numpy as np
import pytest

from torqued.client import OperationError
from torqued.server.loop import seqlock as reading
from torqued.server.loop.loop_records import SESSION
from torqued.server.loop.seqlock import seqlock_read


@pytest.fixture
def record():
    return np.zeros(1, SESSION).view(np.recarray)[0]


def test_what_is_read_during_a_tick_is_read_again(record):
    reads = []

    def read():
        reads.append(len(reads))
        if len(reads) < 3:
            record.changes += 2  # a whole tick went by
        return reads[-1]

    assert seqlock_read(record, read) == 2


def test_nothing_is_read_within_a_tick(record, monkeypatch):
    record.changes = 1
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        record.changes = 2

    monkeypatch.setattr(reading.time, "sleep", pause)
    assert seqlock_read(record, lambda: len(pauses)) == 1


def test_a_session_that_never_rests_is_busy(record, monkeypatch):
    record.number, record.changes = 17, 1
    monkeypatch.setattr(reading, "TIMEOUT", 0.01)
    with pytest.raises(OperationError, match="session 17 could not be read between ticks"):
        seqlock_read(record, lambda: None)
