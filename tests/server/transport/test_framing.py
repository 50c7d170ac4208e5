"""Messages of very many frames: dropped in steps, so that others have their turn."""

from types import SimpleNamespace

import numpy as np
import pytest
import zmq

from torqued.server.requests import fast_path_loop
from torqued.server.transport import framing
from torqued.server.transport.framing import MAX_AT_ONCE

PATIENCE = 60_000


@pytest.fixture
def pair():
    with (
        zmq.Context() as context,
        context.socket(zmq.ROUTER) as router,
        context.socket(zmq.DEALER) as dealer,
    ):
        router.linger = dealer.linger = 0
        router.bind("inproc://requests")
        dealer.connect("inproc://requests")
        yield router, dealer


def received(router):
    assert router.poll(PATIENCE)  # also in the middle of a message
    return framing.receive(router)


def test_rest_of_a_message_is_dropped_in_steps(pair):
    router, dealer = pair
    dealer.send_multipart([b"x"] * (2 + 3 * MAX_AT_ONCE))
    dealer.send(b"next")
    first = received(router)
    assert first is not None
    assert (len(first.route), first.data) == (1, None)
    assert [received(router) for _ in range(3)] == [None] * 3
    message = received(router)
    assert message is not None
    assert message.data == b"next"


def test_compiled_code_drops_it_in_steps_too(monkeypatch):
    desk = SimpleNamespace(socket=None)
    arrays = SimpleNamespace(route=np.zeros(8, np.uint8), data=np.zeros(8, np.uint8))
    left = [2 * MAX_AT_ONCE + 10]

    def receive(*_):
        left[0] -= 1
        return 1

    monkeypatch.setattr(fast_path_loop, "receive", receive)
    monkeypatch.setattr(fast_path_loop, "goes_on", lambda *_: left[0] > 2)
    take = fast_path_loop.take_message.py_func
    assert [take(desk, arrays) for _ in range(3)] == [False, False, True]
    assert left == [0]
