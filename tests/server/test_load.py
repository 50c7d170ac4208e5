"""A daemon under load from one client: long work, pipelines, many frames; others go on."""

import numpy as np
import pytest
import zmq

from support.daemons import daemon_of
from support.eventually import PATIENCE, eventually
from support.in_thread import InThread
from support.standstill import standing_still
from torqued.client import Client, codec, errors
from torqued.kernels import Contact, Robot
from torqued.server.requests import dispatch

pytestmark = pytest.mark.slow


daemon = daemon_of("chain5")


@pytest.fixture
def dealer(daemon):
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.sndhwm = socket.rcvhwm = 100
        socket.connect(daemon.endpoint)
        yield socket


def codes(socket, count):
    """What became of so many requests, by their ids; and the ids in the order of the replies."""
    found, order = {}, []
    for _ in range(count):
        assert socket.poll(1000 * PATIENCE), f"{len(order)} of {count} replies"
        reply = codec.decode(socket.recv_multipart()[-1])
        order.append(reply["id"])
        found[reply["id"]] = "ok" if reply["ok"] else reply["error"]["code"]
    return found, order


@pytest.mark.parametrize("want", [["g"], ["M", "C", "Gamma"]])
def test_every_one_of_many_requests_in_a_row_gets_a_reply(daemon, dealer, want):
    """None is read before all are sent: what does not fit into queues is refused, not lost."""
    count = 8000
    q, v = np.zeros(5), np.zeros(5)
    fields = {"q": q, "v": v, "want": want}
    with daemon.client() as client:
        unsent = client.stats().unsent
        for k in range(count):
            dealer.send(codec.request(k, "dynamics", fields))
        found, order = codes(dealer, count)
        assert set(found) == set(range(count))
        assert set(found.values()) == {"ok", "busy"}
        assert order == sorted(order)
        assert client.stats().unsent == unsent
        assert client.dynamics(q, v).M.shape == (5, 5)


def test_frames_beside_the_body_are_neither_kept_nor_sent_back(daemon, dealer):
    body = codec.request(7, "hello", {})
    for frames in (
        [b"x" * 100_000] * 50 + [body],
        [b"a", body],
        [b"", b"", body],
        [b"", body, b""],
    ):
        dealer.send_multipart(frames)
        assert dealer.poll(1000 * PATIENCE)
        *route, reply = dealer.recv_multipart()
        assert route in ([], [b""])
        assert codec.decode(reply)["error"]["code"] == "bad_message"
    dealer.send_multipart([b"", body])
    assert codec.decode(dealer.recv_multipart()[1])["ok"]


def test_too_many_contacts_are_refused_before_anything_is_computed(daemon):
    contact = {"frame": "joint_5", "kind": "frame"}
    state = {"q": np.zeros(5), "v": np.zeros(5), "tau": np.zeros(5)}
    with daemon.client() as client:
        with pytest.raises(errors.InputError) as caught:
            client.call("contact_dynamics", **state, contacts=[contact] * 2000)
        assert str(caught.value) == "contacts: 2000 contacts, at most 128 are allowed"
        assert (caught.value.field, caught.value.value) == ("contacts", 2000)


def test_long_work_holds_up_neither_others_nor_the_end(folder, monkeypatch):
    """What is estimated to be long goes to the worker, which here does not get on at all."""
    monkeypatch.setattr(dispatch, "MAX_INLINE", 0.0)
    q = np.zeros(5)
    contact = {"frame": "joint_5", "kind": "point"}
    fields = {"q": q, "v": q, "tau": q, "contacts": [contact]}
    robot = Robot.family("chain", 5)
    with (
        InThread(robot, folder) as threaded,
        Client(threaded.endpoint, timeout=PATIENCE) as client,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as dealer,
    ):
        reply = client.call("contact_dynamics", **fields)
        assert np.array_equal(reply.a, robot.contact_dynamics(q, q, q, [Contact(**contact)]).a)
        worker = client.stats().worker
        assert worker["done"] == 1
        with standing_still(worker["pid"]):
            dealer.linger = 0
            dealer.connect(threaded.endpoint)
            dealer.send(codec.request(1, "contact_dynamics", fields))
            eventually(lambda: client.stats().worker["state"] == "busy")
            assert client.hello().nv == 5
            threaded.stop()
        assert dealer.poll(1000 * PATIENCE)
        assert codec.decode(dealer.recv())["error"]["code"] == "stopping"
