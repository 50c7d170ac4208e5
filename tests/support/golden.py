"""Messages and frames beside their bytes: what docs/PROTOCOL.md shows and both directions obey."""

import struct

import numpy as np

#: Name → (message, bytes in hexadecimal).
MESSAGES = {
    "request hello": (
        {"protocol": 1, "id": 1, "op": "hello"},
        "83a870726f746f636f6c01a2696401a26f70a568656c6c6f",
    ),
    "request dynamics, q = [0.5, -1], want = [g]": (
        {"protocol": 1, "id": 2, "op": "dynamics", "q": np.array([0.5, -1.0]), "want": ["g"]},
        "85a870726f746f636f6c01a2696402a26f70a864796e616d696373a171c718016401000002000000"
        "000000000000e03f000000000000f0bfa477616e7491a167",
    ),
    "reply, M = [[1, 2]]": (
        {"protocol": 1, "id": 2, "ok": True, "M": np.array([[1.0, 2.0]])},
        "84a870726f746f636f6c01a2696402a26f6bc3a14dc7200164020000010000000200000000000000"
        "000000000000f03f0000000000000040",
    ),
    "error reply to a request with id = a": (
        {
            "protocol": 1,
            "id": "a",
            "ok": False,
            "error": {"code": "missing_field", "message": "close: field 'session' is missing"},
        },
        "84a870726f746f636f6c01a26964a161a26f6bc2a56572726f7282a4636f6465ad6d697373696e67"
        "5f6669656c64a76d657373616765d921636c6f73653a206669656c64202773657373696f6e272069"
        "73206d697373696e67",
    ),
    "map, n = 7 as an array of int64 without dimensions": (
        {"n": np.array(7)},
        "81a16ed80171000000000000000700000000000000",
    ),
    "map, x = an array of float32 of shape (0, 3)": (
        {"x": np.zeros((0, 3), np.float32)},
        "81a178d80166020000000000000300000000000000",
    ),
}

#: Name → (text, payload, bytes in hexadecimal).
FRAMES = {
    "state 1, stamp 0.25 s, at 0 s, q = [0.5], v = [-1]": (
        "tqrd",
        struct.pack("<Qdddd", 1, 0.25, 0.0, 0.5, -1.0),
        "92a474717264c4280100000000000000000000000000d03f0000000000000000000000000000e03f"
        "000000000000f0bf",
    ),
    "output at tick 9 before any state, STALE and FALLBACK, 10 µs, at 2 s, due at 1.999 s, "
    "tau = [0]": (
        "tqrd",
        struct.pack("<QqqQdddddd", 9, -1, -1, 5, 0.0, 1e-5, 2.0, 1.999, 0.0, 0.0),
        "92a474717264c4500900000000000000ffffffffffffffffffffffffffffffff0500000000000000"
        "0000000000000000f168e388b5f8e43e000000000000004096438b6ce7fbff3f0000000000000000"
        "0000000000000000",
    ),
}
