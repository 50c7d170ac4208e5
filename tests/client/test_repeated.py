"""Messages that come again: the codec's bytes and fields, and nothing else taken for them."""

import numpy as np
import pytest

from torqued.client import codec
from torqued.client.errors import FieldError, VersionError
from torqued.client.repeated import END_OF_IDS, MAX_KNOWN, Repeated

FIRST = codec.FIRST_ID


def reply(identity, **fields):
    return codec.encode({"protocol": 1, "id": identity, "ok": True, **fields})


def vectors(rng, count):
    return {name: rng.normal(size=20) for name in ("q", "v", "a")[:count]}


REQUESTS = {
    "dynamics": lambda rng: ("dynamics", vectors(rng, 2) | {"want": ("M", "C")}),
    "list": lambda rng: ("dynamics", vectors(rng, 2) | {"want": ["M", "C"], "frames": ["hand"]}),
    "text": lambda rng: ("dynamics", vectors(rng, 1) | {"representation": "body"}),
    "vectors": lambda rng: ("inverse_dynamics", vectors(rng, 3)),
    "map": lambda rng: ("inverse_dynamics", vectors(rng, 3) | {"f_ext": {"hand": np.ones(6)}}),
    "matrix": lambda rng: ("solve_mass", {"q": rng.normal(size=4), "b": rng.normal(size=(4, 2))}),
    "number": lambda rng: ("integrate", vectors(rng, 2) | {"dt": 0.1}),
    "empty": lambda rng: ("dynamics", {"q": np.zeros(0)}),
    "none": lambda rng: ("hello", {}),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_request_has_the_bytes_of_the_codec_each_time(kind):
    rng, repeated = np.random.default_rng(1), Repeated()
    for identity in (FIRST, FIRST + 1, FIRST + 255, END_OF_IDS - 1, END_OF_IDS, 3, FIRST + 2):
        operation, fields = REQUESTS[kind](rng)
        expected = codec.request(identity, operation, fields)
        assert bytes(repeated.request(identity, operation, fields)) == expected


@pytest.mark.parametrize(
    "other",
    [
        {"q": np.ones(3), "v": np.ones(4)},
        {"q": np.ones(4, np.float32), "v": np.ones(4)},
        {"q": np.ones(4), "v": np.ones((1, 4))},
        {"q": np.ones(8)[::2], "v": np.arange(8.0)[::2]},
        {"q": np.ones(4, ">f8"), "v": np.ones(4)},
        {"q": [1.0, 2.0, 3.0, 4.0], "v": np.ones(4)},
        {"q": "v", "v": np.ones(4)},
        {"q": np.ones(4)},
        {"v": np.ones(4), "q": np.zeros(4)},
    ],
)
def test_request_that_is_like_a_known_one_has_its_own_bytes(other):
    repeated = Repeated()
    for identity, fields in enumerate(({"q": np.zeros(4), "v": np.zeros(4)}, other), FIRST):
        expected = codec.request(identity, "dynamics", fields)
        assert bytes(repeated.request(identity, "dynamics", fields)) == expected


def test_lists_of_texts_are_told_apart():
    repeated = Repeated()
    for identity, fields in enumerate(
        (
            {"want": ["M"], "frames": ["x"]},
            {"want": ["M", "frames", "x"]},
            {"want": ["M", "frames"], "frames": []},
            {"want": [1]},
            {"want": [True]},
            {"want": [1.0]},
        ),
        FIRST,
    ):
        for _ in range(2):
            expected = codec.request(identity, "dynamics", fields)
            assert bytes(repeated.request(identity, "dynamics", fields)) == expected


def test_fields_of_a_reply_are_those_of_the_codec_each_time():
    rng, repeated = np.random.default_rng(2), Repeated()
    for identity in range(FIRST, FIRST + 5):
        fields = {"M": rng.normal(size=(3, 3)), "g": rng.normal(size=3)}
        found = repeated.result("dynamics", identity, reply(identity, **fields), "")
        assert list(found) == list(fields)
        for name, value in found.items():
            assert np.array_equal(value, fields[name])
            assert value.flags.aligned and not value.flags.writeable


def test_reply_to_another_request_is_none_of_ours():
    repeated = Repeated()
    for identity in range(FIRST, FIRST + 3):
        data = reply(identity, g=np.ones(3))
        assert repeated.result("dynamics", identity + 1, data, "") is None
        assert repeated.result("dynamics", identity, data, "") is not None


@pytest.mark.parametrize(
    "other",
    [
        {"h": np.zeros(3)},
        {"g": np.zeros((1, 3)), "z": "xxx"},
        {"g": np.zeros(3, np.int64)},
    ],
)
def test_reply_of_the_same_size_with_other_texts_is_read_as_it_is(other):
    repeated = Repeated()
    first = {"g": np.ones(3)}
    size = len(reply(FIRST, **first))
    for identity, fields in enumerate((first, first, other, first, other), FIRST):
        data = reply(identity, **fields)
        if fields is other and "z" not in other:
            assert len(data) == size
        found = repeated.result("dynamics", identity, data, "")
        expected = codec.decode_reply(data)
        assert list(found) == list(expected)[3:]
        for name, value in found.items():
            assert np.array_equal(value, expected[name])
            if isinstance(value, np.ndarray):
                assert (value.dtype, value.shape) == (expected[name].dtype, expected[name].shape)


def test_what_is_no_array_is_new_in_each_result():
    repeated = Repeated()
    for identity in range(FIRST, FIRST + 3):
        data = reply(identity, a=np.ones(3), slips=[None, False])
        found = repeated.result("contact_dynamics", identity, data, "")
        assert found["slips"] == [None, False]
        found["slips"].clear()


def test_reply_that_changes_in_nothing_but_its_id_is_read_as_it_is():
    """As of a batch whose arrays are in shared memory."""
    repeated = Repeated()
    arrays = {"M": {"offset": 0, "shape": [9, 3, 3], "strides": [72, 24, 8]}}
    memory = {"file": "torqued-1", "size": 4096, "arrays": arrays}
    for identity in range(FIRST, FIRST + 4):
        data = reply(identity, memory=memory)
        assert repeated.result("batch", identity + 1, data, "") is None
        found = repeated.result("batch", identity, data, "")
        assert found == {"memory": memory}
        found["memory"]["arrays"].clear()  # nobody else's
    other = memory | {"file": "torqued-2"}
    assert len(reply(FIRST, memory=other)) == len(data)
    for known in (other, memory, other):
        found = repeated.result("batch", FIRST, reply(FIRST, memory=known), "")
        assert found == {"memory": known}


def test_errors_and_versions_are_those_of_the_codec():
    repeated = Repeated()
    repeated.result("dynamics", FIRST, reply(FIRST, g=np.ones(3)), "")
    error = {"code": "bad_field", "message": "no", "field": "q"}
    data = codec.encode({"protocol": 1, "id": FIRST, "ok": False, "error": error})
    for _ in range(2):
        with pytest.raises(FieldError):
            repeated.result("dynamics", FIRST, data, "")
    newer = codec.encode({"protocol": 9, "id": FIRST, "ok": True, "g": np.ones(3)})
    with pytest.raises(VersionError, match="ipc://here speaks protocol version 9"):
        repeated.result("dynamics", FIRST, newer, "ipc://here")


def test_no_more_kinds_are_kept_than_said():
    repeated = Repeated()
    for k in range(3 * MAX_KNOWN):
        repeated.request(FIRST + k, "dynamics", {"q": np.zeros(4), "want": [str(k)]})
        repeated.result("dynamics", FIRST, reply(FIRST, g=np.zeros(k + 1)), "")
    assert 0 < len(repeated._requests) <= MAX_KNOWN
    assert 0 < len(repeated._replies) <= MAX_KNOWN
