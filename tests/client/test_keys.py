"""Which keys a client takes for an endpoint, and which it refuses."""

import pytest
import zmq

from torqued.client import TorquedError
from torqued.client.endpoints import control_endpoint, host_and_port, reachable, telemetry_endpoint
from torqued.client.keys import find_keys

ENDPOINT = "tcp://robot:5550"
PUBLIC, SECRET = (half.decode() for half in zmq.curve_keypair())
SERVER = zmq.curve_keypair()[0].decode()


@pytest.fixture(autouse=True)
def no_keys_in_the_environment(monkeypatch):
    monkeypatch.delenv("TORQUED_KEY", raising=False)
    monkeypatch.delenv("TORQUED_SERVER_KEY", raising=False)


@pytest.fixture
def file(tmp_path):
    """Writes a key file and returns its path."""

    def write(mode=0o600, **keys):
        path = tmp_path / "arm.key"
        path.write_text("".join(f'{name} = "{key}"\n' for name, key in keys.items()))
        path.chmod(mode)
        return path

    return write


def found(keys):
    return keys.public.decode(), keys.secret.decode(), keys.server.decode()


def test_keys_come_as_texts_files_or_from_the_environment(file, monkeypatch):
    expected = (PUBLIC, SECRET, SERVER)
    assert found(find_keys(ENDPOINT, SECRET, SERVER)) == expected
    path = file(secret=SECRET, server=SERVER)
    assert found(find_keys(ENDPOINT, path, None)) == expected
    monkeypatch.setenv("TORQUED_KEY", str(path))
    assert found(find_keys(ENDPOINT, None, None)) == expected
    other = zmq.curve_keypair()[0].decode()
    monkeypatch.setenv("TORQUED_SERVER_KEY", other)
    assert found(find_keys(ENDPOINT, None, None)) == (PUBLIC, SECRET, other)
    assert found(find_keys(ENDPOINT, None, SERVER)) == expected


def test_local_sockets_need_no_keys_and_plain_tcp_has_none():
    assert find_keys("ipc:///tmp/a.sock", SECRET, None) is None
    assert find_keys(ENDPOINT, None, None) is None


def test_secret_that_others_may_read_is_refused(file):
    with pytest.raises(TorquedError, match="mode 0640, expected 0600"):
        find_keys(ENDPOINT, file(0o640, secret=SECRET, server=SERVER), None)


@pytest.mark.parametrize(
    "keys, words",
    [
        ({"server": SERVER}, "'secret' is missing"),
        ({"secret": "short", "server": SERVER}, "'secret' is missing or not"),
        ({"secret": SECRET, "server": "short"}, "'server' is missing or not"),
        ({"secret": SECRET}, "public key is not in"),
    ],
)
def test_key_file_that_lacks_something_says_what(file, keys, words):
    with pytest.raises(TorquedError, match=words):
        find_keys(ENDPOINT, file(**keys), None)


@pytest.mark.parametrize("begin", ["", "/", "./", "/a/", "a/b/"])
def test_mistyped_secret_is_not_shown(begin):
    secret = (begin + SECRET)[:39]
    with pytest.raises(TorquedError, match="neither a file nor a key") as caught:
        find_keys(ENDPOINT, secret, SERVER)
    assert secret[5:] not in str(caught.value)


def test_long_path_in_a_folder_that_exists_is_shown(tmp_path):
    path = f"{tmp_path}/".ljust(45, "k")
    with pytest.raises(TorquedError, match=path):
        find_keys(ENDPOINT, path, SERVER)


def test_what_is_no_key_is_named():
    with pytest.raises(TorquedError, match=r"'/no/such\.key' is neither"):
        find_keys(ENDPOINT, "/no/such.key", SERVER)
    with pytest.raises(TorquedError, match=r"\(5000 long\) is neither a file"):
        find_keys(ENDPOINT, "x" * 5000, SERVER)
    with pytest.raises(TorquedError, match="without a client key"):
        find_keys(ENDPOINT, None, SERVER)


@pytest.mark.parametrize("host", ["robot", "127.0.0.1", "[::1]"])
def test_endpoints_over_tcp_are_ports_in_a_row(host):
    request = f"tcp://{host}:5550"
    assert host_and_port(request) == (host, 5550)
    assert control_endpoint(request) == f"tcp://{host}:5551"
    assert telemetry_endpoint(request) == f"tcp://{host}:5552"
    assert reachable("tcp://*:6000", request) == f"tcp://{host}:6000"
    assert reachable("ipc:///a.sock", request) == "ipc:///a.sock"


def test_a_sessions_socket_lies_beside_the_request_socket_whatever_its_folder_is_called():
    """A daemon in a container has the folder under another name than its clients."""
    inside, outside = "ipc:///run/torqued/arm.session-01.sock", "ipc:///home/me/run/arm.sock"
    assert reachable(inside, outside) == "ipc:///home/me/run/arm.session-01.sock"
    assert reachable(inside, "ipc:///run/torqued/arm.sock") == inside


@pytest.mark.parametrize("endpoint", ["tcp://robot", "tcp://:1", "tcp://a:65534", "tcp://::1:5"])
def test_what_is_no_tcp_endpoint_is_refused(endpoint):
    with pytest.raises(TorquedError, match="is not tcp://HOST:PORT"):
        find_keys(endpoint, None, None)
