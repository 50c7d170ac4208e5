"""A lane for batches that come directly, without its process."""

import socket

import pytest

from torqued.client.direct_batches import REQUEST
from torqued.server.access.rate_limits import RequestRate
from torqued.server.worker.channel import Channel, pair
from torqued.server.worker.direct_requests import MAX_GIVEN_BACK, Numbered
from torqued.server.worker.direct_serving import DirectLanes, DirectServing


class Memory:
    """Of a client, with pipes that a test sees into."""

    def __init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.requests, self.process, self.name = self.theirs.fileno(), 1, "memory"
        self.size, self.reader, self.is_left, self.replies = 0, None, False, []

    def request(self):
        return self.theirs.recv(REQUEST.size)

    def takes(self, reply):
        self.replies.append(reply)
        return True

    def close_requests(self):
        self.theirs.close()
        self.requests = -1


class Results:
    name, size = "results", 0


@pytest.fixture
def lane():
    ours, theirs = pair()
    with ours, theirs:
        yield DirectServing(Channel(theirs), RequestRate(1e6))


@pytest.fixture
def memory():
    found = Memory()
    with found.ours, found.theirs:
        yield found


def turn(lane):
    """What the lane does when it is woken."""
    clients = lane.requests.wait(0.0)
    for batch in lane.requests.numbered():
        lane._remember(batch)
    for client in clients:
        lane._answer(client)


def test_requests_before_there_is_a_robot_are_given_back(lane, memory):
    """Other lanes may be faster to start, and give numbers."""
    lane.requests.leave(Numbered(5, memory, {"op": "batch", "states": {}}, Results))
    turn(lane)
    request = REQUEST.pack(5, 70000)
    memory.ours.send(request)
    turn(lane)
    assert memory.replies == [request]


def test_client_whose_requests_make_no_sense_is_let_go_with_its_batches(lane, memory):
    lane.requests.leave(Numbered(5, memory, {"op": "batch", "states": {}}, Results))
    turn(lane)
    for _ in range(MAX_GIVEN_BACK):
        assert lane._known
        memory.ours.send(REQUEST.pack(9, 70000))
        turn(lane)
    assert memory.requests == -1 and not lane._known and len(lane.requests) == 0


def test_batch_of_a_client_that_was_let_go_of_meanwhile_is_not_remembered(lane, memory):
    lane.requests.leave(Numbered(5, memory, {"op": "batch", "states": {}}, Results))
    memory.close_requests()
    turn(lane)
    assert not lane._known and len(lane.requests) == 0
    assert lane.requests.wait(0.0) == []  # it does not wake up again


def test_numbers_are_for_results_in_memory_alone(lane, memory):
    lanes = DirectLanes([lane])
    assert lanes.number_for(memory, {}, {"g": 1.0}) is None
    assert lanes.number_for(None, {}, {}) is None
    assert len(lane.requests) == 0
