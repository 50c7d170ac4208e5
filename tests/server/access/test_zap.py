"""The ZAP handler by itself: what it answers, and that nobody connects without its answer."""

import pytest
import zmq
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from support.eventually import PATIENCE
from torqued.server.access.keys import KeyFolder, KeyPair
from torqued.server.access.zap import EVERYONE, KEYLESS, ZAP, ZapHandler
from torqued.server.transport.curve import protect


@pytest.fixture
def keys(tmp_path):
    keys = KeyFolder(tmp_path / "keys")
    keys.new("arm", "read")
    return keys


@pytest.fixture
def ask(keys):
    """Asks as ZeroMQ does; returns the status and the user id."""
    with zmq.Context() as context:
        zap = ZapHandler([context], keys.allowed)
        with context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(ZAP)

            def question(domain, key, mechanism=b"CURVE"):
                frames = [b"1.0", b"7", domain, b"10.0.0.1", b"", mechanism]
                socket.send_multipart(frames + ([z85.decode(key)] if key else []))
                assert socket.poll(1000 * PATIENCE)
                version, number, status, _, user, _ = socket.recv_multipart()
                assert (version, number) == (b"1.0", b"7")
                return status, user

            question.zap = zap
            yield question
        zap.close()


def test_allowed_key_passes_and_is_named(ask, keys):
    (key,) = keys.allowed.clients()
    assert ask(EVERYONE.encode(), key) == (b"200", key)
    assert ask(EVERYONE.encode(), KeyPair.new().public.encode()) == (b"400", b"")
    keys.revoke("arm")
    assert ask(EVERYONE.encode(), key) == (b"400", b"")


def test_session_has_one_key(ask, keys):
    other = keys.new("other", "administrate").public.encode()
    arm = next(key for key, client in keys.allowed.clients().items() if client.name == "arm")
    assert ask(b"session-5", arm) == (b"400", b"")
    ask.zap.sessions["session-5"] = arm
    assert ask(b"session-5", arm) == (b"200", arm)
    assert ask(b"session-5", other) == (b"400", b"")


@pytest.mark.parametrize("mechanism", [b"NULL", b"PLAIN", b"CURVE", b""])
def test_question_without_a_key_is_refused(ask, mechanism):
    assert ask(EVERYONE.encode(), None, mechanism) == (b"400", b"")


def test_sockets_without_keys_admit_whoever_reaches_them(ask, keys):
    (key,) = keys.allowed.clients()
    assert ask(KEYLESS.encode(), None, b"NULL") == (b"200", b"")
    assert ask(KEYLESS.encode(), key) == (b"400", b"")


def test_one_handler_answers_in_several_contexts(keys):
    (key,) = keys.allowed.clients()
    with zmq.Context() as first, zmq.Context() as second:
        zap = ZapHandler([first, second], keys.allowed)
        for context in (first, second, first):
            with context.socket(zmq.REQ) as socket:
                socket.linger = 0
                socket.connect(ZAP)
                socket.send_multipart(
                    [b"1.0", b"7", EVERYONE.encode(), b"", b"", b"CURVE", z85.decode(key)]
                )
                assert socket.poll(1000 * PATIENCE)
                assert socket.recv_multipart()[2] == b"200"
        zap.close()


def test_domain_that_is_no_text_is_refused_and_the_handler_goes_on(ask, keys):
    (key,) = keys.allowed.clients()
    assert ask(b"\xff\xfe", key) == (b"400", b"")
    assert ask(EVERYONE.encode(), key) == (b"200", key)


@pytest.mark.parametrize("with_zap", [True, False])
def test_nobody_connects_without_a_zap_handler(keys, with_zap):
    from torqued.client.keys import find_keys

    own = find_keys("tcp://a:1", keys.folder / "arm.key", None)
    with zmq.Context() as context, zmq.Context() as elsewhere:
        zap = ZapHandler([context], keys.allowed) if with_zap else None
        with context.socket(zmq.ROUTER) as server, elsewhere.socket(zmq.DEALER) as client:
            server.linger = client.linger = 0
            protect(server, keys.server(), EVERYONE)
            server.bind("tcp://127.0.0.1:*")
            own.protect(client)
            with client.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | ENDS) as monitor:
                client.connect(server.getsockopt_string(zmq.LAST_ENDPOINT))
                assert monitor.poll(1000 * PATIENCE)
                event = recv_monitor_message(monitor)["event"]
                client.disable_monitor()
        if zap:
            zap.close()
    assert (event == zmq.EVENT_HANDSHAKE_SUCCEEDED) is with_zap


ENDS = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
ENDS |= zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_DISCONNECTED
