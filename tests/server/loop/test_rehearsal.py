"""Rehearsals: they compute what the next state would get, and leave no trace of it anywhere."""

import time

import numpy as np
import pytest
from eventually import eventually
from numba import njit

from torqued.client.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD
from torqued.client.page_layout import CLIENT_SLEEPS, OUTPUTS, STATES, PageLayout
from torqued.common.status import FALLBACK, NONFINITE, STALE
from torqued.kernels import Robot
from torqued.kernels.compilation.jit import address_of
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.laws import LAWS
from torqued.kernels.primitives.workspace import LoopWorkspace
from torqued.server.loop import tick  # noqa: F401  (registers `serve_session`)
from torqued.server.loop.records import LOOP, SESSION
from torqued.server.loop.rehearsal import (
    LONGEST,
    MARGIN,
    MAX_INTERVAL,
    MIN_INTERVAL,
    expects_rehearsal,
    rehearse,
    rehearse_if_due,
)
from torqued.server.loop.session_call import call_session
from torqued.server.loop.session_frames import frame_buffer
from torqued.server.loop.session_states import OPEN
from torqued.server.loop.stand_in import StandInMemory, _small_ring

PERIOD = 1_000_000  # ns
MINUTE, HOUR = 60_000_000_000, 3_600_000_000_000
YEAR = 10_000 * HOUR  # rehearsals are at the machine's time, sessions of this test are not
FEET = [{"frame": "link_left_4"}, {"frame": "link_right_4"}]
#: By law, what it takes beside gains.
OPTIONS = {
    "stream": {"want": ["M", "C", "g"]},
    "adaptive": {"frame": "link_5"},
    "impedance": {"frame": "link_5"},
    "elastic": {"springs": {"stiffness": 300.0, "motor_inertia": 0.1, "damping": 0.5}},
    "wholebody": {"tasks": [{"kind": "posture"}], "contacts": FEET},
    "balance": {"contacts": FEET},
}
STANDING = ("wholebody", "balance")


@njit
def serve(function, handle, loops, sessions):
    return call_session(function, handle, loops[0], sessions[0])


@njit
def hold(function, handle, loops, sessions, stand_in):
    rehearse(handle, function, loops[0], sessions[0], stand_in)


@njit
def hold_if_due(function, handle, loops, sessions, stand_in):
    return rehearse_if_due(handle, function, loops[0], sessions[0], stand_in)


@njit
def expects(sessions):
    return expects_rehearsal(sessions[0])


class OnArrival:
    """A session in memory, served by the test as its own thread would, at times of its choice."""

    def __init__(self, law, robot=None):
        self.robot = robot or Robot.family("biped" if law in STANDING else "tree", 8)
        fields = OPTIONS.get(law, {})
        if LAWS[law].is_torque:
            fields = {**fields, "observer": True}
        self.controller, trial = (Controller(self.robot, law, **fields) for _ in range(2))
        data = self.controller.data
        self.receive = frame_buffer(STATE_HEAD.size + 8 * len(data.state))
        self.send = frame_buffer(OUTPUT_HEAD.size + 8 * len(data.out))
        layout = PageLayout.of(len(self.receive), len(self.send))
        self.layout, self.page = layout, np.zeros(layout.page_bytes // 8, np.uint64)
        self.ring = _small_ring(self.controller)
        self.sessions = np.zeros(1, SESSION).view(np.recarray)
        self.loops = np.zeros(1, LOOP).view(np.recarray)
        self.record, self.loop = self.sessions[0], self.loops[0]
        self._fill()
        self.memory = StandInMemory(self.controller, trial, layout, rings=True)
        self.stand_in = self.memory.stand_in
        model = self.robot.model
        self.workspace = LoopWorkspace(model.world, model.bodies.copy())
        self.call = np.uint64(address_of("serve_session")), self.workspace.claim()

    def _fill(self):
        record, layout = self.record, self.layout
        record.state, record.sequence, record.seen = OPEN, -1, -1
        record.control, record.ring = self.controller.record.ctypes.data, self.ring.ctypes.data
        record.page = self.page.ctypes.data
        record.page_states, record.page_state_slot = layout.states, layout.state_slot
        record.page_outputs, record.page_output_slot = layout.outputs, layout.output_slot
        record.receive, record.receive_size = self.receive.ctypes.data, len(self.receive)
        record.send, record.send_size = self.send.ctypes.data, len(self.send)
        record.prefix = self.receive[:PAYLOAD].view(np.int64)[0]
        record.stale_after = record.share = record.credit = YEAR
        record.interval, record.rehearses = PERIOD, 1
        self.loop.on_arrival, self.loop.period, self.loop.time = 1, PERIOD, MINUTE

    def write_state(self, number):
        """As a client does."""
        n = np.arange(self.robot.nv)
        v = 0.1 * np.cos(0.05 * number + n)
        q = self.robot.integrate(self.robot.neutral(), np.sin(0.05 * number + n), 0.2)
        numbers = np.concatenate([q, v, q, v] if self.controller.measured else [q, v])
        frame = self.receive.copy().view(np.int64)
        values = frame[2:].view(float)
        values[:2] = 1e-9 * (MINUTE + number * PERIOD)
        values[2:] = np.nan  # references: not given
        values[2 : 2 + len(numbers)] = numbers
        self.put_frame(number, frame)

    def repeat_state(self, number):
        """The newest once more, an interval later."""
        frame = self.receive.copy().view(np.int64)
        frame[2:4].view(float)[:] += 1e-9 * PERIOD
        self.put_frame(number, frame)

    def put_frame(self, number, frame):
        frame[1] = number
        slot = (self.layout.states + number % self.layout.slots * self.layout.state_slot) // 8
        self.page[slot + 1 : slot + 1 + len(frame)] = frame.view(np.uint64)
        self.page[slot] = 2 * number
        self.page.view(np.uint32)[STATES // 4] = number

    def step(self, number):
        """The numbers of the answer to a state, as bytes, and its status."""
        self.write_state(number)
        return self.serve(number)

    def serve(self, number):
        self.loop.time = MINUTE + number * PERIOD
        status = serve(*self.call, self.loops, self.sessions)
        return self.send[PAYLOAD + OUTPUT_HEAD.size :].tobytes(), status

    def rehearse(self):
        hold(*self.call, self.loops, self.sessions, self.stand_in)

    def everything(self):
        """All that a session has, as bytes."""
        own = (self.sessions, self.loops, self.controller.record, self.receive, self.send)
        arrays = (np.ascontiguousarray(array) for array in self.controller.data)
        return [part.tobytes() for part in (*own, self.page, self.ring, *arrays)]


@pytest.fixture(scope="module")
def arm():
    return Robot.family("tree", 8)


@pytest.fixture(params=LAWS)
def law(request):
    return request.param


def test_rehearsals_leave_everything_as_it_was_to_the_last_byte(law):
    session = OnArrival(law)
    session.page.view(np.uint32)[CLIENT_SLEEPS // 4] = 1
    for number in range(1, 4):
        session.step(number)
        before = session.everything()
        session.rehearse()
        assert session.everything() == before
        assert session.stand_in.session[0].outputs == number + 1  # it was one


def test_answers_are_the_same_with_rehearsals_to_the_last_bit(law):
    without, rehearsed = OnArrival(law), OnArrival(law)
    for number in range(1, 30):
        expected = without.step(number)
        for _ in range(number % 3):
            rehearsed.rehearse()
        assert rehearsed.step(number) == expected
        assert expected[1] & (STALE | NONFINITE) == 0


def test_rehearsal_computes_what_the_same_state_gets(law):
    session = OnArrival(law)
    for number in range(1, 4):
        session.step(number)
    session.rehearse()
    mirror = session.stand_in.session[0]
    rehearsed = session.memory._frames[1][PAYLOAD + OUTPUT_HEAD.size : len(session.send)].tobytes()
    session.repeat_state(4)
    assert session.serve(4) == (rehearsed, mirror.status)
    assert mirror.sequence == 4


def test_rehearsals_of_a_session_without_usable_states_harm_nothing(arm):
    session = OnArrival("passivity", arm)
    session.step(1)
    session.receive[PAYLOAD + 16 :] = 255  # NaN
    session.record.good = session.record.stale_after = 0
    session.record.fallen = 1
    before = session.everything()
    for _ in range(3):
        session.rehearse()
        assert session.everything() == before
    assert int(session.stand_in.session[0].status) & FALLBACK


class Timed(OnArrival):
    """The same with a state that is due, by the machine's own time."""

    def __init__(self, robot):
        super().__init__("gravity", robot)
        self.step(1)
        self.record.interval = 15 * PERIOD

    def rehearse_if_due(self, due):
        """With the next state due so many ns from now: whether nothing of it is still to come."""
        self.record.due = time.monotonic_ns() + due
        return hold_if_due(*self.call, self.loops, self.sessions, self.stand_in)


def test_rehearsal_is_held_before_a_state_is_due_and_counted(arm):
    session = Timed(arm)
    record = session.record
    outputs = session.page.view(np.uint32)[OUTPUTS // 4]
    record.spread = record.interval
    early = record.interval // LONGEST  # so much before the state, and MARGIN

    def is_held():  # on a busy machine it may be too late already when it is asked for
        return session.rehearse_if_due(early) and int(record.rehearsals)

    assert eventually(is_held) == 1
    assert record.rehearsed > 0
    assert 0 < record.lag <= 2 * record.interval // LONGEST
    assert session.page.view(np.uint32)[OUTPUTS // 4] == outputs
    assert session.stand_in.session[0].outputs == record.outputs + 1


def test_rehearsal_waits_for_its_time(arm):
    session = Timed(arm)
    assert not session.rehearse_if_due(HOUR)
    assert session.record.rehearsals == session.record.lag == 0


def test_rehearsal_whose_time_is_over_is_left_out_and_the_next_begins_earlier(arm):
    session = Timed(arm)
    assert session.rehearse_if_due(MARGIN // 2)
    assert session.record.rehearsals == 0
    assert session.record.lag > 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rehearses", 0),
        ("interval", 0),
        ("interval", MAX_INTERVAL + 1),
        ("interval", MIN_INTERVAL - 1),
        ("lag", 2 * PERIOD),
    ],
)
def test_rehearsal_is_not_expected_without_a_reason_for_it(arm, field, value):
    session = Timed(arm)
    assert expects(session.sessions)
    session.record[field] = value
    assert not expects(session.sessions)
