"""Calls that come again: the same messages and results as in Python, whatever is different."""

import itertools
import threading

import numpy as np
import pytest
from both_ways import way  # noqa: F401 - a fixture
from eventually import PATIENCE
from puppet import Puppet, good

from torqued.client import Client, FieldError, TimeoutError
from torqued.client.repeated import END_OF_IDS

N = 5


def quantities(message):
    """What tells states apart: M is q vᵀ, g is q."""
    q, v = message["q"], message.get("v", np.ones(N))
    return {"M": np.outer(q, v), "g": q.copy()}


def answer(message):
    if message["op"] == "inverse_dynamics":
        return [good(message, tau=message["q"] + message["v"] * message["a"])]
    found = quantities(message)
    return [good(message, **{name: found[name] for name in message.get("want", ("M", "g"))})]


@pytest.fixture
def served(tmp_path):
    """Makes a client of a daemon that answers as it is told."""
    made = []

    def make(answer=answer, **options):
        daemon = Puppet(tmp_path, answer)
        client = Client(daemon.endpoint, **({"timeout": PATIENCE} | options))
        made.extend([client, daemon])
        return daemon, client

    yield make
    for item in made:
        item.close()


def states(count):
    rng = np.random.default_rng(0)
    return [(rng.normal(size=N), rng.normal(size=N)) for _ in range(count)]


def test_each_call_has_its_own_numbers(served):
    daemon, client = served()
    for k, (q, v) in enumerate(states(10), 1):
        found = client.dynamics(q, v, want=("M", "g"))
        assert np.array_equal(found.M, np.outer(q, v)) and np.array_equal(found.g, q)
        assert list(found.as_dict()) == ["M", "g"] and not found.M.flags.writeable
        assert client.inverse_dynamics(q, v, a=v).tolist() == (q + v * v).tolist()
        assert len(daemon.received) == 2 * k  # and nothing is asked twice
    ids = [message["id"] for message in daemon.received]
    assert ids == sorted(set(ids))
    asked = daemon.received[-2]
    assert list(asked) == ["protocol", "id", "op", "q", "v", "want"]
    assert asked["want"] == ["M", "g"]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((np.ones(N), np.ones(N)), {"want": ("g",)}),
        ((np.ones(N), np.ones(N)), {"want": ["M", "g"]}),
        ((np.ones(N), np.ones(N), ("M", "g")), {}),
        ((np.ones(N),), {"v": np.ones(N), "want": ("M", "g")}),
        ((np.ones(N),), {"want": ("M", "g")}),
        ((np.ones(N), None), {"want": ("M", "g")}),
        ((np.ones(N), np.ones(N)), {"want": ("M", "g"), "frames": ("hand",)}),
        ((list(np.ones(N)), np.ones(N)), {"want": ("M", "g")}),
        ((np.ones(2 * N)[::2], np.ones(N)), {"want": ("M", "g")}),
        ((np.ones(N, ">f8"), np.ones(N, np.float32)), {"want": ("M", "g")}),
        ((np.ones(N, np.int64), np.ones(N)), {"want": ("M", "g")}),
    ],
)
def test_call_that_is_like_a_known_one_is_its_own(served, args, named):
    daemon, client = served()
    for q, v in states(3):
        client.dynamics(q, v, want=("M", "g"))
    for count in range(1, 4):
        found = client.dynamics(*args, **named)
        asked = daemon.received[-1]
        expected = quantities(asked)
        assert asked["q"].tolist() == [1.0] * N
        assert ("v" in asked) == (named.get("v", (*args, None)[1]) is not None)
        assert asked["want"] == list(named.get("want", ("M", "g")))
        assert asked.get("frames") == (["hand"] if "frames" in named else None)
        assert {name: found[name].tolist() for name in asked["want"]} == {
            name: expected[name].tolist() for name in asked["want"]
        }
        assert len(daemon.received) == 3 + count


def test_list_that_is_changed_between_calls_is_another_call(served):
    _, client = served()
    want = ["M", "g"]
    for q, v in states(4):
        assert list(client.dynamics(q, v, want=want).as_dict()) == ["M", "g"]
    want.pop()
    assert list(client.dynamics(*states(1)[0], want=want).as_dict()) == ["M"]


def test_one_array_for_two_arguments_is_sent_twice(served):
    daemon, client = served()
    for q, _ in states(4):
        client.dynamics(q, q, want=("M",))
        assert daemon.received[-1]["v"].tolist() == q.tolist()
    q, v = states(1)[0]
    client.dynamics(q, v, want=("M",))
    assert daemon.received[-1]["v"].tolist() == v.tolist()


def test_results_that_are_kept_stay_as_they_were(served):
    _, client = served()
    kept = []
    for k, (q, v) in enumerate(states(40)):
        found = client.dynamics(q, v, want=("M", "g"))
        things = (found, found.M, found.M[1:], found.g.base, vars(found), found.M.T)
        kept.append((q, np.outer(q, v), k % len(things), things[k % len(things)]))
        del found, things
    for q, M, kind, thing in kept:
        if kind == 3:
            assert bytes(thing)[-8 * N :] == q.tobytes()
        else:
            found = thing["M"] if kind in (0, 4) else thing
            assert np.array_equal(found, (M, M, M[1:], None, M, M.T)[kind])


def test_error_in_place_of_a_known_reply_is_raised(served):
    faulty = [False]

    def sometimes(message):
        if not faulty[0]:
            return answer(message)
        error = {"code": "bad_field", "message": "not today", "field": "q"}
        return [{"protocol": 1, "id": message["id"], "ok": False, "error": error}]

    _, client = served(sometimes)
    for _ in range(2):
        faulty[0] = False
        for q, v in states(4):
            assert np.array_equal(client.dynamics(q, v).M, np.outer(q, v))
        faulty[0] = True
        with pytest.raises(FieldError, match="not today"):
            client.dynamics(*states(1)[0])


def test_reply_that_has_changed_is_read_anew(served):
    """Other fields of the same sizes, as a daemon may send that has been replaced."""
    name = ["g"]
    _, client = served(lambda message: [good(message, **{name[0]: message["q"]})])
    for q, _ in states(4):
        assert client.dynamics(q, want=("g",)).g.tolist() == q.tolist()
    name[0] = "x"
    for q, _ in states(6):
        found = client.dynamics(q, want=("g",))
        assert found["x"].tolist() == q.tolist() and "g" not in found


def test_reply_to_another_request_is_passed_over(served):
    def late(message):
        return [good({"id": message["id"] - 1}, g=np.zeros(N)), *answer(message)]

    _, client = served(late)
    for q, _ in states(6):
        assert client.dynamics(q, want=("g",)).g.tolist() == q.tolist()


def test_silence_after_known_calls_ends_after_all_attempts(served):
    silent = threading.Event()
    daemon, client = served(
        lambda message: [] if silent.is_set() else answer(message), timeout=PATIENCE, retries=1
    )
    q, v = states(1)[0]
    for _ in range(4):
        client.dynamics(q, v)
    before = len(daemon.received)
    silent.set()
    client.timeout = 0.3
    with pytest.raises(TimeoutError, match=r"dynamics: no reply from .* within 0.3 s, 2 times"):
        client.dynamics(q, v)
    assert len(daemon.received) - before <= 2
    silent.clear()
    client.timeout = PATIENCE
    for _ in range(4):
        assert np.array_equal(client.dynamics(q, v).M, np.outer(q, v))


def test_ids_that_become_longer_are_no_known_calls(served, monkeypatch):
    counted = itertools.count
    monkeypatch.setattr(itertools, "count", lambda first: counted(END_OF_IDS - 4))
    daemon, client = served()
    q, v = states(1)[0]
    for _ in range(10):
        assert np.array_equal(client.dynamics(q, v).M, np.outer(q, v))
    assert daemon.received[-1]["id"] > END_OF_IDS


def test_closed_client_knows_nothing(served):
    _, client = served()
    for q, v in states(4):
        client.dynamics(q, v)
    client.close()
    with pytest.raises(Exception, match="closed> cannot be used any more"):
        client.dynamics(*states(1)[0])
