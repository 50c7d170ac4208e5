"""Which states are used, and how old they are: with real sockets, and by the clock alone."""

import itertools
import struct
import time
from types import SimpleNamespace

import numpy as np
import pytest
import zmq

from support.daemons import daemon_of, described
from support.eventually import PATIENCE, eventually
from support.scripted_session import ScriptedSession
from support.standstill import standing_still
from torqued.client.sessions.frames import PAYLOAD, STATE_HEAD, prefix
from torqued.common.status import FALLBACK, INVALID, NONFINITE, STALE
from torqued.kernels import Robot
from torqued.server.loop import state_frames

STALE_AFTER = 0.05


daemon = daemon_of("biped8", "--base", "floating", stale_ticks=50)


@pytest.fixture
def state(client):
    robot = client.hello()
    q = np.array(robot.neutral)
    q[7:] = 0.2
    return q, np.zeros(robot.nv)


class Raw:
    """A session as a client has it that writes every byte by itself."""

    def __init__(self, context, opened):
        self.opened = opened
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.routing_id = opened.owner.encode()
        self.socket.rcvhwm = 0  # one frame alone may say what a test waits for
        self.socket.connect(opened.endpoint)

    def send(self, sequence, q, v, stamp=None):
        stamp = time.monotonic() if stamp is None else stamp
        head = STATE_HEAD.pack(sequence, stamp, stamp)
        payload = self.opened.state_bytes - PAYLOAD
        self.socket.send(prefix(payload) + head + np.concatenate([q, v]).tobytes())

    def receive(self):
        assert self.socket.poll(1000 * PATIENCE)
        frame = self.socket.recv()
        tick, sequence, seen, status = struct.unpack_from("<QqqQ", frame, PAYLOAD)
        age, _, made, _, stamp = struct.unpack_from("<5d", frame, PAYLOAD + 32)
        start = self.opened.outputs[0]["offset"]
        values = np.frombuffer(frame, np.float64, offset=start)
        return SimpleNamespace(
            tick=tick,
            sequence=sequence,
            seen=seen,
            status=status,
            age=age,
            time=made,
            stamp=stamp,
            values=values,
        )

    def until(self, condition):
        def found():
            output = self.receive()
            return output if condition(output) else None

        return eventually(found, pause=0.0)

    def refusal(self, send):
        """The output that refuses what is sent; sent again where a busy daemon dropped that one."""

        def refused():
            send()
            received = (self.receive() for _ in range(200))
            return next((output for output in received if output.status & INVALID), None)

        return eventually(refused, pause=0.0)


@pytest.fixture
def raw(client):
    made = []
    with zmq.Context() as context:

        def make(**options):
            made.append(Raw(context, client.call("open", **options)))
            return made[-1]

        yield make
        for session in made:
            session.socket.close()
            client.call("close", session=session.opened.session)


def test_states_that_waited_while_the_daemon_stood_still_are_not_taken_for_fresh(
    daemon, raw, state
):
    session = raw(law="gravity")
    session.send(1, *state)
    session.until(lambda output: output.sequence == 1)
    with standing_still(daemon.process.pid):
        for sequence in range(2, 300):
            session.send(sequence, *state)
            time.sleep(0.002)
        time.sleep(0.5)
    last = 299
    wrong = []
    for output in iter(session.receive, None):
        true_age = output.time - output.stamp
        if output.sequence >= 2:
            assert output.age == pytest.approx(true_age, abs=1e-6)
            if output.status & STALE == 0 and true_age > STALE_AFTER:
                wrong.append((output.sequence, true_age))
        if output.sequence == last:
            break
    assert wrong == []


def test_lower_and_replayed_states_are_ignored_and_counted(client, raw, state):
    session = raw(law="gravity")
    q, v = state
    session.send(5, q, v)
    session.until(lambda output: output.sequence == 5)
    for sequence in (4, 1):
        seen = session.refusal(lambda sequence=sequence: session.send(sequence, q, v))
        assert (seen.sequence, seen.seen) == (5, 5)
    faded = session.until(lambda output: not output.values[: len(v)].any())
    assert faded.status & (STALE | FALLBACK) == STALE | FALLBACK
    session.send(5, q, v)  # a copy of the newest
    after = session.refusal(lambda: session.send(4, q, v))
    assert not after.values[: len(v)].any()
    assert described(client, session.opened)["old_states"] >= 3
    session.send(6, q, v)
    assert session.until(lambda output: output.sequence == 6).status & INVALID == 0


@pytest.mark.parametrize("frame", [b"", b"short", bytes(1000)])
def test_frame_of_a_wrong_size_is_told_to_its_sender(raw, state, frame):
    session = raw(law="gravity")
    session.send(1, *state)
    session.until(lambda output: output.sequence == 1)
    told = session.refusal(lambda: session.socket.send(frame))
    assert (told.sequence, told.seen) == (1, 1)
    session.send(2, *state)
    assert session.until(lambda output: output.sequence == 2).status & INVALID == 0


def test_stamp_that_runs_backwards_is_refused(client, raw, state):
    session = raw(law="gravity")
    session.send(1, *state, stamp=time.monotonic())
    first = session.until(lambda output: output.sequence == 1)
    later = itertools.count(2)
    refused = session.refusal(lambda: session.send(next(later), *state, stamp=first.stamp - 0.5))
    assert refused.sequence == 1 < refused.seen
    assert refused.status & (INVALID | FALLBACK) == INVALID | FALLBACK


@pytest.mark.parametrize("scale", [0.0, 0.001, 2.0, 1.0 + 1e-4])
def test_quaternion_that_is_not_of_unit_length_gives_the_fallback_and_leaves_no_trace(
    raw, state, scale
):
    q, v = state
    session = raw(law="gravity", observer=True)
    session.send(1, q, v)
    session.until(lambda output: output.sequence == 1)
    wrong = q.copy()
    wrong[3:7] *= scale
    later = itertools.count(2)
    refused = session.refusal(lambda: session.send(next(later), wrong, v))
    assert (refused.sequence, refused.status) == (1, refused.status | INVALID | FALLBACK)
    session.send(sequence := next(later), q, v)
    good = session.until(lambda output: output.sequence == sequence)
    assert good.status & ~STALE & ~FALLBACK == 0
    assert np.isfinite(good.values).all()


@pytest.mark.parametrize("law", ["gravity", "stream"])
def test_velocity_that_overflows_leaves_nothing_behind(raw, state, law):
    q, v = state
    options = {"observer": True} if law == "gravity" else {"want": ["bias"]}
    session, untouched = raw(law=law, **options), raw(law=law, **options)
    for sequence, speed in ((1, 0.0), (2, 1e160), (3, 0.0), (4, 0.0)):
        for one in (session, untouched):
            one.send(sequence, q, v + (speed if one is session else 0.0))
            output = one.until(lambda output, s=sequence: output.seen >= s)
            assert np.isfinite(output.values).all()
            if one is session and sequence == 2:  # a busy machine may have fallen back before
                assert output.status & (NONFINITE | STALE | FALLBACK)
    both = [
        one.until(lambda output: output.sequence == 4).values[len(v) :]
        for one in (session, untouched)
    ]
    assert np.isfinite(both[0]).all()


def test_messages_of_others_have_no_effect(client, raw, state):
    session = raw(law="gravity")
    session.send(1, *state)
    session.until(lambda output: output.sequence == 1)
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        stranger.connect(session.opened.endpoint)
        head = STATE_HEAD.pack(9, time.monotonic(), 0.0)
        payload = session.opened.state_bytes - PAYLOAD
        stranger.send(prefix(payload) + head + np.concatenate(state).tobytes())
        eventually(lambda: session.receive() and described(client, session.opened)["foreign"])
        assert described(client, session.opened)["foreign"] == 1
        assert session.receive().seen == 1
        assert stranger.poll(50) == 0


class TestManyParts:
    """Messages of more parts than a tick has time for, from a socket that counts what is read."""

    @pytest.fixture
    def session(self, monkeypatch):
        session = SimpleNamespace(
            page=0, socket=None, route=None, receive=None, receive_size=0, owner_size=10
        )
        session.unfinished, session.foreign, session.reads = 0, 0, 0
        session.waiting = []  # parts of each message

        def receive(*_):
            if not session.waiting:
                return -1
            session.reads += 1
            session.waiting[0] -= 1
            session.more = session.waiting[0] > 0
            if not session.more:
                session.waiting.pop(0)
            return 5  # as long as no owner's routing id

        monkeypatch.setattr(state_frames, "receive", receive)
        monkeypatch.setattr(state_frames, "has_more", lambda *_: session.more)
        for name in ("next_message", "drop_rest"):
            monkeypatch.setattr(state_frames, name, getattr(state_frames, name).py_func)
        return session

    def tick(self, session):
        """Parts that one tick reads."""
        session.reads, session.refusal = 0, 0
        loop, control = SimpleNamespace(more=None), SimpleNamespace()
        state_frames.receive_states.py_func(session, control, None, loop)
        return session.reads

    def test_one_message_is_read_over_many_ticks(self, session):
        most = state_frames.MAX_PARTS
        session.waiting = [10 * most]
        for _ in range(9):
            assert self.tick(session) == most
        session.waiting.append(2)  # comes behind it
        assert self.tick(session) == most
        assert session.foreign == 1
        assert self.tick(session) == 2
        assert (session.foreign, session.unfinished) == (2, 0)

    def test_many_messages_of_many_parts_share_what_a_tick_has(self, session):
        most = state_frames.MAX_PARTS
        session.waiting = [most // 4] * 40
        assert [self.tick(session) for _ in range(10)] == [most] * 10
        assert session.foreign == 40


class TestClocks:
    """compare_clocks and age_of, without waiting for any clock."""

    def run(self, times, same_clock=True, reading=0.0):
        """Ages in s of states (stamp, time) that are received `reading` s after that time."""
        session = SimpleNamespace(
            sequence=-1, stamp=0.0, offset=0.0, received=0, same_clock=int(same_clock), lock_step=0
        )
        ages = []
        for k, (stamp, now) in enumerate(times):
            state_frames.compare_clocks.py_func(session, stamp, now, now + reading)
            session.sequence, session.stamp, session.received = k, stamp, now * 1e9
            ages.append(1e-9 * state_frames.age_of.py_func(session, now * 1e9))
        return ages

    def test_same_clock_gives_exact_ages_from_the_first_state_on(self):
        assert self.run([(100.0, 105.0), (105.1, 105.101)]) == pytest.approx([5.0, 0.001])

    def test_state_measured_while_its_tick_reads_is_of_the_same_clock(self):
        """Be it the first state or a later one: a backlog's ages are exact afterwards."""
        later = [(99.9, 100.0), (100.10002, 100.1), (100.2, 160.2)]
        for times in (later, later[1:]):
            ages = self.run(times, reading=5e-5)
            assert ages[-2:] == pytest.approx([0.0, 60.0], abs=1e-9)

    def test_one_stamp_in_the_future_makes_later_states_no_older(self):
        ages = self.run([(99.999, 100.0), (100.06, 100.01), (100.069, 100.07), (100.07, 105.0)])
        assert ages == pytest.approx([0.001, 0.0, 0.001, 4.93])

    def test_other_clock_counts_from_the_fastest_arrival(self):
        ages = self.run([(0.0, 5000.010), (0.1, 5000.102), (0.2, 5000.203), (0.3, 5005.302)])
        assert ages == pytest.approx([0.0, 0.0, 0.001, 5.0], abs=2e-4)

    def test_clock_that_is_a_little_slower_is_not_stale(self):
        """100 ppm, for an hour at 100 Hz of the sender."""
        times = [(0.01 * k, 7000.0 + 0.01 * k * (1.0 + 1e-4)) for k in range(360_000)]
        assert max(self.run(times, same_clock=False)) < 1e-5

    def test_backlog_is_seen_whatever_the_clock(self):
        """A thousand states that were held up for 5 s and come at once."""
        fresh = [(0.001 * k, 9000.0 + 0.001 * k) for k in range(100)]
        late = [(0.1 + 0.001 * k, 9005.2) for k in range(1000)]
        ages = self.run(fresh + late, same_clock=False)
        assert ages[100:] == pytest.approx([5.1 - 0.001 * k for k in range(1000)], abs=0.01)

    def test_stamps_of_another_epoch_are_taken_for_another_clock(self):
        now = 5000.0
        assert self.run([(1.7e9, now), (1.7e9 + 0.001, now + 0.001)]) == pytest.approx([0, 0])

    def test_stamps_too_large_to_tell_seconds_apart_make_nothing_younger(self):
        """In ns since 1970: floats of that size are 256 apart."""
        session = SimpleNamespace(
            sequence=-1, stamp=1.8e18, same_clock=1, offset=0.0, received=5000 * 10**9, lock_step=0
        )
        state_frames.compare_clocks.py_func(session, session.stamp, 5000.0, 5000.0)
        for seconds in (0, 1, 30, 1000):
            now = session.received + seconds * 10**9
            assert state_frames.age_of.py_func(session, now) >= seconds * 10**9


class TestReferencesOfStates:
    """Poses are checked wherever they come from."""

    @pytest.fixture
    def session(self):
        session = ScriptedSession(Robot.family("tree", 8), "impedance", frame="link_5")
        session.states(2)
        return session

    def tick(self, session, **references):
        session.state(references)
        return session.tick().status

    @pytest.mark.parametrize("turn", [[0, 0, 0, 0], [0, 0, 0, 2], [0.5, 0.5, 0.5, 0.6]])
    def test_orientation_that_is_none_is_refused(self, session, turn):
        here = np.zeros(3)
        assert self.tick(session, position=here, orientation=turn) & INVALID
        assert not self.tick(session, position=here, orientation=[0, 0, 0, 1]) & INVALID

    def test_position_in_millimetres_is_refused(self, session):
        assert self.tick(session, position=[300.0, 0.0, 200.0]) & INVALID
        assert not self.tick(session, position=[0.3, 0.0, 0.2]) & INVALID

    def test_reach_counts_from_a_floating_base(self):
        feet = [{"frame": "link_left_4"}, {"frame": "link_right_4"}]
        tasks = [{"kind": "posture"}, {"kind": "com"}]
        robot = Robot.family("biped", 8)
        session = ScriptedSession(robot, "wholebody", tasks=tasks, contacts=feet)
        session.q[:3] = [100.0, -50.0, 0.0]
        session.states(2)
        assert not self.tick(session, **{"com.position": session.q[:3]}) & INVALID
        assert self.tick(session, **{"com.position": np.zeros(3)}) & INVALID
