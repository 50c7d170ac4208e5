"""The little of ZMTP 3 that a peer needs who does not keep to ZeroMQ's manners."""

import socket

MORE, LONG, COMMAND = 1, 2, 4


def frame(data: bytes, flags: int = 0) -> bytes:
    """A frame as it is on the wire."""
    if len(data) > 255:
        return bytes([flags | LONG]) + len(data).to_bytes(8, "big") + data
    return bytes([flags, len(data)]) + data


def properties(**values: bytes) -> bytes:
    """Metadata of a handshake; `_` in names stands for `-`."""
    out = b""
    for name, value in values.items():
        key = name.replace("_", "-").encode()
        out += bytes([len(key)]) + key + len(value).to_bytes(4, "big") + value
    return out


def connect(address: str | tuple[str, int], identity: bytes = b"") -> socket.socket:
    """A connection as of a DEALER socket, without keys; its handshake is done."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    peer = socket.socket(family)
    peer.settimeout(60.0)
    peer.connect(address)
    peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    ready = b"\x05READY" + properties(Socket_Type=b"DEALER", Identity=identity)
    peer.sendall(frame(ready, COMMAND))
    got = b""
    while len(got) < 66 or len(got) < 66 + got[65]:  # greeting, then READY
        more = peer.recv(4096)
        if not more:
            raise ConnectionError("the handshake was refused")
        got += more
    return peer
