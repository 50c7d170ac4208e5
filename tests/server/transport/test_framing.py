"""Messages of very many frames: dropped in steps, so that others have their turn."""

import pytest
import zmq

from support.eventually import PATIENCE
from torqued.server.transport.framing import MAX_AT_ONCE, Inbox


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


def received(router, inbox):
    assert router.poll(1000 * PATIENCE)  # also in the middle of a message
    return inbox.receive()


def test_rest_of_a_message_is_dropped_in_steps(pair):
    router, dealer = pair
    inbox = Inbox(router)
    dealer.send_multipart([b"x"] * (3 + 3 * MAX_AT_ONCE))
    dealer.send(b"next")
    first = received(router, inbox)
    assert first is not None
    assert (len(first.route), first.data) == (1, None)
    assert [received(router, inbox) for _ in range(3)] == [None] * 3
    message = received(router, inbox)
    assert message is not None
    assert message.data == b"next"


@pytest.mark.parametrize(
    "frames, delimiters, data",
    [
        ([b"a"], [], b"a"),
        ([b"", b"a"], [b""], b"a"),
        ([b"", b"a", b"b"], [b""], None),
        ([b"a", b"b"], [], None),
        ([b"", b""], [b""], b""),
        ([b"x" * 100] * 50, [], None),
    ],
)
def test_message_has_one_frame_or_an_empty_one_before_it(pair, frames, delimiters, data):
    router, dealer = pair
    inbox = Inbox(router)
    dealer.send_multipart(frames)
    message = received(router, inbox)
    assert (message.route[1:], message.data) == (delimiters, data)
    assert inbox.receive() is None
    dealer.send(b"next")
    assert received(router, inbox).data == b"next"
