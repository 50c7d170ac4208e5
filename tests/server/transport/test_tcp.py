"""TCP with keys, against a real daemon: who can connect, who may do what, and what ends it."""

import asyncio
import random
import socket as plain

import numpy as np
import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from support.daemons import free_port
from support.eventually import PATIENCE, eventually
from torqued.client import AccessError, AsyncClient, Client, TimeoutError, errors
from torqued.client.codec import MAX_MESSAGE
from torqued.client.endpoints import reachable
from torqued.client.keys import find_keys
from torqued.server.access.keys import KeyFolder, KeyPair
from torqued.tools.cli.main import main

pytestmark = pytest.mark.slow

STATE = (np.zeros(2), np.zeros(2))


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = KeyFolder(tmp_path_factory.mktemp("keys"))
    folder.new("reader", "read")
    folder.new("controller", "command")
    folder.new("other", "command")
    folder.new("admin", "administrate")
    return folder


@pytest.fixture(scope="module")
def daemon(shared_daemons, keys):
    tcp = f"tcp://127.0.0.1:{free_port()}"
    with shared_daemons.lend("chain2", fresh=True, listen=tcp, keys=keys.folder) as process:
        process.tcp = tcp
        yield process


@pytest.fixture
def connect(daemon, keys):
    """Clients by the name of their key."""
    made = []

    def client(name, timeout=PATIENCE, retries=2):
        made.append(
            Client(daemon.tcp, timeout, retries, key=keys.folder / f"{name}.key")
            if name
            else Client(daemon.tcp, timeout, retries)
        )
        return made[-1]

    yield client
    for each in made:
        each.close()


@pytest.fixture
def local(daemon):
    """The same daemon over its local sockets."""
    with daemon.client() as client:
        yield client


def sessions_of(client):
    return client.call("sessions", client.control_endpoint).sessions


def shakes_hands(endpoint, pair=None, server=None, kind=zmq.DEALER):
    """Whether a connection comes about, by what ZeroMQ itself says of its handshake."""
    bad = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    bad |= zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_DISCONNECTED
    with zmq.Context() as context, context.socket(kind) as socket:
        socket.linger = 0
        if pair:
            socket.curve_publickey = pair.public.encode()
            socket.curve_secretkey = pair.secret.encode()
            socket.curve_serverkey = server.encode()
        with socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | bad) as monitor:
            socket.connect(endpoint)
            assert monitor.poll(PATIENCE * 1000), "neither success nor failure"
            event = recv_monitor_message(monitor)["event"]
            socket.disable_monitor()
        return event == zmq.EVENT_HANDSHAKE_SUCCEEDED


def pair_of(keys, name):
    return KeyPair.of(find_keys("tcp://a:1", keys.folder / f"{name}.key", None).secret.decode())


def test_key_opens_requests_control_telemetry_and_sessions(connect):
    client = connect("controller")
    hello = client.hello()
    assert hello.rights == "command"
    assert client.ping().ready
    assert client.dynamics(*STATE).M.shape == (2, 2)
    with client.telemetry() as telemetry:
        assert telemetry.receive(PATIENCE)["robot"] == hello.name
    with client.session("gravity") as session:
        assert session.step(*STATE).sequence == 1
        assert sessions_of(client)[0]["client"] == "controller"


def test_each_client_is_told_endpoints_of_its_own_transport(connect, local, daemon):
    port = int(daemon.tcp.rpartition(":")[2])
    over_tcp = connect("reader").hello().endpoints
    assert over_tcp == {
        "request": f"tcp://*:{port}",
        "control": f"tcp://*:{port + 1}",
        "telemetry": f"tcp://*:{port + 2}",
    }
    assert local.hello().endpoints["request"] == daemon.endpoint
    assert local.hello().rights == "administrate"
    assert local.call("open", law="stream").endpoint.startswith("ipc://")
    opened = connect("reader").call("open", law="stream")
    assert opened.endpoint.startswith("tcp://*:")
    assert len(opened.server_key) == 40
    for session in sessions_of(local):
        local.call("close", session=session["session"])


@pytest.mark.parametrize("port", [0, 1, 2])
def test_only_an_allowed_key_shakes_hands(daemon, keys, port):
    host, _, first = daemon.tcp.rpartition(":")
    endpoint = f"{host}:{int(first) + port}"
    kind = zmq.SUB if port == 2 else zmq.DEALER
    server = keys.server().public
    assert shakes_hands(endpoint, pair_of(keys, "reader"), server, kind)
    assert not shakes_hands(endpoint, KeyPair.new(), server, kind)  # the wrong key
    assert not shakes_hands(endpoint, kind=kind)  # no key at all
    assert not shakes_hands(endpoint, pair_of(keys, "reader"), KeyPair.new().public, kind)


def test_public_key_without_its_secret_is_worth_nothing(daemon, keys):
    """The allow-list is no secret: whoever reads it cannot pass for those on it."""
    pretended = KeyPair(pair_of(keys, "admin").public, KeyPair.new().secret)
    assert not shakes_hands(daemon.tcp, pretended, keys.server().public)


def test_client_without_a_key_gets_no_reply_and_a_hint(connect):
    with pytest.raises(TimeoutError, match="silent to keys that it does not allow"):
        connect(None, timeout=0.3, retries=0).hello()


def test_shared_memory_is_for_local_clients_only(connect):
    client = connect("controller")
    with pytest.raises(
        errors.FieldError, match="requires a connection over the daemon's local socket"
    ):
        client.session("gravity", transport="memory")


def test_read_only_key_computes_and_streams_but_commands_no_torque(connect):
    client = connect("reader")
    with client.session("stream", want=["g"]) as session:
        assert session.step(*STATE).g.shape == (2,)
    with pytest.raises(AccessError, match="'reader' has 'read'") as caught:
        client.session("gravity")
    assert (caught.value.code, caught.value.expected) == ("denied", "command")
    assert sessions_of(client) == []


@pytest.mark.parametrize("name", ["reader", "controller"])
@pytest.mark.parametrize("operation, fields", [("shutdown", {}), ("log_level", {"level": "INFO"})])
def test_only_administrators_administrate(connect, name, operation, fields):
    client = connect(name)
    with pytest.raises(AccessError) as caught:
        client.call(operation, client.control_endpoint, **fields)
    assert caught.value.expected == "administrate"
    assert client.ping().ready


def test_administrator_administrates(connect):
    client = connect("admin")
    assert client.call("log_level", client.control_endpoint, level="INFO").level == "INFO"


def test_session_is_closed_by_its_owner_or_an_administrator_only(connect):
    owner = connect("controller")
    number = owner.call("open", law="gravity").session
    for name in ("reader", "other"):
        with pytest.raises(AccessError, match="another client's"):
            connect(name).call("close", session=number)
    assert [session["session"] for session in sessions_of(owner)] == [number]
    connect("admin").call("close", session=number)
    assert sessions_of(owner) == []


def test_only_the_key_that_opened_a_session_can_join_it(connect, keys, daemon):
    client = connect("controller")
    opened = client.call("open", law="gravity")
    endpoint = reachable(opened.endpoint, daemon.tcp)
    own, key = pair_of(keys, "controller"), opened.server_key
    assert not shakes_hands(endpoint, pair_of(keys, "other"), key)
    assert not shakes_hands(endpoint, pair_of(keys, "admin"), key)
    assert not shakes_hands(endpoint, KeyPair.new(), key)
    assert not shakes_hands(endpoint, None, None)
    # Nor an old connection of its own, to another session that had this port.
    assert not shakes_hands(endpoint, own, keys.server().public)
    assert shakes_hands(endpoint, own, key)
    client.call("close", session=opened.session)


def is_silent(telemetry):
    try:
        return not telemetry.receive(0.5)
    except TimeoutError:
        return True


def test_revoked_key_loses_sessions_requests_telemetry_and_new_connections(
    connect, keys, daemon, local
):
    keys.new("leaver", "command")
    pair = pair_of(keys, "leaver")
    leaver, stayer = connect("leaver"), connect("reader")
    session = leaver.session("gravity")
    session.step(*STATE)
    assert leaver.ping().ready
    with leaver.telemetry() as cut, stayer.telemetry() as kept:
        assert cut.receive(PATIENCE)
        assert kept.receive(PATIENCE)
        keys.revoke("leaver")
        with pytest.raises(AccessError, match="not on the allow-list"):
            leaver.dynamics(*STATE)
        with pytest.raises(AccessError, match="not on the allow-list"):
            leaver.ping()
        eventually(lambda: sessions_of(local) == [])
        eventually(lambda: is_silent(cut))
        assert kept.receive(PATIENCE)
    assert not shakes_hands(daemon.tcp, pair, keys.server().public)


def test_session_that_a_lowered_right_forbids_ends_and_a_stream_goes_on(connect, keys, local):
    keys.new("lowered", "command")
    client = connect("lowered")
    client.session("gravity")
    stream = client.session("stream", want=["g"])
    keys.allow("lowered", None, "read")
    eventually(lambda: [session["law"] for session in sessions_of(local)] == ["stream"])
    assert stream.step(*STATE).g.shape == (2,)
    with pytest.raises(AccessError):
        client.session("gravity")
    stream.close()


def test_broken_allow_list_leaves_the_last_one_in_force(connect, keys, daemon):
    text = keys.allowed.path.read_text()
    client = connect("controller")
    session = client.session("gravity")
    try:
        keys.allowed.path.write_text("[oops")
        eventually(lambda: "keeping the previous allow-list" in daemon.log.read_text())
        assert session.step(*STATE).sequence == 1
        assert shakes_hands(daemon.tcp, pair_of(keys, "reader"), keys.server().public)
    finally:
        keys.allowed.path.write_text(text)
    session.close()


def test_random_bytes_on_all_ports_leave_it_running(connect, daemon, local):
    rng = random.Random(0)
    client = connect("controller")
    session = client.session("gravity")
    session.step(*STATE)
    port = int(daemon.tcp.rpartition(":")[2])
    session_port = int(sessions_of(client)[0]["endpoint"].rpartition(":")[2])
    greeting = bytes.fromhex("ff00000000000000017f0300") + b"CURVE".ljust(20, b"\0") + bytes(32)
    for target in (port, port + 1, port + 2, session_port):
        for start in (b"", greeting[:11], greeting, greeting + b"\x04\xc8\x05HELLO"):
            with plain.create_connection(("127.0.0.1", target)) as socket:
                socket.sendall(start + rng.randbytes(500))
    socket = client._connected(client.endpoint)
    for _ in range(200):
        parts = [rng.randbytes(rng.randrange(50)) for _ in range(rng.randrange(1, 4))]
        socket.send_multipart(parts)
    for _ in range(200):
        assert socket.poll(PATIENCE * 1000)
        socket.recv_multipart()
    for count, length in enumerate((0, 1, 8, 3 * len(session._frame)), 1):
        session._transport.socket.send(rng.randbytes(length))  # the next one would take its place
        eventually(lambda count=count: sessions_of(local)[0]["bad_states"] == count)
    output = session.step(*STATE)
    assert output.sequence == 2
    session.close()
    assert client.dynamics(*STATE).M.shape == (2, 2)
    assert local.ping().ready


def test_oversized_message_ends_the_connection_and_not_the_daemon(connect, local):
    client = connect("reader")
    client._connected(client.endpoint).send(bytes(MAX_MESSAGE + 1))
    assert connect("reader").hello().nv == 2
    assert local.ping().ready


def test_async_client_has_keys_too(daemon, keys):
    async def ask():
        async with AsyncClient(
            daemon.tcp, timeout=PATIENCE, key=keys.folder / "reader.key"
        ) as client:
            return await asyncio.gather(client.hello(), client.ping())

    hello, ping = asyncio.run(ask())
    assert (hello.rights, ping.ready) == ("read", True)


def test_commands_take_an_endpoint_and_keys(daemon, keys, capsys, monkeypatch):
    where = ["--endpoint", daemon.tcp, "--timeout", str(PATIENCE)]
    assert main(["ping", *where, "--key", str(keys.folder / "reader.key")]) == 0
    monkeypatch.setenv("TORQUED_KEY", str(keys.folder / "admin.key"))
    assert main(["call", "hello", *where, "--json"]) == 0
    assert '"rights": "administrate"' in capsys.readouterr().out


def test_limits_are_per_client(another, keys):
    tcp = f"tcp://127.0.0.1:{free_port()}"
    settings = {"keys": keys.folder, "request_rate": 40, "sessions_per_client": 2}
    daemon = another("--robot", "chain2", "--listen", tcp, **settings).start()

    def over(name):
        return Client(tcp, timeout=PATIENCE, key=keys.folder / f"{name}.key")

    # One key counts as one client over however many connections; another key is another.
    with over("controller") as first, over("controller") as second, over("other") as other:
        kept = [first.session("gravity"), second.session("gravity")]
        with pytest.raises(errors.OperationError, match="this client has 2 sessions") as caught:
            first.session("gravity")
        assert caught.value.code == "busy"
        other.session("gravity").close()
        kept[0].close()
        second.session("gravity").close()
    for one, second in [(over("reader"), over("other")), (daemon.client(), daemon.client())]:
        with one, second:
            with pytest.raises(errors.OperationError) as caught:
                for _ in range(100_000):  # faster than 40 per second on any machine
                    one.hello()
            assert caught.value.code == "rate_limited"
            assert caught.value.expected == "at most 40 per second"
            assert second.hello().nv == 2
