"""States that are answered as they arrive, and the loop that keeps watch over them."""

import mmap
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from support.daemons import daemon_of, described
from support.eventually import eventually
from torqued.client import errors
from torqued.client.memory.memory_transport import receive_fd
from torqued.client.memory.page_layout import STATES
from torqued.client.sessions.session_frames import MAX_OUTPUT_AGE
from torqued.common.errors import InputError, TorquedError
from torqued.common.status import FALLBACK, STALE, STOPPED
from torqued.server.loop import arrival_loop
from torqued.server.loop.links import checked_spin
from torqued.server.loop.loop_records import MAX_SESSIONS

ON_ARRIVAL = {"transport": "memory", "clock": "state"}


daemon = daemon_of("panda", "--spin", "0.0001")


@pytest.fixture(scope="module")
def state(daemon):
    with daemon.client() as client:
        robot = client.hello()
    rng = np.random.default_rng(0)
    q = robot.limits["lower"] + (0.3 + 0.4 * rng.random(robot.nq)) * (
        robot.limits["upper"] - robot.limits["lower"]
    )
    return q, 0.01 * rng.normal(size=robot.nv)


def outputs(client, session):
    """How many a session has sent: between ticks, which count an output after it is out."""
    client.look(session.number)
    return described(client, session)["outputs"]


def test_torque_is_that_of_a_tick_to_the_last_bit(client, state):
    torques = []
    for options in ({}, ON_ARRIVAL):
        with client.session("passivity", low_pass=0.0, **options) as session:
            output = session.step(*state)
            assert output.status & FALLBACK == 0
            torques.append(output.tau.tobytes())
    assert torques[0] == torques[1]


def test_every_state_is_answered_and_no_other_output_comes(client, state):
    with client.session("gravity", **ON_ARRIVAL) as session:
        assert session.clock == "state"
        session.step(*state)
        before = outputs(client, session)
        for k in range(2, 102):
            output = session.step(*state)
            assert (output.sequence, output.seen) == (k, k)
            assert output.status & (FALLBACK | STALE) == 0
            assert output.time >= output.stamp  # computed after it was measured
        assert outputs(client, session) == before + 100


def test_answer_that_is_read_late_is_not_lost(client, state):
    """There is no other until the state is stale, which takes a minute here."""
    with client.session("gravity", **ON_ARRIVAL) as session:
        assert session.max_output_age == pytest.approx(60.0)
        session.step(*state)
        before = outputs(client, session)
        session.send(*state)
        eventually(lambda: outputs(client, session) > before)
        time.sleep(2 * MAX_OUTPUT_AGE)
        assert session.receive(0.0).seen == 2
        assert session.late == 0


def test_outputs_of_a_tick_are_too_old_before_that(client):
    with client.session("gravity", transport="memory") as session:
        assert session.max_output_age == MAX_OUTPUT_AGE


def test_loop_speaks_before_the_first_state(client):
    with client.session("gravity", **ON_ARRIVAL) as session:
        first = session.receive()
        assert first.status == STALE | FALLBACK
        assert session.receive().tick > first.tick


def test_loop_carries_out_orders_while_no_states_come(client, state):
    with client.session("passivity", **ON_ARRIVAL) as session:
        session.step(*state)
        session.hold()
        for bandwidth in (2.0, 3.0):  # the second waits for the loop to have taken the first
            session.tune({"bandwidth": bandwidth})
        for mass in (0.5, 1.0):
            session.set_payload("panda_hand", mass, over=0.0)
        eventually(lambda: client.look(session.number).mode == "holding")


def test_stop_reaches_a_session_whose_states_have_stopped(client, state):
    with client.session("gravity", **ON_ARRIVAL) as session:
        session.step(*state)
        client.stop()
        try:
            assert session.receive().status & STOPPED
            assert session.step(*state).status & (STOPPED | FALLBACK)
        finally:
            client.recover()
        session.resume()
        eventually(lambda: session.step(*state).status & FALLBACK == 0)


def test_states_that_stop_lead_to_the_fallback_until_it_is_resumed(another, state):
    process = another("--robot", "panda", stale_ticks=50).start()
    with process.client() as client, client.session("gravity", **ON_ARRIVAL) as session:
        eventually(lambda: session.step(*state).status & FALLBACK == 0)
        output = eventually(lambda: stale(session.receive()), pause=0.0)
        assert output.status & FALLBACK
        eventually(lambda: described(client, session.number)["fallbacks"])
        assert session.step(*state).status & FALLBACK
        session.resume()
        eventually(lambda: session.step(*state).status & FALLBACK == 0)


def stale(output):
    return output if output.status & STALE and output.seen >= 0 else None


def test_flood_of_garbage_harms_nobody_else(client, state):
    opened = client.call("open", law="gravity", **ON_ARRIVAL)
    descriptor = receive_fd(opened.endpoint, opened.owner.encode())
    with mmap.mmap(descriptor, opened.memory["page_bytes"]) as page:
        os.close(descriptor)
        with client.session("gravity", **ON_ARRIVAL) as other:
            rng = np.random.default_rng(2)
            for _ in range(300):
                page[STATES : STATES + 4] = rng.bytes(4)
                assert other.step(*state).status & FALLBACK == 0
        eventually(lambda: described(client, opened.session)["bad_states"])
        client.call("close", session=opened.session)


def test_threads_and_pages_end_with_their_sessions(daemon, client, state):
    def counts():
        place = f"/proc/{daemon.process.pid}"
        with open(f"{place}/maps") as file:
            pages = sum("memfd:torqued" in line for line in file)
        return pages, len(os.listdir(f"{place}/task")), len(os.listdir(f"{place}/fd"))

    for k in range(4):
        with client.session("gravity", **ON_ARRIVAL) as session:
            session.step(*state)
            if k == 0:
                pages, threads, files = counts()
    # Fewer than with one session, after four.
    eventually(lambda: all(np.less(counts(), (pages, threads, files))))


def test_daemon_stops_while_states_arrive(another, state):
    process = another("--robot", "panda").start()
    with process.client() as client:
        session = client.session("gravity", **ON_ARRIVAL)
        session.step(*state)
        process.signal(15)
        output = session.step(*state)
        while not output.is_last:
            output = session.step(*state)
        assert not output.tau.any()
        assert process.wait() == 0
        session.close()
    assert process.files() == []


def test_time_that_is_spent_watching_is_counted(client, state):
    assert eventually(lambda: client.stats().servo["spun"]) > 0.0  # the daemon has --spin
    with client.session("gravity", spin=0.002, **ON_ARRIVAL) as session:
        session.step(*state)
        assert eventually(lambda: described(client, session.number)["spun"]) > 0.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clock": "state"}, "clock='state' requires transport='memory'"),
        ({"clock": "moon", "transport": "memory"}, "clock: 'moon' is unknown"),
        ({"spin": 0.001}, "spin requires transport='memory'"),
        ({"spin": -1.0, "transport": "memory"}, r"spin is -1.0, expected 0 … 0.01 s"),
        ({"spin": 1.0, "transport": "memory"}, r"spin is 1.0, expected 0 … 0.01 s"),
        ({"spin": "long", "transport": "memory"}, "spin"),
    ],
)
def test_what_cannot_be_is_refused_by_name(client, fields, message):
    with pytest.raises(errors.FieldError, match=message):
        client.call("open", law="gravity", **fields)


def test_spinning_is_refused_on_a_single_processor(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert checked_spin(0.0, 1.0) == 0.0
    with pytest.raises(InputError, match="only processor"):
        checked_spin(1e-4, 1.0)
    tmp_path.chmod(0o700)
    program = (
        "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
        "from torqued.tools.cli.main import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "serve", "--robot", "chain2"]
    done = subprocess.run(
        [*command, "--spin", "0.0001", "--folder", tmp_path], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "only processor" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_align_ends_before_a_tick_of_the_loop(client, state):
    with client.session("gravity", transport="memory") as session:
        output = session.step(*state)
        for lead in (0.0, 3e-4):
            begin = time.monotonic()
            due = session.align(lead)
            ticks = (due - output.deadline) / session.period
            assert due >= begin + lead - 1e-9
            assert time.monotonic() >= due - lead - 1e-9
            assert abs(ticks - round(ticks)) < 1e-4
        with pytest.raises(ValueError, match=r"lead is 0.1, expected 0 … 0.001 s"):
            session.align(0.1)
        phase = (client.hello().deadline - output.deadline) / session.period
        assert abs(phase - round(phase)) < 1e-4


def test_align_needs_the_daemons_clock(client):
    with client.session("gravity") as session:
        session._same_clock = False
        with pytest.raises(TorquedError, match="over TCP clocks differ"):
            session.align()


class TestPeriodsOfAnswers:
    """What a session's answers take of its periods, by numbers alone."""

    PERIOD = 1_000_000  # ns

    def answered(self, states, spent, light):
        """Times at which states that come at these times are answered, each for `spent` ns."""
        waits, count = arrival_loop.waits.py_func, arrival_loop.taken_by_answer.py_func
        taken, free, times = states[0], states[0], []
        for at in states:
            if at < free or waits(taken, at, self.PERIOD):
                continue  # a newer one is answered
            taken = count(taken, at, spent, light, self.PERIOD)
            free = at + spent
            times.append(at)
        return times

    def test_flood_gets_hardly_more_than_one_answer_per_period(self):
        states = list(range(0, 1000 * self.PERIOD, 10_000))
        times = self.answered(states, 200_000, self.PERIOD // arrival_loop.LIGHT)
        assert 1000 < len(times) <= 1000 / arrival_loop.PERIODS + arrival_loop.MAX_AHEAD + 2

    def test_floods_of_all_sessions_leave_time_to_others(self):
        states = list(range(0, 1000 * self.PERIOD, 5_000))
        light = self.PERIOD // arrival_loop.LIGHT
        for spent in (5_000, 20_000):
            times = self.answered(states, spent, light)
            assert len(times) * spent * MAX_SESSIONS < 0.5 * states[-1]

    def test_robot_faster_than_the_loop_and_bursts_do_not_wait(self):
        light, rng = self.PERIOD // arrival_loop.LIGHT, np.random.default_rng(0)
        fast = [round(0.93 * k * self.PERIOD) for k in range(5000)]
        assert self.answered(fast, 200_000, light) == fast
        jitter = rng.integers(0, 3 * self.PERIOD, 5000)
        late = sorted(k * self.PERIOD + int(jitter[k]) for k in range(5000))
        assert self.answered(late, 1, 1) == late

    def test_without_realtime_priority_light_answers_do_not_wait(self):
        states = list(range(0, 100 * self.PERIOD, 50_000))
        assert self.answered(states, 40_000, self.PERIOD) == states
