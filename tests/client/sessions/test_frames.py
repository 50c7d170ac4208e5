"""Session frames: fixed offsets, and msgpack like any other."""

import msgpack
import pytest

from support.golden import FRAMES
from torqued.client.sessions import frames


@pytest.mark.parametrize("name", FRAMES)
def test_prefix_and_payload_are_the_golden_bytes(name):
    _, payload, golden = FRAMES[name]
    assert (frames.prefix(len(payload)) + payload).hex() == golden


@pytest.mark.parametrize("name", FRAMES)
def test_golden_bytes_are_msgpack_of_text_and_payload(name):
    text, payload, golden = FRAMES[name]
    assert msgpack.unpackb(bytes.fromhex(golden)) == [text, payload]


@pytest.mark.parametrize("size", [0, 16, 255, 256, 65535, 65536, 100_000])
def test_payload_begins_at_byte_8_and_a_library_writes_the_same_bytes(size):
    frame = frames.prefix(size) + bytes(size)
    text, payload = msgpack.unpackb(frame)
    assert frame[frames.PAYLOAD :] == payload == bytes(size)
    assert msgpack.packb([text, payload]) == frame
