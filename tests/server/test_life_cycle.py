"""How daemons end and begin anew: restarts, kills, signals, `shutdown`."""

import signal

import numpy as np
import pytest

from support.eventually import eventually

pytestmark = pytest.mark.slow


def test_client_goes_on_after_a_restart_of_the_daemon(another):
    process = another("--robot", "chain2").start()
    with process.client() as client:
        assert client.hello().nv == 2
        session = client.session("gravity")
        assert process.stop() == 0
        assert process.files() == []
        process.start()
        assert client.hello().nv == 2
        session.close()  # of a daemon that is no more
        with client.session("gravity") as session:
            assert session.step(np.zeros(2), np.zeros(2)).status == 0
    assert process.stop() == 0


def test_killed_daemon_leaves_nothing_in_the_way(another):
    process = another("--robot", "chain2").start()
    with process.client() as client:
        client.session("gravity")
        process.kill()
        left = process.files()
        assert "other.sock" in left
        assert "other.lock" in left
        assert any("session" in name for name in left)
        process.start()
        assert client.hello().nv == 2
        assert not any("session" in name for name in process.files())
    assert process.stop() == 0
    assert process.files() == []


def test_daemon_under_nohup_does_not_end_with_its_terminal(another):
    process = another("--robot", "chain2")
    process.command = ["nohup", *process.command]
    process.start()
    process.signal(signal.SIGHUP)
    with process.client() as client:
        assert client.hello().nv == 2
    assert process.stop() == 0


def last_of(session):
    """The next output where that is the session's last, else None."""
    output = session.receive()
    return output if output.is_last else None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_give_sessions_a_last_frame_and_remove_files(another, number):
    process = another("--robot", "chain2").start()
    with process.client() as client:
        session = client.session("gravity")
        client.timeout = 0.2  # nobody answers when the session is closed
        assert session.step(np.full(2, 0.3), np.zeros(2)).tau.any()
        process.signal(number)
        output = eventually(lambda: last_of(session), pause=0.0)
        assert output.status_names == ["FALLBACK", "LAST"]
        assert not output.tau.any()
        assert process.wait() == 0
    assert process.files() == []


def test_shutdown_replies_and_stops(another):
    process = another("--robot", "chain2").start()
    with process.client() as client:
        client.call("shutdown", client.control_endpoint)
        assert process.wait() == 0
