"""The session sockets' context: its I/O thread is found, named, and serves its sockets alone."""

import os

import pytest
import zmq

from support.eventually import eventually
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
    eventually(
        lambda: other.io_thread not in dict(thread_names())
    )  # the system has it a moment more
    assert sessions.io_thread in dict(thread_names())


def test_frames_pass_through_that_thread(sessions, tmp_path):
    """It wakes up for frames, and another context's does not."""
    endpoint = f"ipc://{tmp_path}/session"
    other = SessionContext()
    with sessions.context.socket(zmq.PAIR) as server, zmq.Context() as elsewhere:
        server.bind(endpoint)
        with elsewhere.socket(zmq.PAIR) as client:
            client.connect(endpoint)
            exchange(client, server)  # what belongs to connecting is over
            before, idle = sleeps(sessions.io_thread), sleeps(other.io_thread)

            def has_slept():
                exchange(client, server)
                return sleeps(sessions.io_thread) > before + 3

            eventually(has_slept)
            assert sleeps(other.io_thread) <= idle + 1  # it may have been about to
    other.close()


def exchange(client, server):
    client.send(b"state")
    assert server.recv() == b"state"
    server.send(b"torque")
    assert client.recv() == b"torque"


def sleeps(thread):
    """How often a thread has gone to sleep so far."""
    with open(f"/proc/self/task/{thread}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["voluntary_ctxt_switches"])


def test_thread_that_does_not_start_is_named(monkeypatch):
    monkeypatch.setattr("torqued.server.transport.session_context.START_TIMEOUT", 0.01)
    with pytest.raises(EndpointError, match="thread 'nobody'"):
        wait_for_thread("nobody")


def test_threads_of_this_process_are_listed():
    assert os.getpid() in dict(thread_names())
