"""The session sockets' context: its I/O thread is found, named, and serves its sockets alone."""

import os

import pytest
import zmq

from torqued.server.transport.session_context import (
    THREAD_NAME,
    EndpointError,
    SessionContext,
    thread_names,
    wait_for_thread,
)


@pytest.fixture
def sessions():
    context = SessionContext()
    yield context
    context.close()


def test_io_thread_has_a_name_that_people_find(sessions):
    assert dict(thread_names())[sessions.io_thread] == THREAD_NAME


def test_each_context_has_a_thread_of_its_own(sessions):
    other = SessionContext()
    assert other.io_thread != sessions.io_thread
    other.close()
    names = dict(thread_names())
    assert other.io_thread not in names
    assert sessions.io_thread in names


def test_frames_pass_through_that_thread(sessions, tmp_path):
    """It wakes and sleeps with the frames."""
    endpoint = f"ipc://{tmp_path}/session"
    with sessions.context.socket(zmq.PAIR) as server, zmq.Context() as elsewhere:
        server.bind(endpoint)
        with elsewhere.socket(zmq.PAIR) as client:
            client.connect(endpoint)
            before = switches(sessions.io_thread)
            for _ in range(100):
                client.send(b"state")
                assert server.recv() == b"state"
                server.send(b"torque")
                assert client.recv() == b"torque"
            assert switches(sessions.io_thread) > before + 50


def switches(thread):
    """How often a thread has gone to sleep so far."""
    with open(f"/proc/self/task/{thread}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["voluntary_ctxt_switches"])


def test_thread_that_does_not_start_is_named(monkeypatch):
    monkeypatch.setattr("torqued.server.transport.session_context.LONGEST_START", 0.01)
    with pytest.raises(EndpointError, match="thread 'nobody'"):
        wait_for_thread("nobody")


def test_threads_of_this_process_are_listed():
    assert os.getpid() in dict(thread_names())
