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
from torqued.server.loop.rehearsal import LONGEST, MARGIN, rehearse, rehearse_in_time
from torqued.server.loop.session_call import call_session
from torqued.server.loop.session_frames import frame_buffer
from torqued.server.loop.session_states import CLOSING, OPEN
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
def hold_in_time(function, handle, loops, sessions, stand_in, longest):
    rehearse_in_time(handle, function, loops[0], sessions[0], stand_in, longest)


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
        self.record.interval = 100 * PERIOD

    def rehearse_in_time(self, due=20 * PERIOD, longest=HOUR):
        """With the next state due so many ns from now."""
        self.record.due = time.monotonic_ns() + due
        hold_in_time(*self.call, self.loops, self.sessions, self.stand_in, longest)
        return int(self.record.rehearsals)


def test_rehearsal_is_held_before_a_state_is_due_and_counted(arm):
    session = Timed(arm)
    outputs = session.page.view(np.uint32)[OUTPUTS // 4]
    session.record.spread = session.record.interval
    # On a busy machine it may be too late already when it is asked for.
    assert eventually(session.rehearse_in_time) == 1
    assert time.monotonic_ns() >= session.record.due - session.record.interval // LONGEST - MARGIN
    assert session.record.rehearsed > 0
    assert 0 < session.record.lag <= 2 * session.record.interval // LONGEST
    assert session.page.view(np.uint32)[OUTPUTS // 4] == outputs
    assert session.stand_in.session[0].outputs == session.record.outputs + 1


def test_rehearsal_is_omitted_where_a_state_comes_first(arm):
    session = Timed(arm)
    session.write_state(2)
    assert session.rehearse_in_time(HOUR, 2 * HOUR) == 0  # and nobody has slept for an hour


@pytest.mark.parametrize(
    ("field", "value"),
    [("rehearses", 0), ("interval", 0), ("state", CLOSING)],
)
def test_rehearsal_is_omitted_without_a_reason_for_it(arm, field, value):
    session = Timed(arm)
    session.record[field] = value
    assert session.rehearse_in_time() == 0


def test_rehearsal_is_omitted_where_its_time_is_over_or_too_far_away(arm):
    session = Timed(arm)
    assert session.rehearse_in_time(due=0) == 0
    assert session.rehearse_in_time(due=HOUR, longest=MINUTE) == 0


def test_one_rehearsal_in_four_is_left_out_for_a_client_on_another_processor(arm):
    session = Timed(arm)
    record, sleeps = session.record, session.page.view(np.uint32)
    held = []
    for number in range(2, 12):
        sleeps[CLIENT_SLEEPS // 4] = number < 10  # then they are together again
        session.step(number)
        assert record.page_woken == (number - 1 if number < 10 else 0)
        before = int(record.rehearsals)
        if record.page_woken in (3, 7):
            assert session.rehearse_in_time() == before
            held.append(number)
        else:
            eventually(lambda before=before: session.rehearse_in_time() == before + 1)
    assert held == [4, 8]


def test_rehearsals_that_take_too_long_are_tried_again_much_later(arm):
    session = Timed(arm)
    record = session.record
    record.lag = record.interval // LONGEST + record.interval // 100
    for _ in range(3):
        assert session.rehearse_in_time() == 0
    assert eventually(session.rehearse_in_time, pause=0.0) == 1
