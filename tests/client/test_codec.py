"""Bytes and messages: golden bytes in both directions, and any bytes at all."""

import contextlib
import struct

import msgpack
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.golden import MESSAGES
from torqued.client import codec, errors


def same(left, right):
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and (left == right).all()
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return left == right


@pytest.mark.parametrize("name", MESSAGES)
def test_message_encodes_to_its_golden_bytes(name):
    message, golden = MESSAGES[name]
    assert codec.encode(message).hex() == golden


@pytest.mark.parametrize("name", MESSAGES)
def test_golden_bytes_decode_to_their_message(name):
    message, golden = MESSAGES[name]
    assert same(codec.decode(bytes.fromhex(golden)), message)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"\x82\xa1a\x01\xa1a\x02", "a key twice"),
        (b"\x81\xa1a\x82\xa1b\x01\xa1b\x02", "a key twice"),
        (b"\x81\x01\x02", "texts as keys"),
        (b"\x81\xa1a\x81\x01\x02", "texts as keys"),
        (b"\x81\xa1a\x81\xc4\x01b\x02", "texts as keys"),
    ],
)
def test_keys_are_texts_and_come_once(data, words):
    with pytest.raises(errors.MessageError, match=words):
        codec.decode(data)


@pytest.mark.parametrize("inside", [[None] * 50, [[]] * 25, [{}] * 25, [{"a": 1}] * 20, [[1]] * 20])
def test_members_of_maps_and_lists_are_counted_together(inside):
    data = codec.encode({"x": inside, "y": inside})
    assert codec.decode(data)["x"] == inside
    assert codec.decode(data, 150)["x"] == inside
    with pytest.raises(errors.MessageError, match=r"members together|exceeds"):
        codec.decode(data, 60)


def test_request_has_the_header_and_its_fields():
    data = codec.request(7, "close", {"session": 3})
    assert codec.decode(data) == {"protocol": 1, "id": 7, "op": "close", "session": 3}


@given(st.binary(max_size=200))
@example(b"")
@example(b"\xc1")
@example(b"\x81\xa1a\xc7\x0c\xff" + b"\xff" * 12)  # a time stamp beyond all times
@example(b"\x91" * 2000)
@example(b"\x81\xa1a" * 500 + b"\xc0")
def test_any_bytes_give_a_message_or_a_message_error(data):
    try:
        message = codec.decode(data)
    except errors.MessageError as error:
        assert error.code in errors.CODES
        return
    assert isinstance(message, dict)
    codec.encode(message)  # what can be read can be written


@given(st.binary(max_size=60))
def test_any_bytes_as_an_array_give_an_array_or_a_message_error(data):
    message = msgpack.packb({"q": msgpack.ExtType(codec.ARRAY, data)})
    try:
        array = codec.decode(message)["q"]
    except errors.MessageError:
        return
    assert isinstance(array, np.ndarray)


def test_cut_or_changed_golden_bytes_never_raise_anything_else():
    for _, golden in MESSAGES.values():
        whole = bytes.fromhex(golden)
        for k in range(len(whole)):
            for data in (whole[:k], whole[:k] + bytes([whole[k] ^ 0xFF]) + whole[k + 1 :]):
                with contextlib.suppress(errors.MessageError):
                    codec.decode(data)


@given(st.lists(st.integers(0, 3), max_size=4), st.sampled_from(["<f8", "<f4", "<i8", ">f8"]))
def test_arrays_come_back_as_they_were(shape, kind):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    back = codec.decode(codec.encode({"x": array}))["x"]
    assert back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("<")
    assert (back == array).all()


def test_array_that_is_not_contiguous_is_sent_row_by_row():
    array = np.arange(6.0).reshape(2, 3).T
    assert (codec.decode(codec.encode({"x": array}))["x"] == array).all()


@pytest.mark.parametrize("value", [np.array([1j]), np.array(["a"]), np.array([True]), {1, 2}])
def test_what_has_no_form_on_the_wire_is_refused_by_the_sender(value):
    with pytest.raises(TypeError):
        codec.encode({"x": value})


def array_bytes(head, numbers=b""):
    return msgpack.packb({"x": msgpack.ExtType(codec.ARRAY, head + numbers)})


@pytest.mark.parametrize(
    "data",
    [
        array_bytes(b"d\x01"),
        array_bytes(struct.pack("<BBHI", ord("z"), 1, 0, 0)),
        array_bytes(struct.pack("<BBHI", ord("d"), 1, 1, 0)),
        array_bytes(struct.pack("<BBH9I", ord("d"), 9, 0, *[1] * 9)),
        array_bytes(struct.pack("<BBHI", ord("d"), 2, 0, 1)),
        array_bytes(struct.pack("<BBHI", ord("d"), 1, 0, 2), bytes(8)),
        array_bytes(struct.pack("<BBHII", ord("d"), 2, 0, 2**32 - 1, 2**32 - 1), bytes(12)),
        msgpack.packb({"x": msgpack.ExtType(2, b"abcd")}),
        msgpack.packb([1, 2]),
        msgpack.packb({1: 2}),
        msgpack.packb("text"),
        msgpack.packb({"a": 1}) + b"\x00",
        b"\x81\xa1\xff\x01",
    ],
)
def test_what_breaks_a_rule_is_a_bad_message(data):
    with pytest.raises(errors.MessageError) as caught:
        codec.decode(data)
    assert caught.value.code == "bad_message"


def test_refusal_of_a_byte_that_msgpack_does_not_use_says_so():
    with pytest.raises(errors.MessageError, match="not a msgpack message: a byte that begins no"):
        codec.decode(b"\xc1\xff")


def test_too_long_a_message_is_refused_unread():
    with pytest.raises(errors.MessageError) as caught:
        codec.decode(bytes(codec.MAX_MESSAGE + 1))
    assert caught.value.code == "too_large"


def nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_limited():
    deepest = {"x": nested(codec.MAX_NESTING - 1)}
    assert codec.decode(msgpack.packb(deepest)) == deepest
    with pytest.raises(errors.MessageError, match="nest deeper"):
        codec.decode(msgpack.packb({"x": nested(codec.MAX_NESTING)}))


@pytest.mark.parametrize("code", errors.CODES)
def test_errors_come_back_as_the_same_class(code):
    sent = errors.error(code, "q: shape (3,)", field="q", value=[3], expected="shape (7,)")
    reply = codec.decode(codec.encode({"ok": False, "error": sent.to_map()}))
    with pytest.raises(errors.RequestError) as caught:
        codec.result_of(reply)
    got = caught.value
    assert type(got) is errors.CODES[code]
    assert (got.code, str(got), got.field, got.value, got.expected) == (
        code,
        "q: shape (3,)",
        "q",
        [3],
        "shape (7,)",
    )


def test_error_of_a_newer_daemon_is_a_request_error():
    error = errors.from_map({"code": "on_strike", "message": "later"})
    assert type(error) is errors.RequestError
    assert error.code == "on_strike"


def test_refusal_is_short_however_large_the_value():
    error = errors.error("bad_field", "x" * 10**6, field="q", value=["y" * 10**6] * 3)
    assert len(codec.encode(error.to_map())) < 10_000


@given(data=st.binary(max_size=60))
def test_any_bytes_as_a_reply_give_a_map_or_one_kind_of_error(data):
    with contextlib.suppress(errors.MessageError):
        assert type(codec.decode_reply(data)) is dict


@pytest.mark.parametrize("name", MESSAGES)
def test_replies_are_read_as_requests_are(name):
    golden = bytes.fromhex(MESSAGES[name][-1])
    assert same(codec.decode_reply(golden), codec.decode(golden))


def test_request_that_the_daemon_would_not_read_is_refused_before_it_is_sent():
    with pytest.raises(errors.MessageError, match="at most 16777216") as caught:
        codec.request(1, "batch", {"q": np.zeros(codec.MAX_MESSAGE // 8)})
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("where", [lambda x: x, lambda x: {"hand": x}, lambda x: [x]])
def test_masked_numbers_are_not_sent(where):
    array = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(errors.InputError, match=r"^array\[1\] is masked"):
        codec.encode({"q": where(array)})
