"""Transports by themselves: what they bind, whom a message comes from, what a session gets."""

import socket as plain
import stat
import time
from contextlib import suppress
from pathlib import Path

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from support.daemons import free_port
from support.eventually import PATIENCE
from torqued.client.endpoints import host_and_port
from torqued.client.errors import RequestError
from torqued.server.access.rights import ADMINISTRATE, Caller
from torqued.server.transport import sockets
from torqued.server.transport.endpoints import EndpointError, Endpoints, private_folder
from torqued.server.transport.framing import Inbox
from torqued.server.transport.listeners import Listeners
from torqued.server.transport.sockets import LocalTransport, TcpTransport


@pytest.fixture
def context():
    context = zmq.Context()
    yield context
    context.destroy(linger=0)


@pytest.fixture
def files(tmp_path):
    return Endpoints(private_folder(tmp_path / "sockets"), "arm")


@pytest.fixture
def listeners(context):
    listeners = Listeners()
    yield listeners
    listeners.close()


@pytest.fixture
def local(context, files, listeners):
    transport = LocalTransport(files)
    transport.bind(context, context, listeners)
    yield transport
    transport.close(linger=0)


@pytest.fixture
def tcp(context, listeners):
    transport = TcpTransport(f"tcp://127.0.0.1:{free_port()}")
    transport.bind(context, context, listeners)
    yield transport
    transport.close(linger=0)


@pytest.fixture
def socket(context):
    """Makes sockets, and closes them in the end."""
    made = []

    def make(kind, endpoint=None):
        made.append(context.socket(kind))
        made[-1].linger = 0
        if endpoint:
            made[-1].connect(endpoint)
        return made[-1]

    yield make
    for each in made:
        each.close(linger=0)


def file_of(endpoint):
    return Path(endpoint.removeprefix("ipc://"))


def test_local_sockets_are_for_their_user_alone(local):
    for endpoint in local.endpoints.values():
        info = file_of(endpoint).stat()
        assert stat.S_ISSOCK(info.st_mode)
        assert stat.S_IMODE(info.st_mode) == 0o600


@pytest.mark.parametrize("name", ["local", "tcp"])
def test_message_names_its_sender_and_the_way_back(name, socket, request):
    transport = request.getfixturevalue(name)
    first, second = (socket(zmq.DEALER, transport.endpoints["request"]) for _ in range(2))
    callers = []
    for peer, text in ((first, b"one"), (second, b"two"), (first, b"three")):
        peer.send(text)
        assert transport.request.poll(1000 * PATIENCE)
        message = Inbox(transport.request).receive()
        assert message is not None
        arrival = transport.arrival(transport.request, message)
        assert arrival.data == text
        transport.request.send_multipart([*arrival.route, b"reply to " + text])
        assert peer.poll(1000 * PATIENCE)
        assert peer.recv() == b"reply to " + text
        callers.append(arrival.caller)
    assert callers[0] is callers[2]
    assert callers[0].key != callers[1].key
    assert {caller.right for caller in callers} == {ADMINISTRATE}
    assert {caller.transport for caller in callers} == {transport}


def test_address_that_is_taken_is_named(context, tcp, listeners):
    other = TcpTransport(tcp.endpoints["request"])
    with pytest.raises(EndpointError, match=f"cannot bind {tcp.endpoints['request']}: Address"):
        other.bind(context, context, listeners)
    other.request.close(linger=0)


@pytest.mark.parametrize("name", ["local", "tcp"])
def test_session_is_reached_where_its_reply_says(name, socket, request):
    transport = request.getfixturevalue(name)
    server = socket(zmq.PAIR)
    caller = Caller(b"key", "somebody", ADMINISTRATE, transport)
    endpoint = transport.bind_session(server, 7, caller)["endpoint"]
    peer = socket(zmq.PAIR, endpoint.replace("*", "127.0.0.1"))
    peer.send(b"state")
    assert server.poll(1000 * PATIENCE)
    assert server.recv() == b"state"
    server.close(linger=0)
    transport.end_session(7)
    if name == "local":
        assert not file_of(endpoint).exists()


def test_session_without_a_free_port_is_refused_and_its_socket_closed(socket, listeners):
    port = free_port()
    transport = TcpTransport(f"tcp://127.0.0.1:{free_port()}", (port, port))
    transport.listeners = listeners
    first, second = socket(zmq.PAIR), socket(zmq.PAIR)
    caller = Caller(b"key", "somebody", ADMINISTRATE, transport)
    transport.bind_session(first, 1, caller)
    with pytest.raises(RequestError, match="none of the 1 ports for sessions is free"):
        transport.bind_session(second, 2, caller)
    assert second.closed
    assert not first.closed


def subscriber(socket, transport, *topics):
    peer = socket(zmq.SUB)
    for topic in topics:
        peer.subscribe(topic)
    peer.connect(transport.endpoints["telemetry"])
    return peer


def gets_telemetry(transport, *subscribers):
    """Whether all of them get something that is published from now on."""
    deadline = time.monotonic() + PATIENCE
    for peer in subscribers:
        while not peer.poll(20):
            if time.monotonic() > deadline:
                return False
            transport.publish(b"statistics")
    return True


@pytest.mark.parametrize("name", ["local", "tcp"])
def test_topics_without_end_are_dropped_and_subscribers_go_on(name, socket, request, caplog):
    transport = request.getfixturevalue(name)
    good = subscriber(socket, transport, b"")
    assert gets_telemetry(transport, good)
    greedy = subscriber(socket, transport, b"", *(b"%d" % k * 300 for k in range(100, 200)))
    deadline = time.monotonic() + PATIENCE
    while not caplog.records:
        transport.publish(b"statistics")
        assert time.monotonic() < deadline
    assert "too many telemetry subscriptions" in caplog.text
    greedy.close(linger=0)
    while good.poll(100):
        good.recv()
    assert gets_telemetry(transport, good, subscriber(socket, transport, b""))
    assert transport.telemetry.getsockopt(zmq.TOPICS_COUNT) == 1


def test_telemetry_that_is_bound_again_is_protected_again(local, socket):
    good = subscriber(socket, local, b"")
    assert gets_telemetry(local, good)
    local.drop_subscribers()
    assert gets_telemetry(local, good)
    assert stat.S_IMODE(file_of(local.endpoints["telemetry"]).stat().st_mode) == 0o600


def test_topic_that_is_too_long_ends_the_connection(local, socket):
    monitored = socket(zmq.SUB)
    events = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
    with monitored.get_monitor_socket(events) as monitor:
        monitored.connect(local.endpoints["telemetry"])
        assert monitor.poll(1000 * PATIENCE)
        assert recv_monitor_message(monitor)["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED
        monitored.subscribe(b"x" * sockets.KINDS["telemetry"][1])
        assert monitor.poll(1000 * PATIENCE)
        assert recv_monitor_message(monitor)["event"] == zmq.EVENT_DISCONNECTED
        monitored.disable_monitor()
    assert gets_telemetry(local, subscriber(socket, local, b""))


GREETING = b"\xff" + bytes(8) + b"\x7f"  # of any version of ZMTP
NULL = GREETING + b"\x03\x01NULL" + bytes(16) + bytes(32)
#: What strangers may send to a session's socket, and then say nothing more.
STRANGERS = {
    "nothing": b"",
    "one byte": b"\x01",
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "a frame of ZMTP 1": b"\x01\x00\x06\x00state",
    "ZMTP 1": GREETING + b"\x00\x00",
    "ZMTP 2": GREETING + b"\x01\x00",
    "half a greeting": GREETING,
    "a greeting": NULL,
    "another type of socket": NULL + b"\x04\x1b\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER",
}


def stranger(endpoint, data):
    """A connection of the operating system's own, on which some bytes were sent."""
    if endpoint.startswith("ipc://"):
        connection = plain.socket(plain.AF_UNIX)
        connection.connect(str(file_of(endpoint)))
    else:
        connection = plain.create_connection(host_and_port(endpoint))
    connection.settimeout(PATIENCE)
    with suppress(BrokenPipeError):
        connection.sendall(data)
    return connection


@pytest.mark.parametrize("name", ["local", "tcp"])
@pytest.mark.parametrize("data", STRANGERS.values(), ids=STRANGERS)
def test_stranger_neither_takes_the_owners_place_nor_keeps_a_connection(
    name, data, socket, request, monkeypatch
):
    monkeypatch.setattr(sockets, "HANDSHAKE_TIMEOUT", 500)
    transport = request.getfixturevalue(name)
    server = socket(zmq.PAIR)
    caller = Caller(b"key", "somebody", ADMINISTRATE, transport)
    endpoint = transport.bind_session(server, 7, caller)["endpoint"].replace("*", "127.0.0.1")
    with stranger(endpoint, data) as connection:
        with suppress(ConnectionError):
            connection.recv(1)  # libzmq's greeting, or the end: it has accepted the connection
        peer = socket(zmq.PAIR, endpoint)
        peer.send(b"state")
        assert server.poll(1000 * PATIENCE)
        assert server.recv() == b"state"
        with suppress(ConnectionError):
            while connection.recv(1000):
                pass  # until the daemon ends the connection
