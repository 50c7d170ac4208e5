"""Requests through shared memory, against a real daemon."""

import mmap
import os
import struct

import numpy as np
import pytest
from both_ways import way  # noqa: F401 - a fixture
from daemons import DaemonProcess
from eventually import eventually

from torqued.client import Client, codec, errors
from torqued.client.memory_channel import asked_for
from torqued.client.operations import COMPUTATIONS
from torqued.client.page_layout import STATES, PageLayout
from torqued.client.request_channel import (
    MAX_REPLY,
    MAX_REQUEST,
    SIZE,
    request_channel,
)
from torqued.common.errors import TorquedError
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.page_requests import MAX_PAGES

N = 40  # joints


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o700)
    process = DaemonProcess(folder, "arm", "--robot", f"chain{N}").start()
    yield process
    assert process.stop() == 0


@pytest.fixture
def client(daemon):
    with daemon.client() as client:
        yield client


@pytest.fixture
def in_memory(daemon):
    with Client(daemon.endpoint, timeout=60.0, transport="memory") as client:
        yield client


def states(count, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=N), rng.normal(size=N)) for _ in range(count)]


def test_results_are_those_of_the_socket_to_the_last_bit(client, in_memory):
    for q, v in states(20):
        mine, other = in_memory.dynamics(q, v), client.dynamics(q, v)
        for name in ("M", "C", "g"):
            assert mine[name].tobytes() == other[name].tobytes()
        tau = in_memory.inverse_dynamics(q, v, v)
        assert tau.tobytes() == client.inverse_dynamics(q, v, v).tobytes()


def test_requests_are_counted_wherever_they_come_in(client, in_memory):
    before = client.stats().requests
    for q, v in states(10):
        in_memory.dynamics(q, v, want=("M",))
    assert client.stats().requests >= before + 10


def test_errors_come_through_memory_too(in_memory):
    with pytest.raises(errors.FieldError, match=rf"q: shape \(2,\), expected \({N},\)"):
        in_memory.dynamics(np.zeros(2), np.zeros(N))
    q, v = states(1)[0]
    for _ in range(3):
        in_memory.dynamics(q, v)
    with pytest.raises(errors.FieldError, match="nan"):
        in_memory.dynamics(np.full(N, np.nan), v)
    assert in_memory.dynamics(q, v).M.shape == (N, N)


def test_what_does_not_fit_goes_over_the_socket(client, in_memory):
    q, _ = states(1)[0]
    many = np.ones((N, 250))  # more than a page's requests have
    assert 8 * many.size > MAX_REQUEST
    assert in_memory.solve_mass(q, many).shape == (N, 250)
    for _ in range(2):  # and more than its replies have
        gamma = in_memory.dynamics(q, want=("Gamma",)).Gamma
        assert gamma.nbytes > MAX_REPLY
        assert gamma.tobytes() == client.dynamics(q, want=("Gamma",)).Gamma.tobytes()
    assert in_memory.hello().nv == N


def test_operations_in_memory_change_nothing():
    assert {name for name, row in OPERATIONS.items() if row.is_of_a_state} >= COMPUTATIONS
    assert "control" not in COMPUTATIONS  # may take long


def test_page_ends_with_its_client(daemon, client):
    def count():
        place = f"/proc/{daemon.process.pid}"
        with open(f"{place}/maps") as file:
            return sum("memfd:torqued" in line for line in file), len(os.listdir(f"{place}/task"))

    eventually(lambda: count()[0] == 0)  # those of the tests before
    before = count()
    q, v = states(1)[0]
    with Client(daemon.endpoint, timeout=60.0, transport="memory") as other:
        other.dynamics(q, v)
        assert count()[0] == 1
    eventually(lambda: count() == before)


def test_only_so_many_clients_have_a_page(daemon):
    q, v = states(1)[0]
    clients = [
        Client(daemon.endpoint, timeout=60.0, transport="memory") for _ in range(MAX_PAGES + 1)
    ]
    try:
        for other in clients[:-1]:
            eventually(lambda other=other: asks(other, q, v))
        with pytest.raises(errors.OperationError, match=f"{MAX_PAGES} clients have shared memory"):
            clients[-1].dynamics(q, v)
    finally:
        for other in clients:
            other.close()


def asks(client, q, v):
    """Whether there is a place for its page: those that have just left may still have theirs."""
    try:
        return client.dynamics(q, v) is not None
    except errors.OperationError:
        return False


def test_pages_that_nobody_fetches_make_way(client, in_memory):
    q, v = states(1)[0]
    for _ in range(2 * MAX_PAGES):
        client.call("attach")
    assert in_memory.dynamics(q, v).M.shape == (N, N)


def test_garbage_gets_no_reply_and_harms_nobody(client, in_memory):
    q, v = states(1)[0]
    in_memory.dynamics(q, v)
    attached = client.call("attach")
    layout, rng = PageLayout(**attached.memory), np.random.default_rng(0)
    with asked_for(attached.endpoint, attached.owner.encode()) as asked:
        page = mmap.mmap(asked.descriptor, layout.page_bytes)
        for k in range(1, 100):
            page[256:] = rng.bytes(layout.page_bytes - 256)
            page[STATES : STATES + 4] = rng.bytes(4)
            if k % 10 == 0:  # a lock that fits, and a size that does not
                slot = layout.states + k % layout.slots * layout.state_slot
                page[slot : slot + 16] = struct.pack("<QQ", 2 * k, 2**63)
                page[STATES : STATES + 4] = struct.pack("<I", k)
            assert in_memory.dynamics(q, v).M.shape == (N, N)
        page.close()


def test_message_that_is_none_is_refused(client):
    attached = client.call("attach")
    channel = request_channel(attached.endpoint, attached.as_dict())
    for body in (b"", b"\xc1", b"\x80", bytes(1000)):
        channel.ask(body)
        reply = codec.decode_reply(channel.receive(60.0))
        assert reply["error"]["code"] in ("bad_message", "wrong_version")
    channel.close()


def test_robot_that_is_loaded_anew_answers_in_memory(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    settings = tmp_path / "robot.toml"
    settings.write_text('[robot]\nfamily = "chain"\ndofs = 4\n')
    process = DaemonProcess(folder, "arm", "--config", str(settings)).start()
    try:
        with Client(process.endpoint, timeout=60.0, transport="memory") as client:
            for _ in range(3):
                assert client.dynamics(np.zeros(4), np.zeros(4)).M.shape == (4, 4)
            settings.write_text('[robot]\nfamily = "chain"\ndofs = 5\n')
            client.reload()
            for _ in range(3):
                assert client.dynamics(np.zeros(5), np.zeros(5)).M.shape == (5, 5)
            with pytest.raises(errors.FieldError):
                client.dynamics(np.zeros(4), np.zeros(4))
            process.stop()
            process.start()
            assert client.dynamics(np.zeros(5), np.zeros(5)).M.shape == (5, 5)
    finally:
        assert process.stop() == 0


def test_sizes_of_a_page_hold_what_they_say():
    layout = PageLayout.of(SIZE + MAX_REQUEST, SIZE + MAX_REPLY)
    assert layout.state_slot >= 16 + MAX_REQUEST
    assert layout.output_slot >= 16 + MAX_REPLY


def test_wrong_transport_is_refused_at_once():
    with pytest.raises(ValueError, match="'pigeon', expected 'socket' or 'memory'"):
        Client("arm", transport="pigeon")
    with pytest.raises(TorquedError, match="for a daemon on this machine"):
        Client("tcp://127.0.0.1:5555", transport="memory")
