"""Messages and schemas against a decoder of protobuf's wire format that knows nothing of them."""

import numpy as np
import pytest

from torqued.tools.recording.protobuf import Field, MessageType


def fields_of(data):
    """(number, wire type, value) of a message, by the encoding's own rules."""
    at, found = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            value = number()
        elif tag & 7 == 1:
            value, at = data[at : at + 8], at + 8
        else:
            size = number()
            value, at = data[at : at + size], at + size
        found.append((tag >> 3, tag & 7, value))
    return found


MESSAGE = MessageType(
    "torqued.Sample",
    [
        Field("count", "sfixed64"),
        Field("storage", comment="J"),
        *[Field(f"field{k}") for k in range(20)],  # tags of two bytes
        Field("com.position", shape=(3,), comment="m"),
        Field("M", shape=(20, 20), comment="kg m²"),
        Field("empty", shape=(0,)),
    ],
)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    shapes = {field.name: field.shape or () for field in MESSAGE.fields}
    found = {name: rng.normal(size=(5, *shape)) for name, shape in shapes.items()}
    return found | {"count": np.arange(-2, 3), "storage": np.full(5, np.nan)}


def test_messages_are_protobuf(columns):
    data = MESSAGE.encode(columns, 5)
    for k in range(5):
        found = fields_of(data[k * MESSAGE.size : (k + 1) * MESSAGE.size])
        assert [number for number, _, _ in found] == list(range(1, len(MESSAGE.fields) + 1))
        for (_, wire, value), field in zip(found, MESSAGE.fields, strict=True):
            assert wire == (1 if field.shape is None else 2)
            kind = "<i8" if field.kind == "sfixed64" else "<f8"
            expected = np.asarray(columns[field.name][k]).astype(kind)
            assert value == expected.tobytes()


def test_decoding_gives_every_bit_back(columns):
    found = MESSAGE.decode(MESSAGE.encode(columns, 5))
    for name, column in columns.items():
        assert found[name].tobytes() == np.ascontiguousarray(column).tobytes()


def test_bytes_of_another_message_are_refused(columns):
    data = bytearray(MESSAGE.encode(columns, 5))
    data[0] ^= 8
    with pytest.raises(ValueError, match="not laid out"):
        MESSAGE.decode(bytes(data))


def test_schema_is_a_set_of_one_file_with_names_numbers_types_and_units():
    ((_, _, file),) = fields_of(MESSAGE.schema())
    parts = {}
    for number, _, value in fields_of(file):
        parts.setdefault(number, []).append(value)
    assert parts[2] == [b"torqued"] and parts[12] == [b"proto3"]
    name, *fields = (value for _, _, value in fields_of(parts[4][0]))
    assert name == b"Sample"
    described = [{number: value for number, _, value in fields_of(item)} for item in fields]
    assert [item[3] for item in described] == list(range(1, len(fields) + 1))
    assert described[0][5] == 16 and described[1][5] == 1
    assert described[-2][1] == b"com_position" and described[-2][4] == 3
    comments = [
        {number: value for number, _, value in fields_of(item)}
        for _, _, item in fields_of(parts[9][0])
    ]
    assert {(item[1], item[3]) for item in comments} == {
        (bytes([4, 0, 2, 1]), b"J"),
        (bytes([4, 0, 2, 22]), b"m"),
        (bytes([4, 0, 2, 23]), "kg m²".encode()),
    }
