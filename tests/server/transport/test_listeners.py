"""TCP pauses before descriptors run out, and goes on afterwards; sessions are refused."""

import os
import resource

import pytest
import zmq

from support.eventually import PATIENCE, eventually
from torqued.client.errors import RequestError
from torqued.server.transport.endpoints import EndpointError
from torqued.server.transport.listeners import BACKLOG, Listeners, descriptors_in_use, raise_limit

#: ms in which nothing may come from a client that cannot connect.
SILENCE = 300


@pytest.fixture
def context():
    context = zmq.Context()
    yield context
    context.destroy(linger=0)


@pytest.fixture
def listeners():
    listeners = Listeners()
    yield listeners
    listeners.close()


@pytest.fixture
def server(context, listeners):
    """A socket that takes messages."""
    socket = context.socket(zmq.PULL)
    socket.linger = 0
    listeners.bind(socket, "tcp://127.0.0.1:*")
    return socket


def send(context, server, text):
    """A new connection, on which a message is sent."""
    socket = context.socket(zmq.PUSH)
    socket.linger = 0
    socket.connect(server.getsockopt_string(zmq.LAST_ENDPOINT))
    socket.send(text)
    return socket


def set_limit(listeners, limit):
    listeners.max_with_tcp = limit
    listeners._wake()


def test_new_clients_connect_over_tcp_when_descriptors_are_free_again(
    context, server, listeners, caplog
):
    first = send(context, server, b"before")
    assert server.recv() == b"before"
    set_limit(listeners, 0)
    eventually(lambda: listeners.paused)
    second = send(context, server, b"meanwhile")
    assert not server.poll(SILENCE)
    first.send(b"still connected")
    assert server.recv() == b"still connected"
    set_limit(listeners, 100_000)
    assert server.poll(PATIENCE * 1000)
    assert server.recv() == b"meanwhile"
    for socket in (first, second, server):
        socket.close(linger=0)
    assert "no new TCP connections" in caplog.text and "TCP connections again" in caplog.text


def test_port_that_is_bound_during_a_pause_is_paused(context, server, listeners):
    set_limit(listeners, 0)
    eventually(lambda: listeners.paused)
    with context.socket(zmq.PULL) as other:
        listeners.bind(other, "tcp://127.0.0.1:*")
        with send(context, other, b"meanwhile"):
            assert not other.poll(SILENCE)


def test_sessions_are_refused_as_busy_where_too_many_descriptors_are_in_use(listeners):
    listeners.require_room()
    listeners.max_with_sessions = 3
    with pytest.raises(RequestError, match="fewer than 3"):
        listeners.require_room()


def test_port_of_a_socket_that_was_forgotten_is_free(context, listeners):
    with context.socket(zmq.PULL) as first, context.socket(zmq.PULL) as second:
        listeners.bind(first, "tcp://127.0.0.1:*")
        endpoint = first.getsockopt_string(zmq.LAST_ENDPOINT)
        listeners.forget(first)
        first.unbind(endpoint)

        def bound():
            try:
                listeners.bind(second, endpoint)
            except zmq.ZMQError:  # libzmq closes its listener in a thread of its own
                return False
            return True

        eventually(bound)


def test_descriptors_are_counted_up_to_the_lowest_free_one():
    before = descriptors_in_use(2)
    opened = [os.dup(2) for _ in range(5)]
    try:
        assert descriptors_in_use(2) > max(opened)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    eventually(lambda: descriptors_in_use(2) == before)  # threads of tests before close theirs


@pytest.fixture
def limits(monkeypatch):
    """The limits of a process as they would be; returns what was set."""
    found = {}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, found["hard"]))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: found.update(set=limits))
    return found


@pytest.mark.parametrize("hard", [1024, 524288])
def test_limit_is_raised_as_far_as_it_goes(limits, hard):
    limits["hard"] = hard
    assert raise_limit() == hard
    assert limits["set"] == (hard, hard)


def test_limit_without_a_limit_gets_a_number(limits):
    limits["hard"] = resource.RLIM_INFINITY
    assert raise_limit() == 1 << 20


def test_limit_that_is_too_low_is_refused_with_what_to_do(limits):
    limits["hard"] = 1023
    with pytest.raises(EndpointError, match=r"limited to 1023, at least 1024 .*LimitNOFILE"):
        raise_limit()


def test_limits_leave_room_for_local_clients_and_for_the_daemon(limits):
    limits["hard"] = 1024
    listeners = Listeners()
    backlogs = 3 * (BACKLOG + 1)  # accepted after a pause: requests, control, telemetry
    assert listeners.max_with_tcp + backlogs < listeners.max_with_sessions < 1024
    listeners.close()
