"""Sizes are bounded before anything is computed, and long work is not the main thread's."""

import numpy as np
import pytest

from support.in_process import InProcess
from torqued.client import codec
from torqued.client.requests.operation_table import FIELD_TYPES
from torqued.kernels import Robot
from torqued.server.requests import computations
from torqued.server.requests.limits import LIMITS, MAX_INLINE
from torqued.server.requests.operations import OPERATIONS


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", 5)


@pytest.fixture
def daemon(robot):
    return InProcess(robot)


def state(robot):
    return dict.fromkeys(("q", "v", "tau", "a"), np.zeros(robot.nv))


def contact(**members):
    return {"frame": "joint_5", "kind": "frame", **members}


def test_every_field_of_the_table_has_a_type():
    assert {field for row in OPERATIONS.values() for field in row.required + row.optional} == set(
        FIELD_TYPES
    )


@pytest.mark.parametrize(
    "name, field, fields, count",
    [
        ("dynamics", "want", {"want": ["M"] * 33}, 33),
        ("dynamics", "frames", {"frames": ["joint_5"] * 1025, "want": ["J"]}, 1025),
        ("kinematics", "frames", {"frames": ["joint_5"] * 1025}, 1025),
        ("inverse_dynamics", "f_ext", {"f_ext": {f"x{k}": [0.0] * 6 for k in range(1025)}}, 1025),
        ("contact_dynamics", "contacts", {"contacts": [contact()] * 129}, 129),
        ("impact", "contacts", {"contacts": [contact()] * 2000}, 2000),
        ("solve_mass", "b", {"b": np.zeros((5, 4097))}, 4097),
        ("solve_mass", "b", {"b": [[0.0] * 4097] * 5}, 4097),
        ("control", "tasks", {"law": "wholebody", "tasks": [{"kind": "com"}] * 65}, 65),
        (
            "control",
            "points",
            {"law": "balance", "contacts": [{"frame": "x", "points": [[0.0] * 3] * 129}]},
            129,
        ),
    ],
)
def test_too_many_are_refused_with_the_number_and_the_most(
    daemon, robot, monkeypatch, name, field, fields, count
):
    def never(*_, **__):
        raise AssertionError("computed")

    for method in ("dynamics", "inverse_dynamics", "contact_dynamics", "impact", "solve_mass"):
        monkeypatch.setattr(Robot, method, never)
    monkeypatch.setattr(computations, "Controller", never)
    row = OPERATIONS[name]
    own = {key: value for key, value in state(robot).items() if key in row.required}
    error = daemon.ask(name, **own, **fields)["error"]
    most = LIMITS[field]
    assert (error["code"], error["field"], error["value"]) == ("bad_field", field, count)
    assert error["message"] == f"{field}: {count} {most.of}, at most {most.most} are allowed"


def test_reply_that_could_not_be_sent_is_refused_before_it_is_computed(monkeypatch):
    robot = Robot.family("chain", 130)
    daemon = InProcess(robot)
    monkeypatch.setattr(Robot, "dynamics", None)
    error = daemon.ask("dynamics", q=np.zeros(130), want=["Gamma"])["error"]
    assert error["code"] == "too_large"
    assert str(130**3 * 8) in error["message"]


@pytest.mark.parametrize(
    "name, fields, is_long",
    [
        ("contact_dynamics", {"contacts": [contact()] * 2}, False),
        ("contact_dynamics", {"contacts": [contact()] * 128}, True),
        ("impact", {"contacts": [contact(kind="point")] * 10}, False),
        ("solve_mass", {"b": np.zeros((5, 3))}, False),
        ("dynamics", {"want": ["M", "g"]}, False),
    ],
)
def test_what_may_take_long_goes_to_the_worker(daemon, robot, name, fields, is_long):
    own = {key: state(robot)[key] for key in OPERATIONS[name].required if key in state(robot)}
    assert daemon.ask(name, **own, **fields)["ok"]
    assert daemon.worker.jobs == ([name] if is_long else [])
    cost = OPERATIONS[name].cost(robot, own | fields)
    assert (cost.seconds > MAX_INLINE) == is_long


@pytest.mark.parametrize(
    "name, fields",
    [
        ("dynamics", {"v": np.full(5, 1e200), "want": ["bias"]}),
        ("inverse_dynamics", {"v": np.zeros(5), "a": np.full(5, 1e308)}),
        ("coriolis_product", {"v": np.full(5, 1e200), "w": np.full(5, 1e200)}),
        ("integrate", {"v": np.full(5, 1e308), "dt": 1e10}),
    ],
)
def test_results_that_overflow_are_refused(daemon, name, fields):
    error = daemon.ask(name, q=np.full(5, 0.3), **fields)["error"]
    assert error["code"] == "singular"
    stacked = {
        key: np.stack([np.zeros_like(value), value])
        for key, value in fields.items()
        if key != "want"
    }
    rest = {"want": fields["want"]} if "want" in fields else {}
    error = daemon.ask("batch", operation=name, q=np.full((2, 5), 0.3), **stacked, **rest)["error"]
    assert (error["code"], error["state"]) == ("singular", 1)


@pytest.mark.parametrize(
    "fields, code",
    [
        ({}, "missing_field"),
        ({"q": None}, "missing_field"),
        ({"q": "0"}, "bad_field"),
        ({"q": [True] * 5}, "bad_field"),
        ({"q": ["1"] * 5}, "bad_field"),
        ({"q": b"12345"}, "bad_field"),
        ({"q": [0.0] * 5, "v": None, "want": ["M"]}, None),
        ({"q": [0.0] * 5, "coordinates": None, "want": ["M"]}, None),
        ({"q": [0.0] * 5, "want": ["C"]}, None),
        ({"q": [0] * 5, "want": ["M"]}, None),
    ],
)
def test_nil_is_absent_and_nothing_is_converted(daemon, fields, code):
    reply = daemon.ask("dynamics", **fields)
    assert (None if reply["ok"] else reply["error"]["code"]) == code


@pytest.mark.parametrize(
    "identity, comes_back",
    [(0, 0), (-(2**63), -(2**63)), (2**64 - 1, 2**64 - 1), ("é" * 64, "é" * 64), (None, None)],
)
def test_id_comes_back(daemon, identity, comes_back):
    reply = daemon.answer(codec.request(identity, "hello", {}))
    assert reply["ok"]
    assert reply["id"] == comes_back


@pytest.mark.parametrize("identity", [True, 1.0, "x" * 65, b"a", [1], {"a": 1}])
def test_other_ids_are_refused(daemon, identity):
    reply = daemon.answer(codec.request(identity, "hello", {}))
    assert (reply["id"], reply["error"]["code"]) == (None, "bad_message")


def test_a_client_with_replies_to_take_is_refused_as_busy(daemon):
    daemon.outbox.full = True
    assert daemon.ask("hello")["error"]["code"] == "busy"
