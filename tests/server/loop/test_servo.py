"""Sessions with the loop of a daemon in a process of its own."""

import time

import numpy as np
import pytest
import zmq

from support.daemons import daemon_of, described
from support.eventually import PATIENCE, eventually
from torqued.client import errors
from torqued.client.sessions.frames import PAYLOAD, STATE_HEAD, prefix
from torqued.common.status import CLAMPED, FALLBACK, NONFINITE, STALE
from torqued.kernels import Robot
from torqued.server.loop.loop_records import MAX_SESSIONS

NV = 20
#: Of the daemon: s.
STALE_AFTER, HOLD, FADE = 0.003, 0.02, 0.1
#: Frames after which a test gives up waiting for something.
MAX_FRAMES = 3000
#: Gravity alone, also of what moves.
UNDAMPED = {"damping": 0.0}


SETTINGS = {"hold": HOLD, "fade": FADE, "sessions_per_client": MAX_SESSIONS}

#: One that calls no state stale, however slow the machine is, and one with the usual patience.
daemon = daemon_of("chain20", **SETTINGS)
strict_daemon = daemon_of("chain20", stale_ticks=3, **SETTINGS)


@pytest.fixture
def strict(strict_daemon):
    with strict_daemon.client() as client:
        yield client


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", NV)


@pytest.fixture(scope="module")
def state(robot):
    return robot.random_state(np.random.default_rng(0))


def test_gravity_law_is_gravity_minus_damping(client, robot, state):
    q, v = state
    damping = np.linspace(0.0, 2.0, NV)
    with client.session("gravity", gains={"damping": damping}) as session:
        output = session.step(q, v)
    assert output.status == 0
    assert np.allclose(output.tau, robot.gravity(q) - damping * v, rtol=1e-12)


def test_outputs_name_the_state_that_they_used(client, state):
    with client.session("gravity", gains=UNDAMPED) as session:
        before = session.receive()
        assert before.sequence == -1
        assert before.status_names == ["STALE", "FALLBACK"]
        assert not before.tau.any()
        first = session.step(*state)
        begin = time.monotonic()
        second = session.step(*state)
    assert (first.sequence, second.sequence) == (1, 2)
    assert second.tick > first.tick
    assert 0.0 <= second.age <= time.monotonic() - begin


def test_ages_are_those_of_states_that_are_not_stale(strict, state):
    """A session whose driver has died does not make the loop look late."""

    def servo():
        return strict.stats().servo

    before = servo()["age"]["count"]
    with strict.session("gravity", gains=UNDAMPED) as session:
        eventually(lambda: session.step(*state).status & STALE == 0)
        eventually(lambda: session.receive().status & STALE)
        counted, tick = servo()["age"]["count"], servo()["tick"]
        assert counted > before
        eventually(lambda: servo()["tick"] > tick + 100)
        assert servo()["age"]["count"] == counted
    assert servo()["age"]["count"] == counted


def test_newest_of_several_states_counts(client, robot, state):
    q, v = state
    # Those before may have had ticks of their own: torques that change fast are not the point.
    free = {"low_pass": 0.0, "rate_limit": np.full(NV, 1e9)}
    with client.session("gravity", gains=UNDAMPED, **free) as session:
        for scale in (0.1, 0.2):
            session.send(scale * q, v)
        output = session.step(q, v)
    assert np.allclose(output.tau, robot.gravity(q), rtol=1e-12)


def test_stale_torque_is_held_then_fades_then_is_zero(strict, state):
    with strict.session("gravity", low_pass=0.0) as session:
        held = first_good(session, state).tau
        seen = set()

        def is_seen():
            """On a busy machine a reader may miss all the frames of a hold, or of a fade."""
            while "zero" not in seen:
                output = session.receive()
                over = output.age - STALE_AFTER - HOLD
                stale = output.age > STALE_AFTER
                assert output.status == (STALE | FALLBACK if stale else 0)
                share = 1.0 if over <= 0.0 else max(0.0, 1.0 - over / FADE)
                assert np.allclose(output.tau, share * held, rtol=1e-6, atol=1e-9)
                if stale:
                    seen.add({1.0: "hold", 0.0: "zero"}.get(share, "fade"))
            if seen == {"hold", "fade", "zero"}:
                return True
            seen.discard("zero")
            first_good(session, state)
            return False

        eventually(is_seen)
        assert described(strict, session)["stale"] > 0
        assert first_good(session, state).status == 0  # and it comes back


def first_good(session, state):
    """An output without status; how soon it comes is a matter of the machine.

    A client that is held up reads the next one, of a session that has fallen back meanwhile.
    """

    def is_good():
        output = session.step(*state)
        if output.status & FALLBACK:
            session.resume()
        return output if output.status == 0 else None

    return eventually(is_good, pause=0.0)


def test_state_that_is_not_finite_gives_the_fallback_and_never_nan(client, robot, state):
    q, v = state
    with client.session("gravity", gains=UNDAMPED) as session:
        held = session.step(q, v).tau
        for bad in (np.nan, np.inf, -np.inf):
            wrong = v.copy()
            wrong[3] = bad
            output = session.step(q, wrong)
            assert np.isfinite(output.tau).all()
            assert (np.abs(output.tau) <= np.abs(held) + 1e-9).all()
            assert output.status == NONFINITE | FALLBACK
            assert output.seen == output.sequence + 1
            assert session.step(q, v).status == 0
        assert described(client, session)["bad_states"] >= 3


def test_state_that_overflows_never_gives_nan(client, robot):
    with client.session("stream", want=["M", "C", "bias", "energy"]) as session:
        output = session.step(np.zeros(NV), np.full(NV, 1e300))
        assert output.status_names == ["NONFINITE"]
        assert all(not values.any() for values in output.values.values())


def test_torques_are_cut_to_their_limits(client, robot, state):
    limit = np.full(NV, 0.25)
    with client.session("gravity", gains=UNDAMPED, effort_limit=limit) as session:
        output = session.step(*state)
        expected = np.clip(robot.gravity(state[0]), -limit, limit)
        assert np.allclose(output.tau, expected, rtol=1e-12)
        assert output.status == CLAMPED
        assert described(client, session)["clamped"] > 0


def test_torques_change_no_faster_than_their_limit(client, robot, state):
    rate = np.full(NV, 50.0)
    q, v = state
    with client.session("gravity", rate_limit=rate) as session:
        last, tick, compared = np.zeros(NV), None, 0
        for k in range(MAX_FRAMES):  # after the first torque, one that is far from it
            output = session.step(q if k == 0 else -q, v, at=k * session.period)
            if tick is not None:
                most = rate * session.period * (output.tick - tick) * (1 + 1e-9)
                assert (np.abs(output.tau - last) <= most).all()
                compared += bool((output.tau != last).any())
            last, tick = output.tau, output.tick
            if compared >= 20:
                break
        assert compared >= 20


def test_frames_of_wrong_size_or_form_are_counted_and_ignored(client, state):
    opened = client.call("open", law="gravity")
    frame = good_frame(opened, *state)
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.routing_id = opened.owner.encode()
        socket.connect(opened.endpoint)
        wrong = [b"", frame[:-8], frame + bytes(8), bytes(len(frame)), b"\x93" + frame[1:]]
        for bad in (*wrong, frame[:15] + b"\x80" + frame[16:]):  # a sequence number of 2⁶³
            socket.send(bad)
        socket.send_multipart([frame, frame])
        socket.send(frame)
        for _ in range(MAX_FRAMES):
            assert socket.poll(1000 * PATIENCE)
            socket.recv()
            found = described(client, opened)
            if found["states"]:
                break
    client.call("close", session=opened.session)
    assert (found["states"], found["bad_states"], found["foreign"]) == (1, 7, 0)


def good_frame(opened, q, v):
    payload = opened.state_bytes - PAYLOAD
    stamp = time.monotonic()
    numbers = np.concatenate([q, v]).tobytes()
    return prefix(payload) + STATE_HEAD.pack(1, stamp, stamp) + numbers


def test_sixteen_sessions_are_served_and_one_more_is_refused(client, robot, state):
    sessions = [client.session("gravity", gains=UNDAMPED) for _ in range(MAX_SESSIONS)]
    with pytest.raises(errors.OperationError) as caught:
        client.session("gravity", gains=UNDAMPED)
    assert caught.value.code == "busy"
    tau = robot.gravity(state[0])
    for session in sessions:
        assert np.allclose(session.step(*state).tau, tau, rtol=1e-12)
    sessions[5].close()
    with client.session("gravity", gains=UNDAMPED) as session:
        assert session.step(*state).status == 0
    for session in sessions:
        session.close()
    assert client.call("sessions", client.control_endpoint).sessions == []


def test_session_numbers_are_not_used_twice(client):
    first = client.session("gravity", gains=UNDAMPED)
    first.close()
    with client.session("gravity", gains=UNDAMPED) as second:
        assert second.number != first.number
        with pytest.raises(errors.FieldError):
            client.call("close", session=first.number)


def test_session_without_states_is_closed(another):
    process = another("--robot", "chain2", abandon_after=0.1).start()
    with process.client() as gone, process.client() as client:
        session = gone.session("gravity", gains=UNDAMPED)
        assert session.step(np.zeros(2), np.zeros(2)).status == 0
        gone.session("gravity")  # never had a state
        eventually(lambda: client.sessions() == [])
        assert session.step(np.zeros(2), np.zeros(2)).is_last


def test_slow_reader_loses_frames_and_holds_up_nobody(client, state):
    opened = client.call("open", law="stream", want=["Gamma"])
    with zmq.Context() as context, context.socket(zmq.DEALER) as lazy:
        lazy.linger = 0
        lazy.rcvhwm = 1
        lazy.routing_id = opened.owner.encode()
        lazy.connect(opened.endpoint)
        with client.session("gravity", gains=UNDAMPED, frozen_after=0.0) as session:
            for _ in range(MAX_FRAMES):
                assert session.step(*state).status == 0
                found = described(client, opened)
                # Frames also go nowhere before the reader has connected.
                if found["outputs"] and found["dropped"] > 100:
                    break
            assert found["dropped"] > 100
        assert lazy.poll(1000 * PATIENCE)
        assert len(lazy.recv()) == opened.output_bytes
    client.call("close", session=opened.session)


def test_closing_sends_a_last_frame_without_torque(client, state):
    with client.session("gravity", gains=UNDAMPED) as session:
        assert session.step(*state).tau.any()
        client.call("close", session=session.number)
        for _ in range(MAX_FRAMES):
            output = session.receive()
            if output.status_names == ["FALLBACK", "LAST"]:
                break
        assert output.status_names == ["FALLBACK", "LAST"]
        assert not output.tau.any()


def test_session_has_a_fallback_of_its_own(strict, state):
    """Held for as long as it asked for, and faded in no time."""
    free = {"low_pass": 0.0, "rate_limit": np.full(NV, 1e9)}
    with strict.session("gravity", hold=0.3, fade=0.0, **free) as session:
        held = first_good(session, state).tau
        seen = set()

        def is_seen():
            output = session.receive()
            over = output.age - STALE_AFTER - 0.3
            if abs(over) > 1e-6:
                assert np.array_equal(output.tau, held if over < 0.0 else 0.0 * held)
                seen.add(over < 0.0)
            return seen == {True, False}

        eventually(is_seen, pause=0.0)


def test_fallback_of_a_state_that_overflows_is_zero(client, robot):
    """A state that overflows has no torque, not even the fallback's."""
    q, v = robot.neutral(), np.full(NV, 1e160)
    with client.session("pd_plus", hold=0.0, fade=0.0) as session:
        output = session.step(q, v)
        assert output.status & (NONFINITE | FALLBACK) == NONFINITE | FALLBACK
        assert not output.tau.any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hold": -1.0}, "hold has -1.0, expected zero or a positive number"),
        ({"fade": 60.0}, "fade is 60.0, expected 0 … 10 s"),
        ({"law": "stream", "fallback_damping": 1.0}, "stream sessions have no torque"),
    ],
)
def test_wrong_fallbacks_are_refused(client, options, words):
    with pytest.raises(errors.FieldError, match=words):
        client.call("open", **{"law": "gravity", **options})


@pytest.mark.parametrize("options", [{}, {"transport": "memory"}])
def test_simulation_in_lock_step_waits_for_torques_and_torques_for_it(client, state, options):
    q, v = state
    options = {"clock": "lockstep", "frozen_after": 0.0, **options}
    with (
        client.session("passivity", **options) as session,
        client.session("passivity", **options) as other,
    ):
        for k in range(50):
            first = session.step(q, v, q + 0.1, v, at=k * 0.002)
            if k % 10 == 0:
                time.sleep(0.05)  # longer than states are fresh
            second = other.step(q, v, q + 0.1, v, at=k * 0.002)
            assert first.tau.tobytes() == second.tau.tobytes()
            assert first.age == 0.0 and not first.status & (STALE | FALLBACK)
