"""The client beside daemons that misbehave: silent, late, of another version."""

import asyncio
import sys
import threading
import time

import numpy as np
import pytest

from support.eventually import PATIENCE, eventually
from support.puppet import Puppet, good
from torqued.client import (
    AsyncClient,
    Client,
    FieldError,
    TimeoutError,
    TorquedError,
    VersionError,
)
from torqued.client.base_client import program_name
from torqued.client.endpoints import request_endpoint


@pytest.fixture
def puppet(tmp_path):
    """Makes a puppet and a client of it; both are closed afterwards."""
    made = []

    def make(answer, timeout=0.1, retries=2):
        daemon = Puppet(tmp_path, answer)
        client = Client(daemon.endpoint, timeout, retries)
        made.extend([client, daemon])
        return daemon, client

    yield make
    for item in made:
        item.close()


def test_silence_ends_in_a_timeout_after_all_retries(puppet):
    daemon, client = puppet(lambda message: [], timeout=0.3)
    connect, connected = client._new_socket, []

    def counted(context, endpoint):
        connected.append(endpoint)
        return connect(context, endpoint)

    client._new_socket = counted
    with pytest.raises(TimeoutError, match=r"hello: no reply from .* 3 times"):
        client.hello()
    assert connected == [daemon.endpoint] * 3
    eventually(lambda: daemon.operations)
    # A busy machine may not have connected by the time that the client gives up waiting.
    assert set(daemon.operations) == {"hello"} and len(daemon.operations) <= 3


@pytest.mark.parametrize("operation", ["open", "close", "batch", "reload"])
def test_what_must_not_happen_twice_is_never_sent_twice(puppet, operation):
    daemon, client = puppet(lambda message: [])
    client.timeout = PATIENCE  # of the ping before long work
    with pytest.raises(TimeoutError, match=f"{operation}: no reply"):
        client.call(operation, client.endpoint, 0.3)
    assert daemon.operations in ([operation], [])  # none where the machine was too busy


def test_long_work_is_waited_for_longer_than_other_requests(puppet):
    def answer(message):
        time.sleep(0.3)
        return [good(message, n=len(message["q"]))]

    daemon, client = puppet(answer, timeout=0.1, retries=100)
    assert client.batch("dynamics", q=[[0.0], [1.0]]).n == 2
    with pytest.raises(TimeoutError):
        client.batch("dynamics", q=[[0.0]], timeout=0.05)
    assert daemon.operations.count("batch") <= 2  # neither was repeated


@pytest.mark.parametrize("operation", ["open", "tune"])
def test_orders_that_check_gains_at_all_poses_are_waited_for_longer(puppet, operation):
    def answer(message):
        time.sleep(0.3)
        return [good(message)]

    _, client = puppet(answer, timeout=0.1, retries=100)
    client.ping()
    assert client.call(operation, gains={}).as_dict() == {}


@pytest.mark.parametrize("operation", ["batch", "reload"])
def test_long_work_is_not_waited_for_where_nobody_is(tmp_path, operation):
    with (
        Client(request_endpoint("nobody", tmp_path)) as client,
        pytest.raises(TimeoutError, match=f"{operation}: ping: no daemon at .*: none"),
    ):
        client.call(operation)


#: s that no test waits: what would, hangs.
FOR_EVER = 1e5


@pytest.mark.parametrize("leaves_files", [False, True])
def test_dead_daemon_is_noticed_while_a_request_waits(tmp_path, leaves_files):
    endpoint = request_endpoint("puppet", tmp_path)
    Puppet(tmp_path, lambda message: []).close()
    if not leaves_files:
        for file in tmp_path.glob("*.sock"):
            file.unlink()
    with (
        Client(endpoint, FOR_EVER) as client,
        pytest.raises(TimeoutError, match=r"hello: no daemon at .*daemons in"),
    ):
        client.hello()

    async def ask():
        async with AsyncClient(endpoint, FOR_EVER) as client:
            await client.hello()

    with pytest.raises(TimeoutError, match="hello: no daemon at"):
        asyncio.run(ask())


def test_daemon_that_ends_during_a_request_is_noticed(tmp_path):
    """However long the request may take."""
    daemon = Puppet(tmp_path, lambda message: [])
    with Client(daemon.endpoint, FOR_EVER) as client:
        ending = threading.Thread(
            target=lambda: (eventually(lambda: daemon.operations), daemon.close())
        )
        ending.start()
        with pytest.raises(TimeoutError, match="hello: no daemon at"):
            client.hello()
        ending.join()


def wait_ready(kind, endpoint, timeout):
    """`wait_ready` of a client of that kind."""
    if kind is Client:
        with Client(endpoint, 0.1) as client:
            client.wait_ready(timeout)
        return

    async def main():
        async with AsyncClient(endpoint, 0.1) as client:
            await client.wait_ready(timeout)

    asyncio.run(main())


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_wait_ready_waits_while_kernels_are_compiled(puppet, kind):
    daemon, _ = puppet(lambda message: [])
    daemon.compiling = 2
    wait_ready(kind, daemon.endpoint, PATIENCE)
    assert daemon.compiling < 0  # it was asked until it was ready


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_wait_ready_waits_for_a_daemon_that_starts_later(tmp_path, kind):
    started = []
    starting = threading.Timer(0.3, lambda: started.append(Puppet(tmp_path, lambda message: [])))
    starting.start()
    try:
        wait_ready(kind, request_endpoint("puppet", tmp_path), PATIENCE)
        assert started
    finally:
        starting.join()
        started[0].close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_wait_ready_says_what_it_waited_for(puppet, tmp_path, kind):
    with pytest.raises(TimeoutError, match=r"not ready within 0\.2 s: ping: no daemon"):
        wait_ready(kind, request_endpoint("nobody", tmp_path), 0.2)
    daemon, _ = puppet(lambda message: [])
    daemon.compiling = 10**9
    with pytest.raises(TimeoutError, match=r"not ready within 2 s: (3 of 40 kernels|ping: no)"):
        wait_ready(kind, daemon.endpoint, 2.0)


def test_bare_name_is_the_daemon_of_that_name(tmp_path, monkeypatch):
    monkeypatch.setenv("TORQUED_FOLDER", str(tmp_path))
    with Client("left-arm_2") as client:
        assert client.endpoint == f"ipc://{tmp_path}/left-arm_2.sock"


@pytest.mark.parametrize(
    "daemon", ["", "my robot", "panda.sock", "http://x", "/run/panda.sock", "tcp://x", "ipc:/x"]
)
def test_what_is_neither_a_name_nor_an_endpoint_is_refused(tmp_path, monkeypatch, daemon):
    monkeypatch.setenv("TORQUED_FOLDER", str(tmp_path))
    with pytest.raises(TorquedError, match="tcp://HOST:PORT"):
        Client(daemon)


def test_path_that_no_socket_can_have_is_named(tmp_path):
    endpoint = f"ipc:///{'x' * 200}.sock"
    with Client(endpoint) as client, pytest.raises(TorquedError, match="cannot connect to 'ipc:"):
        client.hello()


def test_closed_client_says_so(puppet):
    _, client = puppet(lambda message: [good(message)], timeout=PATIENCE)
    client.hello()
    telemetry = client.telemetry()
    telemetry.close()
    for use in (telemetry.latest, telemetry.receive):
        with pytest.raises(TorquedError, match="subscription is closed"):
            use()
    client.close()
    for use in (client.hello, client.ping, client.telemetry, client.session, client.reload):
        with pytest.raises(TorquedError, match=r"the client of .* is closed"):
            use()
    client.close()


def test_client_works_on_after_a_timeout(puppet):
    silent = [True]

    def answer(message):
        return [] if silent[0] else [good(message, name="r")]

    _, client = puppet(answer, timeout=1.0, retries=0)
    client.timeout = 0.05
    with pytest.raises(TimeoutError):
        client.hello()
    silent[0], client.timeout = False, PATIENCE
    assert client.hello().name == "r"


def test_reply_to_another_request_is_passed_over(puppet):
    def answer(message):
        return [good({"id": message["id"] - 1}, n=1), good({"id": "x"}, n=2), good(message, n=3)]

    _, client = puppet(answer, timeout=PATIENCE)
    assert client.hello().n == 3


def test_each_call_has_its_own_numbers_and_its_results_stay(puppet):
    daemon, client = puppet(
        lambda message: [good(message, M=np.outer(message["q"], message["v"]), g=message["q"])],
        timeout=PATIENCE,
    )
    rng, kept = np.random.default_rng(0), []
    for _ in range(10):
        q, v = rng.normal(size=5), rng.normal(size=5)
        found = client.dynamics(q, v, want=("M", "g"))
        assert list(found.as_dict()) == ["M", "g"] and not found.M.flags.writeable
        kept.append((q.copy(), v.copy(), found))
        q[:] = v[:] = 0.0
    for q, v, found in kept:
        assert np.array_equal(found.M, np.outer(q, v)) and np.array_equal(found.g, q)
    ids = [message["id"] for message in daemon.received]
    assert ids == sorted(set(ids)) and len(ids) == 10
    assert list(daemon.received[-1]) == [
        *("protocol", "id", "op", "q", "v", "want", "representation")
    ]


def test_error_between_replies_is_raised(puppet):
    faulty = [False]

    def answer(message):
        error = {"code": "bad_field", "message": "not today", "field": "q"}
        refused = {"protocol": 1, "id": message["id"], "ok": False, "error": error}
        return [refused if faulty[0] else good(message, g=message["q"])]

    _, client = puppet(answer, timeout=PATIENCE)
    for k in range(4):
        faulty[0] = bool(k % 2)
        if faulty[0]:
            with pytest.raises(FieldError, match="not today"):
                client.dynamics(np.ones(2))
        else:
            assert client.dynamics(np.ones(2)).g.tolist() == [1.0, 1.0]


def test_daemon_of_another_version_is_named(puppet):
    def answer(message):
        return [{"protocol": 9, "id": message["id"], "ok": True}]

    _, client = puppet(answer, timeout=PATIENCE)
    with pytest.raises(VersionError, match="speaks protocol version 9, this client 1"):
        client.hello()


def test_session_that_cannot_be_built_is_closed_again(puppet):
    def answer(message):
        fields = {"hello": {"nq": 1, "nv": 1}, "open": {"session": 5}}.get(message["op"], {})
        return [good(message, **fields)]

    daemon, client = puppet(answer, timeout=PATIENCE)
    with pytest.raises(KeyError):  # the reply to `open` lacks what a session needs
        client.session("gravity")
    assert daemon.operations == ["hello", "open", "close"]
    assert daemon.received[-1]["session"] == 5


def test_closing_the_client_closes_its_sessions(puppet, tmp_path):
    opened = {
        "session": 5,
        "endpoint": request_endpoint("nobody", tmp_path),
        "owner": "torqued-me",
        "law": "gravity",
        "gains": {},
        "state_bytes": 48,
        "output_bytes": 88,
        "state": [
            {"name": "q", "shape": [1], "offset": 32},
            {"name": "v", "shape": [1], "offset": 40},
        ],
        "references": [],
        "outputs": [{"name": "tau", "shape": [1], "offset": 80}],
        "period": 0.001,
        "stale_after": 0.003,
        "hold": 0.02,
    }

    def answer(message):
        fields = {"hello": {"nq": 1, "nv": 1}, "open": opened}.get(message["op"], {})
        return [good(message, **fields)]

    daemon, client = puppet(answer, timeout=PATIENCE)
    session = client.session("gravity")
    with pytest.raises(ValueError, match=r"q has shape \(2,\), expected \(1,\)"):
        session.send([0.0, 1.0], [0.0])
    with pytest.raises(ValueError, match="could not convert string to float: 'x'"):
        session.send([0.0], [0.0], at="x")
    assert session.send([0.0], [0.0]) == 1
    assert session.latest() is None
    with pytest.raises(TimeoutError):
        session.receive(0.01)
    client.close()
    assert session.closed
    assert daemon.operations == ["hello", "open", "close"]


def test_results_are_attributes(puppet):
    _, client = puppet(lambda message: [good(message, M=np.eye(2))], timeout=PATIENCE)
    r = client.dynamics([0.0])
    assert np.array_equal(r.M, np.eye(2))
    assert "M" in r
    assert (r["M"] == r.as_dict()["M"]).all()
    with pytest.raises(AttributeError, match="no 'C' in this result, which has M"):
        _ = r.C
    with pytest.raises(AttributeError, match="'M' cannot be set"):
        r.M = 0.0
    assert repr(r) == "Dynamics(M=[[1. 0.] [0. 1.]])"


@pytest.mark.parametrize(
    "started, name",
    [
        ("arm/driver.py", "driver"),
        ("arm/__main__.py", "arm"),
        ("my arm.py", "my_arm"),
        *((nameless, "python") for nameless in ("", "-", "-c")),
    ],
)
def test_client_is_named_after_its_program(monkeypatch, started, name):
    monkeypatch.setattr(sys, "argv", [started])
    assert program_name() == name
