"""The same over real sockets, with a loop: a bounded run for every operation."""

import random

import pytest
import zmq

from support.eventually import PATIENCE
from support.fuzzing import check, fields_for, good_fields, packed
from support.in_thread import InThread
from torqued.client import Client, codec
from torqued.client.requests.operation_table import REQUEST
from torqued.kernels import Robot
from torqued.server.requests.operations import OPERATIONS

pytestmark = pytest.mark.slow

COUNT = 60


@pytest.fixture(scope="module")
def threaded(folder):
    """A biped: it has a base and branches. test_fuzz.py asks a chain as well."""
    with InThread(Robot.family("biped", 12), folder) as threaded:
        yield threaded


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in ("shutdown",)])
def test_wrong_requests_are_refused_and_the_daemon_goes_on(threaded, name):
    rng = random.Random(name)
    robot = threaded.daemon.robot
    good = good_fields(robot)
    with (
        Client(threaded.endpoint, timeout=PATIENCE) as client,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as dealer,
    ):
        dealer.linger = 0
        on_requests = OPERATIONS[name].socket == REQUEST
        dealer.connect(threaded.endpoint if on_requests else client.control_endpoint)
        with client.session("gravity") as session:
            good["session"] = [session.number, 1]
            for k in range(COUNT):
                fields = fields_for(rng, robot, name, good)
                dealer.send(packed({"protocol": 1, "id": k, "op": name, **fields}))
                assert dealer.poll(1000 * PATIENCE)
                reply = codec.decode(dealer.recv())
                unreadable = not reply["ok"] and reply["error"]["code"] == "bad_message"
                assert reply["id"] == (None if unreadable else k)
                check(reply)
                if reply["ok"] and name == "open":
                    client.call("close", session=reply["session"])
        assert client.ping().ready
