"""Requests of batches by a pipe, written by hand: right ones and others."""

import contextlib
import itertools
import os
import select
from pathlib import Path

import numpy as np
import pytest
from daemons import free_port
from direct_asking import ByHand, fill, gravity, made_direct
from eventually import PATIENCE, eventually

from torqued.client import Client, codec, errors
from torqued.client.direct_batches import REQUEST
from torqued.client.shared_memory import FOLDER
from torqued.client.shared_states import StatesFile
from torqued.server.access.keys import KeyFolder
from torqued.server.worker.direct_requests import MAX_GIVEN_BACK

pytestmark = pytest.mark.slow


@pytest.fixture
def by_hand(daemon, states):
    client = ByHand(daemon, states[0])
    client.number = client.ask(codec.FIRST_ID)["direct"]
    client.file.requests.learn(b"", client.number)  # which closes the other end here
    assert not client.is_let_go()
    yield client
    client.close()


def test_request_is_a_number_and_an_id(by_hand):
    for identity in (0, codec.FIRST_ID + 2, 2**32 - 1):
        by_hand.file.write_late({"q": by_hand.q}, identity)
        reply = codec.decode_reply(by_hand.ask_directly(REQUEST.pack(by_hand.number, identity)))
        assert reply["ok"] and reply["id"] == identity and reply["direct"] == by_hand.number


@pytest.mark.parametrize("identity", [0, 5, 300, 70000, 2**32 - 1, 2**40, "text"])
def test_number_comes_whatever_the_id_of_the_request(daemon, states, identity):
    """Of which replies to direct requests bring back their own."""
    client = ByHand(daemon, states[0], mark=isinstance(identity, int))
    number = client.ask(identity)["direct"]
    client.file.write_late({"q": client.q}, 77)
    reply = codec.decode_reply(client.ask_directly(REQUEST.pack(number, 77)))
    assert (reply["id"], reply["direct"]) == (77, number)
    client.close()


def test_new_numbers_come_whichever_way_a_client_is_connected(daemon, states):
    """Other lanes cannot read its requests, so its batches go to the one that does."""
    q, _ = states
    client = ByHand(daemon, q)
    identities = itertools.count(70000)
    client.ask(next(identities))
    for _ in range(12):
        with daemon.client() as other:  # takes a lane, and leaves it
            gravity(other, q)
        client.reconnect()
        # None where the daemon has not heard yet that the lane is free again.
        number = eventually(lambda: client.ask(next(identities)).get("direct"))
        identity = next(identities)
        client.file.write_late({"q": q}, identity)
        assert codec.decode_reply(client.ask_directly(REQUEST.pack(number, identity)))["ok"]
    client.close()


@pytest.mark.parametrize(
    "number, identity",
    [(0, 70000), (2**64 - 1, 70000), (None, 2**32), (None, 2**64 - 1)],
    ids=["no such batch", "largest", "long id", "longest id"],
)
def test_what_is_not_known_is_given_back(by_hand, number, identity):
    request = REQUEST.pack(by_hand.number if number is None else number, identity)
    by_hand.file.write_late({"q": by_hand.q}, identity)
    assert by_hand.ask_directly(request) == request
    assert by_hand.ask(80000)["ok"]  # and the daemon can be asked


def test_numbers_that_do_not_come_are_not_waited_for(by_hand):
    request = REQUEST.pack(by_hand.number, 90000)
    assert by_hand.ask_directly(request) == request


def test_client_that_goes_on_with_what_is_not_known_is_let_go(by_hand):
    for _ in range(MAX_GIVEN_BACK):
        os.write(by_hand.file.requests._writer, REQUEST.pack(0, 70000))
    eventually(by_hand.is_let_go)


def test_worker_does_not_read_its_own_replies(daemon, states):
    file = StatesFile()
    arrays = {"q": states[0]}
    told = {**file.direct(file.place(arrays)), "request": file.replies}
    with daemon.client() as client, pytest.raises(errors.FieldError, match="are one pipe"):
        client.call("batch", operation="dynamics", want=["g"], states=told)


def test_pipes_that_are_crossed_come_to_an_end(daemon, states):
    """Each of two clients has the replies of the other for its requests."""
    one, other = ByHand(daemon, states[0]), ByHand(daemon, states[0])
    for client, from_whom in ((one, other), (other, one)):
        file = client.file
        os.dup2(from_whom.file.replies, file.requests._reader)
        told = file.direct(file.place({"q": client.q}))
        file.write_late({"q": client.q}, 70000)
        fields = {"operation": "dynamics", "want": ["g"], "memory": True, "states": told}
        client.socket.send(codec.request(70000, "batch", fields))
    with daemon.client() as client:
        pid = client.stats().worker["pid"]
        eventually(lambda: not processor_time_grows(pid))
        made_direct(client, states[0])
    one.close()
    other.close()


def processor_time_grows(pid):
    def ticks():
        with open(f"/proc/{pid}/stat") as stat:
            return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))

    before = ticks()
    select.select([], [], [], 0.3)
    return ticks() > before + 3


@pytest.mark.parametrize("size", [1, 15, 17, 4096])
def test_junk_harms_nobody_else(daemon, by_hand, robot, states, size):
    q, _ = states
    rng = np.random.default_rng(size)
    with daemon.client() as client:
        made_direct(client, q)
        deaths = client.stats().worker["deaths"]
        for _ in range(20):
            with contextlib.suppress(OSError):
                os.write(by_hand.file.requests._writer, rng.bytes(size))
            assert np.array_equal(gravity(client, q), robot.batch().gravity(q))
        assert client.stats().worker["deaths"] == deaths


def test_piece_of_a_request_ends_the_pipe(by_hand):
    os.write(by_hand.file.requests._writer, b"short")
    eventually(by_hand.is_let_go)


def test_client_that_does_not_read_replies_is_let_go(by_hand):
    fill(by_hand.file._reply)
    os.write(by_hand.file.requests._writer, REQUEST.pack(0, 70000))
    eventually(by_hand.is_let_go)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"request": 0}, "is another file"),
        ({"request": "x"}, "request: 'x', expected a whole number"),
        ({"request": 10**6}, "No such file"),
    ],
)
def test_pipe_that_is_none_is_refused(daemon, states, change, words):
    file = StatesFile()
    arrays = {"q": states[0]}
    told = {**file.place(arrays), **change}
    file.write(arrays)
    with daemon.client() as client, pytest.raises(errors.FieldError, match=words) as caught:
        client.call("batch", operation="dynamics", want=["g"], states=told)
    assert caught.value.field == "states"


def test_keys_that_may_be_revoked_are_looked_at_with_each_batch(make, tmp_path, states):
    """Over TCP all requests go through the daemon, even those of a client on the same machine."""
    keys = KeyFolder(tmp_path / "keys")
    keys.new("reader", "read")
    listen = f"tcp://127.0.0.1:{free_port()}"
    daemon = make("--robot", "chain20", "--listen", listen, TORQUED_KEYS=str(keys.folder))
    with (
        daemon.client() as local,
        Client(listen, timeout=PATIENCE, key=keys.folder / "reader.key") as remote,
    ):
        for client, is_direct in ((local, True), (remote, False)):
            file, arrays = StatesFile(), {"q": states[0]}
            told = {**file.direct(file.place(arrays)), "mark": None}
            file.write(arrays)
            fill(file._reply)  # so that replies come through the socket
            memory = True
            for _ in range(3):
                reply = client.call(
                    "batch", operation="dynamics", want=["g"], memory=memory, states=told
                ).as_dict()
                memory = reply["memory"]["file"]
            assert ("direct" in reply) == is_direct


def test_results_that_nobody_fetched_are_gone_with_the_daemon(make, states):
    daemon = make("--robot", "chain20")
    client = ByHand(daemon, states[0])
    client.ask(70000)
    path = Path(FOLDER, client.memory)
    assert path.exists()
    client.close()
    daemon.stop()
    eventually(lambda: not path.exists())
