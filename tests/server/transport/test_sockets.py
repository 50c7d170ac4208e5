"""Transports by themselves: what they bind, whom a message comes from, what a session gets."""

import stat
from pathlib import Path

import pytest
import zmq
from daemons import free_port

from torqued.client.errors import RequestError
from torqued.server.access.rights import ADMINISTRATE, Caller
from torqued.server.transport.endpoints import EndpointError, Endpoints, private_folder
from torqued.server.transport.sockets import LocalTransport, TcpTransport

#: ms until a message that was sent has to be there: an end of waiting, not a measure.
PATIENCE = 20_000


@pytest.fixture
def context():
    context = zmq.Context()
    yield context
    context.destroy(linger=0)


@pytest.fixture
def files(tmp_path):
    return Endpoints(private_folder(tmp_path / "sockets"), "arm")


@pytest.fixture
def local(context, files):
    transport = LocalTransport(files)
    transport.bind(context)
    yield transport
    transport.close(linger=0)


@pytest.fixture
def tcp(context):
    transport = TcpTransport(f"tcp://127.0.0.1:{free_port()}")
    transport.bind(context)
    yield transport
    transport.close(linger=0)


def client(context, endpoint, kind=zmq.DEALER):
    socket = context.socket(kind)
    socket.linger = 0
    socket.connect(endpoint)
    return socket


def file_of(endpoint):
    return Path(endpoint.removeprefix("ipc://"))


def test_local_sockets_are_for_their_user_alone(local):
    for endpoint in local.endpoints.values():
        info = file_of(endpoint).stat()
        assert stat.S_ISSOCK(info.st_mode)
        assert stat.S_IMODE(info.st_mode) == 0o600


@pytest.mark.parametrize("name", ["local", "tcp"])
def test_message_names_its_sender_and_the_way_back(name, context, request):
    transport = request.getfixturevalue(name)
    first, second = (client(context, transport.endpoints["request"]) for _ in range(2))
    callers = []
    for socket, text in ((first, b"one"), (second, b"two"), (first, b"three")):
        socket.send(text)
        assert transport.request.poll(PATIENCE)
        arrival = transport.receive(transport.request)
        assert arrival.data == text
        transport.request.send_multipart([*arrival.route, b"reply to " + text])
        assert socket.poll(PATIENCE)
        assert socket.recv() == b"reply to " + text
        callers.append(arrival.caller)
    assert callers[0] is callers[2]
    assert callers[0].key != callers[1].key
    assert {caller.right for caller in callers} == {ADMINISTRATE}
    assert {caller.transport for caller in callers} == {transport}


def test_address_that_is_taken_is_named(context, tcp):
    other = TcpTransport(tcp.endpoints["request"])
    with pytest.raises(EndpointError, match=f"cannot bind {tcp.endpoints['request']}: Address"):
        other.bind(context)
    other.request.close(linger=0)


@pytest.mark.parametrize("name", ["local", "tcp"])
def test_session_is_reached_where_its_reply_says(name, context, request):
    transport = request.getfixturevalue(name)
    socket = context.socket(zmq.PAIR)
    caller = Caller(b"key", "somebody", ADMINISTRATE, transport)
    endpoint = transport.bind_session(socket, 7, caller)["endpoint"]
    peer = client(context, endpoint.replace("*", "127.0.0.1"), zmq.PAIR)
    peer.send(b"state")
    assert socket.poll(PATIENCE)
    assert socket.recv() == b"state"
    socket.close(linger=0)
    transport.end_session(7)
    if name == "local":
        assert not file_of(endpoint).exists()


def test_session_without_a_free_port_is_refused_and_its_socket_closed(context):
    port = free_port()
    transport = TcpTransport(f"tcp://127.0.0.1:{free_port()}", (port, port))
    first, second = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    caller = Caller(b"key", "somebody", ADMINISTRATE, transport)
    transport.bind_session(first, 1, caller)
    with pytest.raises(RequestError, match="none of the 1 ports for sessions is free"):
        transport.bind_session(second, 2, caller)
    assert second.closed
    assert not first.closed
