"""The table of a session's modes: what it promises, every event in every mode through the compiled
code, and docs/PROTOCOL.md."""

import random
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from support.fault_scripts import arm, near
from support.scripted_session import PERIOD, ScriptedSession
from torqued.common.status import FALLBACK, LAST, NONFINITE, OVERRUN, STALE, STOPPED
from torqued.server.loop.session_modes import LAW_MODES, NEXT, TABLE, Event, Mode, next_mode

DOCUMENT = (Path(__file__).parents[3] / "docs" / "PROTOCOL.md").read_text()

#: What statuses have in each mode, of these bits; in a law's mode with a fresh state.
MODE_BITS = STALE | FALLBACK | STOPPED | LAST
STATUS = {
    Mode.WAITING: STALE | FALLBACK,
    **dict.fromkeys(LAW_MODES, 0),
    Mode.FALLBACK: FALLBACK,
    Mode.STOPPED: FALLBACK | STOPPED,
    Mode.CLOSING: FALLBACK | LAST,
}


def test_table_has_every_event_and_compiled_code_has_the_table():
    assert list(TABLE) == list(Event)
    assert NEXT.shape == (len(Mode), len(Event))
    for mode, event in product(Mode, Event):
        assert NEXT[mode, event] == next_mode(mode, event)


def test_each_loss_of_the_law_leads_out_of_its_modes():
    for mode, event in product(LAW_MODES, (Event.NO_RESULT, Event.HALT, Event.STOP)):
        assert next_mode(mode, event) in (Mode.FALLBACK, Mode.STOPPED)


def test_fallback_is_left_by_resume_alone_and_a_stop_by_recover_alone():
    left = [e for e in Event if next_mode(Mode.FALLBACK, e) in (Mode.WAITING, *LAW_MODES)]
    assert left == [Event.RESUME]
    assert [e for e in Event if next_mode(Mode.STOPPED, e) != Mode.STOPPED] == [
        Event.RECOVER,
        Event.CLOSE,
    ]
    assert next_mode(Mode.STOPPED, Event.RECOVER) == Mode.FALLBACK


def test_nothing_leads_back_to_waiting_or_out_of_closing():
    for mode, event in product(Mode, Event):
        assert mode == Mode.WAITING or next_mode(mode, event) != Mode.WAITING
        assert next_mode(Mode.CLOSING, event) == Mode.CLOSING
    assert all(next_mode(mode, Event.CLOSE) == Mode.CLOSING for mode in Mode)


@pytest.fixture(scope="module")
def robot():
    return arm()


def in_mode(robot, mode, ordered):
    """A session in a mode; `ordered`: its references come from orders."""
    session = ScriptedSession(robot, "passivity")
    if mode == Mode.WAITING:
        if ordered:
            session.lease(-0.001)
        session.tick()
        return session
    session.states(2)
    if ordered or mode == Mode.MOVING:
        session.hold()
        session.states(1)
    if mode == Mode.FOLLOWING:
        if ordered:
            session.command(0.01)
            session.states(1)
        else:
            session.states(1, near(session))
    elif mode == Mode.MOVING:
        session.move(0.001, 0.003)
        session.states(1)
    elif mode == Mode.FALLBACK:
        session.halt()
        session.states(1)
    elif mode == Mode.STOPPED:
        session.stop()
        session.states(1)
    elif mode == Mode.CLOSING:
        session.close()
    assert session.record.mode == mode
    return session


def state(session, mode, references=None):
    """A tick; with a state unless none has come in this mode."""
    if mode != Mode.WAITING:
        session.move_robot()
        session.state(references)
    return session.tick()


#: What each event takes, and what follows it up: (session, mode) → the tick after it.
def order(give):
    def happen(session, mode):
        give(session)
        return state(session, mode)

    return happen


def first_state(with_references):
    def happen(session, mode):
        session.move_robot()
        session.state(near(session) if with_references else None)
        return session.tick()

    return happen


def movement_passes(session, mode):
    state(session, mode)
    return state(session, mode)


def movement_passes_with_references(session, mode):
    if mode == Mode.MOVING:
        session.command(0.01)
    return movement_passes(session, mode)


def silence(session, mode):
    session.tick(12)
    return session.ticks[-1]


HAPPENINGS = {
    Event.STATE: first_state(False),
    Event.STATE_WITH_REFERENCES: first_state(True),
    Event.STATE_WITHOUT_REFERENCES: first_state(False),
    Event.HOLD: order(lambda s: s.hold()),
    Event.MOVE: order(lambda s: s.move(0.001, 0.003)),
    Event.COMMAND: order(lambda s: s.command(0.01)),
    Event.RESUME: order(lambda s: s.resume()),
    Event.LEASE_EXPIRED: order(lambda s: s.lease(-0.001)),
    Event.MOVE_ENDED: movement_passes,
    Event.MOVE_ENDED_WITH_REFERENCES: movement_passes_with_references,
    Event.NO_RESULT: silence,
    Event.HALT: order(lambda s: s.halt()),
    Event.STOP: order(lambda s: s.stop()),
    Event.RECOVER: order(lambda s: s.recover()),
    Event.CLOSE: lambda s, mode: s.close(),
}
#: Events that need references from states; for all others they come from orders, so that a state
#: which comes along changes nothing.
BY_STATES = (Event.STATE_WITH_REFERENCES, Event.STATE_WITHOUT_REFERENCES)


@pytest.mark.parametrize("event", Event, ids=lambda event: event.name)
@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.name)
def test_compiled_tick_goes_by_the_table(robot, mode, event):
    session = in_mode(robot, mode, ordered=event not in BY_STATES)
    if mode == Mode.CLOSING:
        check_that_it_is_over(session, event)
        return
    before = session.record.fallbacks
    tick = HAPPENINGS[event](session, mode)
    expected = next_mode(mode, event)
    assert tick.mode == session.record.mode == expected
    ignored = STALE if event == Event.NO_RESULT else 0
    if expected in (Mode.FALLBACK, Mode.STOPPED) and mode == Mode.WAITING:
        ignored = STALE
    assert tick.status & MODE_BITS & ~ignored == STATUS[expected] & ~ignored
    assert np.isfinite(tick.tau).all()
    assert (np.abs(tick.tau) <= session.data.effort).all()
    taken = mode in (Mode.WAITING, *LAW_MODES) and expected in (Mode.FALLBACK, Mode.STOPPED)
    assert session.record.fallbacks == before + (1 if taken else 0)


def check_that_it_is_over(session, event):
    """Requests still reach the record; the loop no longer looks at it."""
    outputs = int(session.record.outputs)
    if event in (Event.HOLD, Event.MOVE, Event.COMMAND, Event.RESUME):
        session.order(event, seconds=0.003)
    elif event == Event.HALT:
        session.halt()
    elif event == Event.STOP:
        session.stop()
    else:
        session.state()
    session.run_loop()
    assert session.record.mode == next_mode(Mode.CLOSING, event) == Mode.CLOSING
    assert session.record.outputs == outputs


def test_resume_lapses_where_no_state_comes(robot):
    """A driver that comes back late is not moved by an order that was given before."""
    for silent_ticks, mode in ((500, Mode.HOLDING), (1500, Mode.FALLBACK)):
        session = in_mode(robot, Mode.FALLBACK, ordered=False)
        session.tick(10)  # stale
        session.resume()
        session.tick(silent_ticks)
        session.states(2)
        assert session.record.mode == mode


CAUSES = {
    STALE: lambda session: session.tick(12),
    NONFINITE: lambda session: faulty_states(session, np.nan),
    OVERRUN: lambda session: (session.use_up_time(), session.states(12), session.give_time()),
    STOPPED: lambda session: (session.halt(), session.states(1)),
}


def faulty_states(session, value):
    for _ in range(12):
        session.state(v=np.full(session.robot.nv, value))
        session.tick()


@pytest.mark.parametrize("reason", CAUSES)
def test_outputs_have_the_reason_of_the_fallback_until_it_is_left(robot, reason):
    session = in_mode(robot, Mode.HOLDING, ordered=False)
    assert session.ticks[-1].reason == 0
    CAUSES[reason](session)
    assert session.ticks[-1].reason & reason
    before = session.ticks[-1].reason
    for _ in range(5):  # states are good again
        tick = session.states(1)
        assert tick.status & FALLBACK and not tick.status & reason
        assert tick.reason == before
    session.resume()
    tick = session.states(1)
    assert tick.status & FALLBACK == 0 and tick.reason == 0


@pytest.mark.parametrize("stops", [("halt",), ("stop", "recover")])
def test_stop_cancels_a_resume_that_waits_for_a_state(robot, stops):
    session = in_mode(robot, Mode.FALLBACK, ordered=False)
    session.tick(6)  # stale: the request waits
    session.resume()
    session.tick()
    for action in stops:
        getattr(session, action)()
        session.tick()
    session.states(3)
    assert session.ticks[-1].mode == Mode.FALLBACK
    session.resume()
    session.states(3)
    assert session.ticks[-1].mode in LAW_MODES


@pytest.mark.parametrize("stop", ["halt", "stop"])
def test_torque_of_a_fallback_before_the_first_state_changes_within_its_rate(robot, stop):
    session = ScriptedSession(robot, "passivity")
    session.tick()
    getattr(session, stop)()
    session.tick()
    for k in range(20):
        session.state(v=np.full(robot.nv, 2.0 * (-1) ** k))
        session.tick()
    session.tick(12)  # no more states
    torques = np.array([tick.tau for tick in session.ticks])
    steps = np.abs(np.diff(torques, axis=0))
    assert steps.max() > 0.0
    assert (steps <= session.data.rate * PERIOD * 1e-9 * (1.0 + 1e-9)).all()


def test_hold_before_the_first_state_counts_until_resume(robot):
    session = ScriptedSession(robot, "passivity")
    session.tick()
    session.hold()
    session.tick()
    for _ in range(3):
        session.states(1, near(session))
        assert session.ticks[-1].mode == Mode.HOLDING
    session.resume()
    session.states(3, near(session))
    assert session.ticks[-1].mode == Mode.FOLLOWING


def test_hold_after_a_resume_that_waits_for_a_state_counts(robot):
    session = in_mode(robot, Mode.FALLBACK, ordered=False)
    session.tick(6)  # stale: the request waits
    session.resume()
    session.tick()
    session.hold()
    session.tick()
    for _ in range(3):
        session.states(1, near(session))
        assert session.ticks[-1].mode == Mode.HOLDING
    session.resume()
    session.states(3, near(session))
    assert session.ticks[-1].mode == Mode.FOLLOWING


def test_any_order_of_events_gives_torques_that_are_safe_and_say_what_they_are(robot):
    rng = random.Random(3)
    session = ScriptedSession(robot, "passivity")
    actions = [
        *[lambda: session.state()] * 6,
        *[lambda: session.state(near(session))] * 6,
        lambda: session.state(q=session.q * np.nan),
        session.hold,
        lambda: session.move(0.01, 0.01),
        lambda: session.command(0.01),
        *[session.resume] * 3,
        session.halt,
        session.stop,
        *[session.recover] * 3,
        lambda: session.lease(0.002),
        lambda: session.tick(4),
        session.use_up_time,
        *[session.give_time] * 2,
    ]
    seen = {session.tick().mode}
    for _ in range(3000):
        session.move_robot(0)
        rng.choice(actions)()
        tick = session.tick()
        seen.add(tick.mode)
        assert np.isfinite(tick.tau).all()
        assert (np.abs(tick.tau) <= session.data.effort).all()
        if tick.mode not in LAW_MODES:
            assert tick.status & FALLBACK
        assert bool(tick.status & STOPPED) == (tick.mode == Mode.STOPPED)
    assert seen == set(Mode) - {Mode.CLOSING}


def marked(name):
    (text,) = re.findall(rf"<!-- {name}:.*?-->(.*?)<!-- end of {name} -->", DOCUMENT, re.DOTALL)
    return text


def test_document_has_the_table():
    lines = re.findall(r"^\|(.*)\|$", marked("session modes"), re.MULTILINE)
    head, _, *body = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert head == ["event", "caused by", "meaning", *(mode.name for mode in Mode)]
    assert body == [
        [
            event.name,
            ", ".join(row.causes),
            row.meaning,
            *(row.changes[mode].name if mode in row.changes else "" for mode in Mode),
        ]
        for event, row in TABLE.items()
    ]


def test_document_draws_the_table():
    drawn = set()
    for before, after, events in re.findall(
        r"^ *(\w+) --> (\w+): (.+)$", marked("drawing of modes"), re.MULTILINE
    ):
        drawn |= {(before, event.strip(), after) for event in events.split(",")}
    assert drawn == {
        (before.name, event.name, after.name)
        for event, row in TABLE.items()
        for before, after in row.changes.items()
        if event != Event.CLOSE  # from everywhere: said below the drawing
    }
