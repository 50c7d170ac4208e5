"""A daemon that stops waits a while for clients that read late."""

import signal
import struct
import sys
import time

import numpy as np
import pytest
import zmq

from support.eventually import eventually
from torqued.client import TimeoutError, codec
from torqued.client.codec import MAX_MESSAGE
from torqued.client.sessions.frames import PAYLOAD
from torqued.common.status import FALLBACK, LAST

pytestmark = pytest.mark.slow

NV = 100
#: Replies of 8 MB each: more than fits between the two processes when the client does not read.
REPLIES = 4
#: Milliseconds: the daemon's own linger would be over before a busy machine comes to reading.
LINGER = 60_000


@pytest.fixture
def daemon(another):
    process = another("--robot", f"chain{NV}")
    patient = (
        f"import sys, torqued.server.daemon as daemon; daemon.LINGER = {LINGER}; "
        "from torqued.tools.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    module = process.command.index("torqued.tools.cli.main")
    process.command = [sys.executable, "-c", patient, *process.command[module + 1 :]]
    return process.start()


def test_late_reader_gets_its_last_frame_and_the_replies_under_way(daemon):
    q, v = np.full(NV, 0.1), np.zeros(NV)
    with daemon.client() as client, zmq.Context() as context, context.socket(zmq.DEALER) as late:
        session = client.session("gravity")
        assert session.step(q, v).tau.any()
        late.linger = 0
        late.rcvhwm = 1
        late.maxmsgsize = MAX_MESSAGE
        late.connect(daemon.endpoint)
        before = client.stats().requests
        for k in range(REPLIES):
            late.send(codec.request(k, "dynamics", {"q": q, "want": ["Gamma"]}))
        eventually(lambda: client.stats().requests >= before + REPLIES)
        # The worker computes what takes long.
        eventually(lambda: client.stats().worker["done"] >= REPLIES)
        client.hello()  # answered after them, so they have been sent
        daemon.signal(signal.SIGTERM)
        with daemon.client() as other:
            other.timeout, other.retries = 0.1, 0
            with pytest.raises(TimeoutError):
                for _ in range(10_000):
                    other.ping()
        time.sleep(0.5)  # late
        assert daemon.process.poll() is None  # it waits for the one who has not read

        while (output := session.receive()).status_names != ["FALLBACK", "LAST"]:
            assert output.sequence <= 1
        assert not output.tau.any()
        assert session.receive(0.1) is output  # that was the last
        left = set(range(REPLIES))  # the worker answers in any order
        while left:
            assert late.poll(LINGER)
            reply = codec.decode(late.recv())
            assert reply["ok"] and reply["Gamma"].shape == (NV, NV, NV)
            left.remove(reply["id"])
        assert daemon.wait() == 0
        client.timeout = 0.1
    assert daemon.files() == []


def test_reader_whose_queue_is_full_gets_the_last_frame(daemon):
    """One that queues and does not read: frames are dropped until the daemon stops."""
    with daemon.client() as client, zmq.Context() as context, context.socket(zmq.DEALER) as lazy:
        opened = client.call("open", law="stream", want=["M"])
        lazy.linger = 0
        lazy.rcvhwm = 1
        lazy.routing_id = opened.owner.encode()
        lazy.connect(opened.endpoint)

        def is_full():
            (found,) = client.call("sessions", client.control_endpoint).sessions
            return found["outputs"] > 0 and found["dropped"] > 100

        eventually(is_full)
        daemon.signal(signal.SIGTERM)
        status = 0
        for _ in range(10_000):
            assert lazy.poll(LINGER)
            (status,) = struct.unpack_from("<Q", lazy.recv(), PAYLOAD + 24)
            if status & LAST:
                break
        assert status == FALLBACK | LAST
        lazy.close()
        assert daemon.wait() == 0
        client.timeout = 0.1
