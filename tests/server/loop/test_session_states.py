"""States of a slot: the table, and that nothing goes around it."""

from types import SimpleNamespace

import pytest

from torqued.server.loop.session_states import (
    CLOSED,
    CLOSING,
    FREE,
    NAMES,
    OPEN,
    OWNER,
    PYTHON,
    TRANSITIONS,
    move,
)

ALL = (FREE, OPEN, CLOSING, CLOSED)


@pytest.mark.parametrize("before", ALL)
@pytest.mark.parametrize("to", ALL)
def test_python_makes_its_own_moves_and_no_others(before, to):
    record = SimpleNamespace(state=before)
    if TRANSITIONS.get((before, to)) == PYTHON:
        move(record, to)
        assert record.state == to
    else:
        with pytest.raises(RuntimeError, match=f"from {NAMES[before]} to {NAMES[to]}"):
            move(record, to)
        assert record.state == before


def test_only_the_owner_moves_a_slot_except_for_the_request_to_end():
    for (before, to), who in TRANSITIONS.items():
        assert OWNER[before] == who or (before, to) == (OPEN, CLOSING)


def test_every_state_leads_back_to_free():
    reached, waiting = set(), [OPEN]
    while waiting:
        state = waiting.pop()
        reached.add(state)
        waiting += [to for (before, to) in TRANSITIONS if before == state and to not in reached]
    assert reached == set(ALL)
