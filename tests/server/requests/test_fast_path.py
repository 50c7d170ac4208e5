"""Requests that compiled code answers: the same bytes as Python's, and refusals left to Python."""

from contextlib import contextmanager

import numpy as np
import pytest
import zmq

from torqued.client import codec
from torqued.kernels import Robot
from torqued.kernels.dynamics.quantities import WANTS
from torqued.server.access.rate_limits import RequestRate
from torqued.server.requests.fast_path import MAX_REPLY, MAX_TEMPLATES, FastPath
from torqued.server.requests.operations import OPERATIONS


class Exchange:
    """A request socket with a client beside it, in one thread."""

    def __init__(self, robot, context, rate=1e6):
        self.robot = robot
        self.server = context.socket(zmq.ROUTER)
        self.server.router_mandatory = True
        self.server.sndhwm = 10
        self.server.bind("inproc://requests")
        self.client = context.socket(zmq.DEALER)
        self.client.rcvhwm = 10
        self.client.connect("inproc://requests")
        self.client.rcvtimeo = 5000
        self.fast_path = FastPath(robot, RequestRate(rate), self.server)

    def left_to_python(self):
        """The message that compiled code did not answer, or None."""
        if not self.fast_path.wait(1):
            return None
        return self.fast_path.receive(self.server)

    def ask(self, data):
        """The reply, and whether Python had to make it."""
        self.client.send(data)
        found = self.left_to_python()
        if found is None:
            return self.client.recv(), False
        assert found.data == data
        reply = expected(self.robot, data)
        self.fast_path.learn(data, codec.decode(data), reply)
        self.server.send_multipart([*found.route, reply])
        return self.client.recv(), True


def expected(robot, data):
    """The reply as Python makes it."""
    message = codec.decode(data)
    operation = OPERATIONS[message["op"]]
    if operation.name == "hello":
        return codec.encode({"protocol": 1, "id": message["id"], "ok": True})
    result = operation.run(robot.copy(), operation.fields_of(message))
    return codec.encode({"protocol": 1, "id": message["id"], "ok": True, **result})


@contextmanager
def exchange_of(robot, **options):
    with zmq.Context() as context:
        exchange = Exchange(robot, context, **options)
        yield exchange
        exchange.client.close(linger=0)
        exchange.server.close(linger=0)


@pytest.fixture(scope="module")
def robots():
    return {"chain": Robot.family("chain", 5), "biped": Robot.family("biped", 8)}


@pytest.fixture(params=["chain", "biped"])
def exchange(robots, request):
    with exchange_of(robots[request.param]) as exchange:
        yield exchange


def dynamics(identity, q, v=None, **fields):
    if v is not None:
        fields["v"] = v
    return codec.request(identity, "dynamics", {"q": q, **fields})


def states(robot, count=3):
    rng = np.random.default_rng(1)
    return [robot.random_state(rng) for _ in range(count)]


@pytest.mark.parametrize(
    "fields",
    [
        {"want": ["M", "C"]},
        {"want": list(WANTS), "frames": "all"},
        {"want": ["J", "pose"], "frames": "all", "representation": "body"},
        {"want": ["C", "g"], "coordinates": "native"},
        {},
    ],
)
def test_second_request_of_a_kind_gets_the_same_bytes_from_compiled_code(exchange, fields):
    if fields.get("frames") == "all":
        fields = fields | {"frames": list(exchange.robot.frame_names)}
    answers = []
    for identity, (q, v) in enumerate(states(exchange.robot)):
        data = dynamics(identity, q, v, **fields)
        reply, by_python = exchange.ask(data)
        assert reply == expected(exchange.robot, data)
        answers.append(by_python)
    assert answers == [True, False, False]
    assert exchange.fast_path.answered == 2


@pytest.mark.parametrize(
    "identity", [0, 127, 128, 255, 256, 65536, 2**32, 2**63, -1, -33, -(2**40)]
)
def test_id_of_any_size_comes_back(exchange, identity):
    (q, v), (q2, v2), _ = states(exchange.robot)
    exchange.ask(dynamics(1, q, v, want=["M"]))
    data = dynamics(identity, q2, v2, want=["M"])
    assert exchange.ask(data) == (expected(exchange.robot, data), False)


def test_velocity_may_be_absent(exchange):
    (q, _), (q2, _), _ = states(exchange.robot)
    exchange.ask(dynamics(1, q, want=["M", "g"]))
    data = dynamics(2, q2, want=["M", "g"])
    assert exchange.ask(data) == (expected(exchange.robot, data), False)


def test_christoffel_symbols_do_not_remember_an_earlier_state(exchange):
    first, second, _ = states(exchange.robot)
    for q, v in (first, second, first):
        data = dynamics(3, q, v, want=["Gamma"])
        assert exchange.ask(data)[0] == expected(exchange.robot, data)


def refused(exchange, data):
    """Whether a request was left to Python."""
    exchange.client.send(data)
    found = exchange.left_to_python()
    return found is not None and found.data == data


def test_numbers_that_must_be_refused_are_left_to_python(exchange):
    q, v = states(exchange.robot)[0]
    exchange.ask(dynamics(1, q, v))
    for bad in (np.nan, np.inf, -np.inf):
        for k in (0, len(q) - 1):
            wrong = q.copy()
            wrong[k] = bad
            assert refused(exchange, dynamics(2, wrong, v))
        wrong = v.copy()
        wrong[-1] = bad
        assert refused(exchange, dynamics(2, q, wrong))
    assert not refused(exchange, dynamics(2, q, v))


def test_quaternion_of_another_length_is_left_to_python(robots):
    with exchange_of(robots["biped"]) as exchange:
        q, v = states(exchange.robot)[0]
        exchange.ask(dynamics(1, q, v))
        wrong = q.copy()
        wrong[3:7] *= 1.001
        assert refused(exchange, dynamics(2, wrong, v))


def test_every_other_byte_has_to_be_the_same(exchange):
    q, v = states(exchange.robot)[0]
    data = dynamics(1, q, v, want=["M", "g"])
    exchange.ask(data)
    numbers = {
        k
        for array in (q, v)
        for k in range(data.index(array.tobytes()), data.index(array.tobytes()) + array.nbytes)
    }
    identity = 14
    for k in set(range(len(data))) - numbers - {identity}:
        changed = data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :]
        assert refused(exchange, changed), k
    for changed in (data[:-1], data + b"\0", data[:14], b""):
        assert refused(exchange, changed)
    assert not refused(exchange, data)


@pytest.mark.parametrize(
    "change",
    [
        lambda message: message | {"id": "a"},
        lambda message: message | {"id": None},
        lambda message: message | {"coordinates": "pinocchio"},
        lambda message: message | {"q": message["q"].tolist()},
        lambda message: message | {"q": message["q"].astype(np.float32)},
        lambda message: dict(reversed(message.items())),
    ],
)
def test_other_forms_are_always_answered_by_python(robots, change):
    with exchange_of(robots["chain"]) as exchange:
        q, v = states(exchange.robot)[0]
        message = {"protocol": 1, "id": 1, "op": "dynamics", "q": q, "v": v, "want": ["M"]}
        data = codec.encode(change(message))
        assert [exchange.ask(data) for _ in range(2)] == [
            (expected(exchange.robot, data), True)
        ] * 2


def test_other_operations_are_always_answered_by_python(exchange):
    data = codec.request(1, "hello", {})
    assert [exchange.ask(data)[1] for _ in range(2)] == [True, True]


def test_large_replies_are_left_to_python():
    with exchange_of(Robot.family("chain", 40)) as exchange:
        q, v = states(exchange.robot)[0]
        data = dynamics(1, q, v, want=["Gamma"])
        assert len(expected(exchange.robot, data)) > MAX_REPLY
        assert [exchange.ask(data)[1] for _ in range(2)] == [True, True]


@pytest.mark.parametrize(
    "frames, delimiters, data",
    [
        ([b"", b"a"], [b""], b"a"),
        ([b"", b"a", b"b"], [b""], None),
        ([b"a", b"b"], [], None),
        ([b"", b""], [b""], b""),
        ([b"x" * 100] * 50, [], None),
    ],
)
def test_message_has_one_frame_or_an_empty_one_before_it(robots, frames, delimiters, data):
    with exchange_of(robots["chain"]) as exchange:
        exchange.client.send_multipart(frames)
        message = exchange.left_to_python()
        assert (message.route[1:], message.data) == (delimiters, data)
        assert exchange.left_to_python() is None


def test_requests_beyond_the_rate_are_left_to_python(robots):
    with exchange_of(robots["chain"], rate=50.0) as exchange:
        q, v = states(exchange.robot)[0]
        data = dynamics(1, q, v)
        exchange.ask(data)
        counts = [refused(exchange, data) or (exchange.client.recv() and False) for _ in range(200)]
        assert counts.count(False) >= 50  # and as many more as the time allows for
        assert any(counts)


def test_results_that_are_not_finite_are_left_to_python(exchange):
    q, v = states(exchange.robot)[0]
    for want in (["bias"], ["C", "bias"], ["energy"]):
        exchange.ask(dynamics(1, q, v, want=want))
        assert refused(exchange, dynamics(2, q, np.full_like(v, 1e200), want=want))
        assert not refused(exchange, dynamics(3, q, v, want=want))


def test_replies_that_nobody_takes_are_left_to_python(robots):
    with exchange_of(robots["chain"]) as exchange:
        q, v = states(exchange.robot)[0]
        data = dynamics(1, q, v)
        exchange.ask(data)
        left = [refused(exchange, data) for _ in range(100)]
        taken = left.index(True)
        assert 10 < taken <= 20  # as many as the queues of both sides hold
        assert all(left[taken:])


def test_nothing_is_answered_while_it_is_paused(robots):
    with exchange_of(robots["chain"]) as exchange:
        q, v = states(exchange.robot)[0]
        data = dynamics(1, q, v)
        exchange.ask(data)
        exchange.fast_path.pause(True)
        assert refused(exchange, data)
        exchange.fast_path.pause(False)
        assert not refused(exchange, data)


def test_oldest_is_forgotten_for_a_new_one(robots):
    with exchange_of(robots["chain"]) as exchange:
        q, v = states(exchange.robot)[0]
        names = [w for w in WANTS if w not in ("J", "Jdot_v", "pose")]
        kinds = [[a, b] for a in names for b in names if a != b][: MAX_TEMPLATES + 1]
        for want in kinds:
            assert exchange.ask(dynamics(1, q, v, want=want))[1]
        assert not exchange.ask(dynamics(1, q, v, want=kinds[-1]))[1]
        assert exchange.ask(dynamics(1, q, v, want=kinds[0]))[1]


def test_another_robot_has_no_templates(robots):
    with exchange_of(robots["chain"]) as exchange:
        q, v = states(exchange.robot)[0]
        data = dynamics(1, q, v)
        assert [exchange.ask(data)[1] for _ in range(2)] == [True, False]
        exchange.robot = Robot.family("chain", 5, seed=1)
        exchange.fast_path.forget(exchange.robot)
        assert [exchange.ask(data) for _ in range(2)] == [
            (expected(exchange.robot, data), True),
            (expected(exchange.robot, data), False),
        ]


def test_other_sockets_end_a_wait(robots):
    with exchange_of(robots["chain"]) as exchange, zmq.Context() as context:
        ours, theirs = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
        try:
            ours.bind("inproc://other")
            theirs.connect("inproc://other")
            exchange.fast_path.watch([ours, exchange.server])
            theirs.send(b"x")
            assert exchange.fast_path.wait(60_000) == [ours]
            exchange.client.send(b"y")
            while len(found := exchange.fast_path.wait(60_000)) < 2:
                assert ours in found
            assert found == [exchange.server, ours]
            assert exchange.fast_path.receive(exchange.server).data == b"y"
        finally:
            ours.close(linger=0)
            theirs.close(linger=0)
