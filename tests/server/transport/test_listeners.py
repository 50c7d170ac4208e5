"""Listening sockets pause before descriptors run out, and go on afterwards."""

import os
import resource

import pytest
import zmq
from eventually import eventually

from torqued.client.errors import RequestError
from torqued.server.transport import listeners as module
from torqued.server.transport.endpoints import EndpointError
from torqued.server.transport.listeners import (
    Listeners,
    LocalListener,
    TcpListener,
    descriptors_in_use,
    raise_limit,
)

#: Seconds until something has to happen that does happen: an end of waiting, not a measure.
PATIENCE = 60.0
#: ms in which nothing may come from somebody who cannot connect.
SILENCE = 300


@pytest.fixture
def context():
    context = zmq.Context()
    yield context
    context.destroy(linger=0)


@pytest.fixture
def listeners():
    listeners = Listeners(with_tcp=True)
    yield listeners
    listeners.close()


@pytest.fixture(params=[TcpListener, LocalListener])
def kind(request):
    return request.param


@pytest.fixture
def server(context, listeners, kind, tmp_path):
    """A socket that echoes nothing, but counts."""
    socket = context.socket(zmq.PULL)
    socket.linger = 0
    endpoint = "tcp://127.0.0.1:*" if kind is TcpListener else f"ipc://{tmp_path}/arm.sock"
    listeners.bind(socket, endpoint)
    return socket


def send(context, server, text):
    """A new connection, on which a message is sent."""
    socket = context.socket(zmq.PUSH)
    socket.linger = 0
    socket.connect(server.getsockopt_string(zmq.LAST_ENDPOINT))
    socket.send(text)
    return socket


def put_mark(listeners, kind, mark):
    listeners.marks[kind] = mark
    listeners._wake()


def test_above_the_mark_nobody_new_connects_and_below_it_those_who_waited_do(
    context, server, kind, listeners, caplog
):
    first = send(context, server, b"before")
    assert server.recv() == b"before"
    put_mark(listeners, kind, 0)
    eventually(lambda: kind in listeners.paused)
    second = send(context, server, b"meanwhile")
    assert not server.poll(SILENCE)
    first.send(b"still connected")
    assert server.recv() == b"still connected"
    put_mark(listeners, kind, 100_000)
    assert server.poll(PATIENCE * 1000)
    assert server.recv() == b"meanwhile"
    for socket in (first, second, server):
        socket.close(linger=0)
    assert "no more" in caplog.text and "connections again" in caplog.text


def test_socket_that_is_bound_meanwhile_is_paused_too(context, listeners, tmp_path):
    listeners.marks[LocalListener] = 0
    with context.socket(zmq.PULL) as first, context.socket(zmq.PULL) as second:
        listeners.bind(first, f"ipc://{tmp_path}/first.sock")
        eventually((tmp_path / "first.sock.paused").exists)
        listeners.bind(second, f"ipc://{tmp_path}/second.sock")
        assert (tmp_path / "second.sock.paused").exists()
        listeners.forget(second)
        assert not (tmp_path / "second.sock.paused").exists()


def test_sessions_are_refused_as_busy_while_local_sockets_are_paused(listeners):
    listeners.require_room()
    listeners.marks[LocalListener] = 0
    listeners._look()
    with pytest.raises(RequestError, match="too many for another session"):
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
    assert descriptors_in_use(2) == before


@pytest.fixture
def limits(monkeypatch):
    """The limits of a process as they would be; returns what was set."""
    found = {}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, found["hard"]))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: found.update(set=limits))
    return found


@pytest.mark.parametrize("hard, with_tcp", [(256, False), (1024, True), (524288, True)])
def test_limit_is_raised_as_far_as_it_goes(limits, hard, with_tcp):
    limits["hard"] = hard
    assert raise_limit(with_tcp) == hard
    assert limits["set"] == (hard, hard)


def test_limit_without_a_limit_gets_a_number(limits):
    limits["hard"] = resource.RLIM_INFINITY
    assert raise_limit(True) == 1 << 20


@pytest.mark.parametrize("hard, with_tcp, needed", [(255, False, 256), (1023, True, 1024)])
def test_limit_that_is_too_low_is_refused_with_what_to_do(limits, hard, with_tcp, needed):
    limits["hard"] = hard
    with pytest.raises(EndpointError, match=f"limited to {hard}, at least {needed} .*LimitNOFILE"):
        raise_limit(with_tcp)


def test_marks_leave_room_for_local_clients_and_for_the_daemon_itself(limits):
    limits["hard"] = 1024
    marks = Listeners(with_tcp=True).marks
    backlogs = 3 * (module.BACKLOG + 1)  # accepted after a pause: requests, control, telemetry
    assert marks[TcpListener] + backlogs < marks[LocalListener]
    assert marks[LocalListener] + backlogs < 1024
