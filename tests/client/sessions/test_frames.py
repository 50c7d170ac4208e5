"""Session frames: fixed offsets, and msgpack like any other."""

import msgpack
import numpy as np
import pytest

from support.golden import FRAMES
from torqued.client.sessions import frames
from torqued.client.sessions.session_frames import SessionFrames
from torqued.common.errors import InputError


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


@pytest.mark.parametrize("masked", ["q", "v", "q_ref"])
def test_state_with_masked_numbers_is_refused(masked):
    start = frames.PAYLOAD + frames.STATE_HEAD.size
    parts = [
        {"name": name, "offset": start + 16 * k, "shape": [2]}
        for k, name in enumerate(("q", "v", "q_ref"))
    ]
    opened = {"session": 1, "law": "pd", "gains": {}, "period": 1e-3, "outputs": []}
    opened |= {"state": parts[:2], "references": parts[2:], "output_bytes": 0}
    session = SessionFrames(opened | {"state_bytes": start + 48})
    state = {"q": np.ones(2), "v": np.ones(2), "q_ref": np.ones(2)}
    first = bytes(session._pack(state["q"], state["v"], [state["q_ref"]], {}, None))
    state[masked] = np.ma.masked_array(state[masked], [False, True])
    with pytest.raises(InputError, match=rf"^{masked}\[1\] is masked"):
        session._pack(state["q"], state["v"], [state["q_ref"]], {}, None)
    again = bytes(session._pack([1.0, 1.0], [1.0, 1.0], [], {}, None))
    assert again[start:] == first[start:]
