"""Whatever a message holds, its reply is a result or a refusal that says what is wrong."""

import random

import pytest

from support.fuzzing import BAD, check, fields_for, good_fields, packed, state
from support.in_process import InProcess
from torqued.client import codec
from torqued.client.requests.operation_table import CONTROL, LOOP, REQUEST
from torqued.kernels import Robot
from torqued.kernels.control.laws import LAWS
from torqued.server.requests.operations import OPERATIONS

#: Messages of each kind for each operation.
COUNT = 300


@pytest.fixture(scope="module", params=[("chain", 3), ("biped", 12)], ids=["chain", "biped"])
def daemon(request):
    return InProcess(Robot.family(*request.param))


#: Those of sessions need a loop; tests/server/loop/test_orders.py has them.
NAMES = [
    name
    for name, operation in OPERATIONS.items()
    if operation.carried_out_by != LOOP and name not in ("stop", "recover")
]


@pytest.mark.parametrize("name", NAMES)
def test_fields_that_are_almost_right_are_never_a_fault_of_the_daemon(daemon, name):
    rng = random.Random(name)
    good = good_fields(daemon.robot)
    socket = OPERATIONS[name].socket
    for _ in range(COUNT):
        fields = fields_for(rng, daemon.robot, name, good)
        message = {"protocol": 1, "id": 1, "op": name, **fields}
        data = packed(message)
        try:
            check(daemon.answer(data, socket))
        except AssertionError as error:
            raise AssertionError(f"{name} {fields!r}: {error}") from error
    assert daemon.ask("ping")["ready"] is True


@pytest.mark.parametrize("law", LAWS)
def test_every_law_refuses_wrong_fields_by_name(daemon, law):
    rng = random.Random(law)
    good = good_fields(daemon.robot) | {"law": [law]}
    for _ in range(COUNT):
        fields = fields_for(rng, daemon.robot, "control", good) | {"law": law}
        data = packed({"protocol": 1, "id": 1, "op": "control", **fields})
        try:
            check(daemon.answer(data))
        except AssertionError as error:
            raise AssertionError(f"{law} {fields!r}: {error}") from error


@pytest.mark.parametrize("socket", [REQUEST, CONTROL])
def test_headers_of_any_kind_are_answered(daemon, socket):
    rng = random.Random(socket)
    names = [*OPERATIONS, "dance", "", 3, None, ["hello"], b"hello"]
    for _ in range(3 * COUNT):
        message = {}
        if rng.random() < 0.9:
            message["protocol"] = rng.choice([1, 1, 1, *BAD])
        if rng.random() < 0.9:
            message["id"] = rng.choice([1, "a", *BAD])
        if rng.random() < 0.9:
            message["op"] = rng.choice(names)
        check(daemon.answer(packed(message), socket))


@pytest.mark.parametrize("socket", [REQUEST, CONTROL])
def test_bytes_of_any_kind_are_answered(daemon, socket):
    rng = random.Random(socket)
    q, v = state(daemon.robot)
    good = codec.request(1, "dynamics", {"q": q, "v": v, "frames": [daemon.robot.frame_names[0]]})
    for _ in range(3 * COUNT):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            k = rng.randrange(len(data))
            data[k] = rng.randrange(256)
        if rng.random() < 0.3:
            data = data[: rng.randrange(len(data))]
        check(daemon.answer(bytes(data), socket))
        check(daemon.answer(rng.randbytes(rng.randrange(60)), socket))
