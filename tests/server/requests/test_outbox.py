"""Replies that a client does not take: kept in order, bounded, and never waited for."""

import pytest
import zmq

from support.eventually import eventually
from torqued.server.requests import outbox as module
from torqued.server.requests.outbox import LARGE, Outbox

QUEUE = 5


class Pair:
    """A ROUTER socket with an outbox, and a client that takes what it wants."""

    def __init__(self, context):
        self.server, self.client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        self.server.router_mandatory = True
        self.server.sndhwm = self.client.rcvhwm = QUEUE
        self.server.bind("inproc://replies")
        self.client.connect("inproc://replies")
        self.client.send(b"")
        self.route = [self.server.recv_multipart()[0]]
        self.outbox = Outbox(self.server)

    def send(self, *replies):
        for reply in replies:
            self.outbox.send(self.route, reply)

    def received(self, count):
        """So many replies; the outbox is flushed as a daemon does now and then."""
        return [eventually(self._one, pause=0.0)[0] for _ in range(count)]

    def _one(self):
        if self.client.poll(1):
            return self.client.recv_multipart()
        self.outbox.flush()
        return None


@pytest.fixture
def pair():
    with zmq.Context() as context:
        pair = Pair(context)
        yield pair
        pair.client.close(linger=0)
        pair.server.close(linger=0)


def test_what_does_not_fit_is_kept_and_comes_in_order(pair):
    sent = [b"%d" % k for k in range(100)]
    pair.send(*sent)
    assert pair.outbox.is_waiting
    assert pair.outbox.is_full(pair.route[0])
    assert pair.received(100) == sent
    pair.outbox.flush()
    assert not pair.outbox.is_waiting
    assert not pair.outbox.is_full(pair.route[0])
    assert pair.outbox.unsent == 0


def test_a_later_reply_does_not_overtake_those_that_are_kept(pair):
    pair.send(*(b"%d" % k for k in range(50)))
    first = pair.received(3)
    pair.send(b"last")
    assert first + pair.received(48) == [*(b"%d" % k for k in range(50)), b"last"]


@pytest.mark.parametrize("name, most", [("MAX_KEPT", 7), ("MAX_BYTES_KEPT", 7)])
def test_no_more_is_kept_than_allowed_and_the_rest_is_counted(pair, monkeypatch, name, most):
    monkeypatch.setattr(module, name, most)
    pair.send(*[b"x"] * 100)
    taken = len(pair.received(100 - pair.outbox.unsent))
    assert QUEUE < taken <= 2 * QUEUE + most
    assert taken + pair.outbox.unsent == 100


def test_large_replies_that_have_not_left_make_a_connection_full(pair, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES_UNDER_WAY", 2 * LARGE)
    reply = bytes(LARGE)
    pair.send(reply)
    assert not pair.outbox.is_full(pair.route[0])
    pair.send(reply, reply)
    assert pair.outbox.is_full(pair.route[0])
    assert pair.received(3) == [reply] * 3
    # pyzmq has a thread that tells what has left
    eventually(lambda: not pair.outbox.is_full(pair.route[0]) and not pair.outbox._under_way)


def test_replies_to_a_client_that_is_gone_are_given_up(pair):
    pair.outbox.send([b"nobody"], b"x")
    assert pair.outbox.unsent == 1
    assert not pair.outbox.is_waiting


def test_kept_replies_of_a_client_that_went_are_given_up(pair):
    pair.send(*[b"x"] * 50)
    pair.client.close(linger=0)

    def is_given_up():
        assert not pair.server.poll(1)  # as an event loop does
        pair.outbox.flush()
        return not pair.outbox.is_waiting

    eventually(is_given_up, pause=0.0)
    assert pair.outbox.unsent > 0
