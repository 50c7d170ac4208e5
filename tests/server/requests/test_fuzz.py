"""Whatever a message holds, its reply is a result or a refusal that says what is wrong."""

import math
import random

import msgpack
import numpy as np
import pytest
from in_process import InProcess

from torqued.client import codec
from torqued.kernels import Robot
from torqued.kernels.control.laws import LAWS
from torqued.server.requests.operation import CONTROL, REQUEST
from torqued.server.requests.operations import OPERATIONS

#: Messages of each kind for each operation.
COUNT = 300


@pytest.fixture(scope="module", params=[("chain", 3), ("biped", 12)], ids=["chain", "biped"])
def daemon(request):
    return InProcess(Robot.family(*request.param))


def state(robot):
    q, v = robot.random_state(np.random.default_rng(0))
    return q, v


def good_fields(robot):
    """For each field, values that some request may have."""
    q, v = state(robot)
    frame = robot.frame_names[-1]
    contact = {"frame": frame, "kind": "point", "friction": 0.5}
    return {
        "q": [q, q.tolist()],
        "v": [v, v.tolist(), np.zeros(robot.nv)],
        "a": [v],
        "tau": [v],
        "w": [v],
        "b": [v, np.ones((robot.nv, 2))],
        "dt": [0.1, 0],
        "want": [["M", "C", "g"], ["J", "pose"], [], ["Gamma"]],
        "frames": [[frame], [], list(robot.frame_names)],
        "representation": ["hybrid", "body", "spatial", "mixed"],
        "coordinates": ["native", "pinocchio", "mujoco", "hybrid", "com"],
        "f_ext": [{frame: [0.0] * 6}, {}],
        "contacts": [[contact], [], [contact | {"kind": "frame", "half_size": [0.1, 0.1]}]],
        "solver": ["range_space", "direct", "null_space"],
        "restitution": [0.0, 0.5, 1],
        "operation": ["dynamics", "integrate", "control", "contact_dynamics"],
        "law": list(LAWS),
        "gains": [{}, {"damping": 1.0}, {"stiffness": 2.0}],
        "references": [{}, {"q_ref": q}, {"v_ref": v}],
        "observer": [True, {"gain": 10.0}],
        "frame": [frame],
        "point": [[0.0, 0.0, 0.1]],
        "axes": ["all", "position", "orientation"],
        "load_lower": [[0.0] * 10],
        "load_upper": [[1.0] * 10],
        "tasks": [[{"kind": "posture"}], [{"kind": "com"}], []],
        "limits": [{}, {"torque": True}],
        "iterations": [5, 200],
        "effort_limit": [[1.0] * robot.nv],
        "rate_limit": [[1.0] * robot.nv],
        "session": [1],
        "over": [0.1],
        "level": ["INFO"],
    }


BAD = [
    None,
    True,
    False,
    0,
    -1,
    7,
    2**63,
    2**64 - 1,
    -(2**63),
    1e308,
    -1e308,
    5e-324,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "q",
    "1",
    "1.5",
    "nan",
    "\x00",
    "é" * 70,
    "x" * 3000,
    b"",
    b"M",
    b"\xff\xfe",
    [],
    [[]],
    [[[[[1]]]]],
    [None],
    ["1", "2", "3"],
    [True, False, True],
    [1, [2, 3]],
    [math.nan] * 3,
    {},
    {"": 1},
    {"frame": 1},
    {"frame": None, "kind": []},
    {1: 2},
    {"a": {"b": {"c": [1, 2]}}},
    np.zeros(0),
    np.zeros((0, 3)),
    np.zeros((3, 0)),
    np.zeros(()),
    np.zeros((1,) * 8),
    np.ones(3, np.float32),
    np.ones(3, np.int64),
    np.full(3, 1e200),
    np.full(18, 1e200),
    np.full(3, np.nan),
    np.zeros(1000),
    msgpack.Timestamp(1, 2),
]


def mutated(rng, value):
    """A value that is wrong in one place, or in all."""
    kind = rng.randrange(4)
    if kind == 0 or not isinstance(value, list | dict | np.ndarray):
        return rng.choice(BAD)
    if isinstance(value, np.ndarray):
        if kind == 1 and value.size:
            changed = value.astype(float).copy()
            changed.flat[rng.randrange(value.size)] = rng.choice(
                [math.nan, math.inf, 1e200, -1e308, 1e-320]
            )
            return changed
        return value * rng.choice([1e100, 1e200, 0.0, -1.0]) if kind == 2 else value[:-1]
    if isinstance(value, list):
        if not value or kind == 1:
            return [*value, rng.choice(BAD)]
        k = rng.randrange(len(value))
        return [*value[:k], mutated(rng, value[k]), *value[k + 1 :]]
    changed = dict(value)
    if not value or kind == 1:
        changed[rng.choice(["", "x", "frame", "kind", "q", "elapsed", "self"])] = rng.choice(BAD)
        return changed
    key = rng.choice(list(value))
    changed[key] = mutated(rng, value[key])
    return changed


def check(reply):
    """A result without NaN, or an error that is no fault of the daemon's."""
    if reply["ok"]:
        assert_finite(reply)
        return
    error = reply["error"]
    assert error["code"] != "internal", error
    assert error["message"]
    assert len(error["message"]) <= 1000


def assert_finite(value, name=""):
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "limits":  # infinite where a robot has none
                assert_finite(item, key)
    elif isinstance(value, float | np.ndarray):
        assert np.isfinite(value).all(), name


def packed(message):
    return msgpack.packb(
        message, default=lambda x: codec.encode_array(x) if isinstance(x, np.ndarray) else repr(x)
    )


def fields_for(rng, robot, name, good):
    """Fields of which some are wrong, missing or too many."""
    row = OPERATIONS[name]
    fields = {field: rng.choice(good[field]) for field in row.required}
    for field in row.optional:
        if rng.random() < (0.5 if len(row.optional) < 6 else 0.12):
            fields[field] = rng.choice(good[field])
    for field in list(fields):
        chance = rng.random()
        if chance < 0.25:
            fields[field] = mutated(rng, fields[field])
        elif chance < 0.27:
            del fields[field]
    if rng.random() < 0.03:
        fields[rng.choice(["", "x", "ok", "error", "self"])] = rng.choice(BAD)
    if name == "batch" and rng.random() < 0.8:
        stacked = ("q", "v", "a", "tau", "w", "b", "dt")
        fields = {
            key: np.stack([value, value])
            if key in stacked and isinstance(value, np.ndarray)
            else value
            for key, value in fields.items()
        }
    return fields


NAMES = [name for name in OPERATIONS if name not in ("open", "tune", "close")]


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
