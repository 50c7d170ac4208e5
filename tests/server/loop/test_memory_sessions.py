"""Sessions in shared memory with a daemon in another process."""

import mmap
import os
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from support.daemons import daemon_of, described
from support.eventually import PATIENCE, eventually
from support.standstill import standing_still
from torqued.client import Client, errors
from torqued.client.endpoints import memory_endpoint
from torqued.client.memory.memory_transport import receive_fd
from torqued.client.memory.page_layout import LOCK_BYTES, STATES, PageLayout
from torqued.client.sessions.frames import PAYLOAD, STATE_HEAD
from torqued.client.sessions.session import Session
from torqued.common.errors import TorquedError
from torqued.common.status import FALLBACK, INVALID, WALL
from torqued.server.loop.loop_records import MAX_SESSIONS

daemon = daemon_of("panda", sessions_per_client=MAX_SESSIONS)


@pytest.fixture(scope="module")
def state(daemon):
    with daemon.client() as client:
        robot = client.hello()
    rng = np.random.default_rng(0)
    return robot.neutral + 0.1 * rng.normal(size=robot.nq), 0.1 * rng.normal(size=robot.nv)


@contextmanager
def mapped_session(client, law, **fields):
    """A session, its page as this test maps it beside, and the page's layout."""
    opened = client.call("open", law=law, transport="memory", **fields).as_dict()
    descriptor = receive_fd(opened["endpoint"], opened["owner"].encode())
    layout = PageLayout(**opened["memory"])
    with (
        mmap.mmap(descriptor, layout.page_bytes) as page,
        Session(client._context, opened, client.call, client.endpoint, timeout=PATIENCE) as session,
    ):
        os.close(descriptor)
        yield session, page, layout


def word_at(page, place):
    return int.from_bytes(page[place : place + 4], "little")


@pytest.mark.parametrize(
    ("law", "gains", "speed"), [("passivity", {}, 0.0), ("gravity", {"damping": 2.0}, 1.0)]
)
def test_torques_are_those_of_a_socket_to_the_last_bit(client, state, law, gains, speed):
    """Of states whose torque is the same at each tick, as a client that is late sees a later one:
    references of one that moves come to rest, and walls, which push what is beyond joint limits,
    spend their store."""
    limits = client.hello().limits
    q, v = (limits["lower"] + limits["upper"]) / 2, speed * np.asarray(state[1])
    torques = []
    for transport in ("socket", "memory"):
        with client.session(law, gains=gains, transport=transport, low_pass=0.0) as session:
            assert session.transport == transport
            output = session.step(q, v)
            assert output.status & (FALLBACK | WALL) == 0
            torques.append(output.tau.tobytes())
    assert torques[0] == torques[1]


def test_every_state_is_answered_and_the_newest_wins(client, state):
    with client.session("gravity", transport="memory") as session:
        for _ in range(50):
            number = session.send(*state)
        output = session.step(*state)
        assert output.seen == output.sequence == number + 1
        described_ = described(client, session.number)
        assert described_["transport"] == "memory"
        assert described_["bad_states"] == described_["old_states"] == 0


def test_latest_is_none_until_another_output_comes(client, state):
    with client.session("gravity", transport="memory") as session:
        session.step(*state)
        first = eventually(session.latest)
        second = eventually(session.latest)
        assert second.tick > first.tick


def test_orders_and_gains_reach_a_session_in_memory(client, state):
    with client.session("passivity", transport="memory") as session:
        session.step(*state)
        session.hold()
        session.tune({"bandwidth": 3.0})
        assert session.step(*state).status & FALLBACK == 0
        assert client.look(session.number).mode == "holding"


def test_session_goes_on_after_a_write_that_was_not_finished(client, state):
    """What is left by a client that dies in the middle of a write, and another that goes on."""
    with mapped_session(client, "gravity") as (session, page, layout):
        session.step(*state)
        count = word_at(page, STATES) + 1
        slot = layout.states + count % layout.slots * layout.state_slot
        page[slot : slot + LOCK_BYTES] = (2 * count + 1).to_bytes(LOCK_BYTES, "little")
        tick = session.receive().tick
        output = eventually(lambda: after(session.receive(), tick + 3), pause=0.0)
        assert output.status & INVALID == 0  # the daemon has not read it
        assert described(client, session.number)["bad_states"] == 0
        assert session.step(*state).status & FALLBACK == 0


def after(output, tick):
    return output if output.tick > tick else None


def test_count_without_its_frame_is_a_bad_state_once(client, state):
    with mapped_session(client, "gravity") as (session, page, _):
        session.step(*state)
        count = word_at(page, STATES) + 2  # no such state was written
        page[STATES : STATES + 4] = count.to_bytes(4, "little")
        eventually(lambda: described(client, session.number)["bad_states"])
        tick = session.receive().tick
        eventually(lambda: after(session.receive(), tick + 5), pause=0.0)
        assert described(client, session.number)["bad_states"] == 1
        assert session.step(*state).status & FALLBACK == 0


CONTROLLER = """
import sys
import numpy as np
from torqued.client import Client

client = Client(sys.argv[1], timeout=60.0)
robot = client.hello()
session = client.session("gravity", transport="memory")
while True:
    session.step(robot.neutral, np.zeros(robot.nv), timeout=60.0)
    print(session.number, flush=True)
"""


def test_client_that_is_killed_leaves_others_and_no_files(daemon, client, state):
    def files():  # but those of the directory, which a session may leave before it is forgotten
        return [name for name in daemon.files() if ".session-" not in name]

    before = files()
    command = [sys.executable, "-c", CONTROLLER, daemon.endpoint]
    with client.session("gravity", transport="memory") as mine:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            for _ in range(20):
                number = int(child.stdout.readline())
            child.kill()
        assert mine.step(*state).status & FALLBACK == 0
        assert files() == before
        client.call("close", session=number)


def test_another_process_goes_on_where_one_has_died(client, state):
    """A process that has the secret may map the page again, and counts on."""
    opened = client.call("open", law="gravity", transport="memory").as_dict()
    first = Session(client._context, opened, client.call, client.endpoint, timeout=PATIENCE)
    first.step(*state)
    first._transport.close()
    with Session(client._context, opened, client.call, client.endpoint, timeout=PATIENCE) as second:
        second._sequence = first._sequence
        assert second.step(*state).sequence == 2


def test_socket_that_hands_out_pages_is_the_users_own(daemon):
    mode = os.stat(memory_endpoint(daemon.endpoint).removeprefix("ipc://")).st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_descriptors_and_maps_of_ended_sessions_are_given_back(daemon, client):
    def count():
        maps = f"/proc/{daemon.process.pid}/maps"
        with open(maps) as file:
            pages = sum("memfd:torqued" in line for line in file)
        return pages, len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    client.session("gravity", transport="memory").close()
    files = count()[1]
    for _ in range(5):
        client.session("gravity", transport="memory").close()
    eventually(lambda: count()[0] == 0 and count()[1] <= files)


def test_wrong_transport_is_refused_by_name(client):
    with pytest.raises(errors.FieldError, match="'carrier pigeon' is unknown, allowed: 'socket'"):
        client.session("gravity", transport="carrier pigeon")
    with pytest.raises(errors.FieldError, match="transport"):
        client.call("open", law="gravity", transport=3)


def test_without_the_compiled_part_memory_says_what_to_install_and_sockets_work(
    client, state, monkeypatch
):
    monkeypatch.setitem(sys.modules, "torqued.client._native", None)
    with pytest.raises(TorquedError, match="install a C compiler"):
        client.session("gravity", transport="memory")
    assert client.sessions() == []
    with client.session("gravity") as session:
        assert session.step(*state).status & FALLBACK == 0


def test_daemon_that_stands_still_is_noticed_by_time(daemon, client, state):
    with client.session("gravity", transport="memory") as session:
        session.step(*state)
        with (
            standing_still(daemon.process.pid),
            pytest.raises(errors.TimeoutError, match="no fresh output within"),
        ):
            for _ in range(20):
                session.receive(0.05)
        assert session.step(*state).status & FALLBACK == 0


def test_outputs_that_are_kept_stay_as_they_were(client, state):
    """Whatever of them is kept."""
    q, v = state
    with client.session("gravity", transport="memory", clock="state") as session:
        kept = []
        for k in range(40):
            output = session.step(q + 0.01 * k, v)
            head = output.sequence, output.tick
            whole = (output, output.tau, output.tau[1:], output._data, output.values)
            kept.append((head, output.tau.copy(), whole[k % len(whole)]))
            del output, whole
    assert [head[0] for head, _, _ in kept] == list(range(1, 41))
    assert len({tau.tobytes() for _, tau, _ in kept}) == 40
    for k, (head, tau, thing) in enumerate(kept):
        if k % 5 == 0:
            assert (thing.sequence, thing.tick) == head and np.array_equal(thing.tau, tau)
        elif k % 5 == 3:
            assert tau.tobytes() in thing
        else:
            found = thing["tau"] if k % 5 == 4 else thing
            assert np.array_equal(found, tau[1:] if k % 5 == 2 else tau)


STATES_TO_SEND = {
    "arrays": lambda q, v: (q, v),
    "lists": lambda q, v: (list(q), list(v)),
    "every second number": lambda q, v: (np.repeat(q, 2)[::2], np.repeat(v, 2)[::2]),
    "other bytes": lambda q, v: (q.astype(">f8"), v.astype(">f8")),
    "a list and an array": lambda q, v: (list(q), v),
}


@pytest.mark.parametrize("kind", STATES_TO_SEND)
def test_numbers_are_taken_however_they_come(client, state, kind):
    with client.session("stream", want=("bias",), transport="memory", clock="state") as session:
        expected = session.step(*state).bias.tobytes()
        session.step(0 * state[0], 0 * state[1])
        found = session.step(*STATES_TO_SEND[kind](*state))
        assert found.sequence == 3 and found.bias.tobytes() == expected


def test_states_of_other_shapes_are_refused_and_not_counted(client, state):
    q, v = state
    with client.session("gravity", transport="memory", clock="state") as session:
        with pytest.raises(ValueError, match=r"q has shape \(2,\), expected \(7,\)"):
            session.step(q[:2], v)
        with pytest.raises(ValueError, match="v has shape"):
            session.step(q, v.reshape(1, -1))
        with pytest.raises(ValueError, match="1 references, this session has: none"):
            session.step(q, v, q)
        with pytest.raises(ValueError, match="no reference 'q_ref'"):
            session.step(q, v, q_ref=q)
        assert session.step(q, v).sequence == 1


def test_references_go_with_a_state_by_position_and_by_name(client, state):
    q, v = state
    with mapped_session(client, "computed_torque", clock="state") as (session, page, layout):
        assert list(session.references)[:2] == ["q_ref", "v_ref"]

        def sent():
            """The newest frame after q and v."""
            slot = layout.states + word_at(page, STATES) % layout.slots * layout.state_slot
            start = PAYLOAD + STATE_HEAD.size + q.nbytes + v.nbytes
            return page[slot + LOCK_BYTES + start : slot + layout.state_slot]

        for k, give in enumerate(
            (
                lambda r: session.step(q, v, r, np.zeros(7)),
                lambda r: session.step(q, v, list(r), list(np.zeros(7))),
                lambda r: session.step(q, v, q_ref=r, v_ref=np.zeros(7)),
                lambda r: session.step(q, v, r, v_ref=np.zeros(7)),
            ),
            1,
        ):
            reference = q + 0.1 * k
            output = give(reference)
            assert output.sequence == k and output.status & FALLBACK == 0
            assert sent().startswith(reference.tobytes() + bytes(v.nbytes))


class Interruption(Exception):
    """What a signal's handler raises."""


@contextmanager
def alarm(handler):
    """A signal that comes while the block waits."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_signal_ends_a_step_that_waits(daemon, client, state):
    def interrupt(*_):
        raise Interruption

    with client.session("gravity", transport="memory") as session:
        session.step(*state)
        with standing_still(daemon.process.pid), pytest.raises(Interruption), alarm(interrupt):
            session.step(*state)
        assert session.step(*state).status & FALLBACK == 0


def test_session_can_be_closed_where_a_signal_interrupts_its_step(daemon, client, state):
    """The page stays mapped until the step has left it."""
    session = client.session("gravity", transport="memory")
    session.step(*state)
    with (
        standing_still(daemon.process.pid),
        alarm(lambda *_: session._transport.close()),
        pytest.raises(ValueError, match="is closed"),
    ):
        session.step(*state)
    session.close()


def test_daemon_starts_again_where_one_was_killed(another):
    process = another("--robot", "chain4").start()
    with Client(process.endpoint, timeout=PATIENCE) as client:
        session = client.session("gravity", transport="memory")
        process.kill()
        with pytest.raises(errors.TimeoutError):
            session.step(np.zeros(4), np.zeros(4), timeout=0.1)
        process.start()
        with client.session("gravity", transport="memory") as session:
            session.step(np.zeros(4), np.zeros(4))
