"""Keys for daemons over TCP. Local sockets need none: the mode of their files decides.

A key file is TOML, of mode 0600, as `torqued keys new NAME` writes it:

    public = "…"    40 characters (Z85) each
    secret = "…"
    server = "…"    the daemon's public key, which authenticates it
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import zmq

from torqued.client.endpoints import check_local, host_and_port
from torqued.common.errors import TorquedError

Z85 = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")


class Keys:
    """A client's key pair, and the public key of the daemon that it trusts."""

    def __init__(self, public: bytes, secret: bytes, server: bytes) -> None:
        self.public, self.secret, self.server = public, secret, server

    def protect(self, socket: zmq.Socket[Any], server: str | None = None) -> None:
        """Encrypt and authenticate the connection of a socket.

        A session has its own `server` key, so that it is not mistaken for another.
        """
        socket.curve_publickey = self.public
        socket.curve_secretkey = self.secret
        socket.curve_serverkey = server.encode() if server else self.server


def connect(
    socket: zmq.Socket[Any], endpoint: str, keys: Keys | None, server: str | None = None
) -> None:
    """Connect a socket, with keys if there are any; `server` is a session's own key.

    Refuses a local socket that another user may have made. A socket that cannot be connected is
    closed; otherwise its context could not end.
    """
    try:
        check_local(endpoint)
        if keys:
            keys.protect(socket, server)
        socket.ipv6 = endpoint.startswith("tcp://[")
        socket.connect(endpoint)
    except BaseException as error:
        socket.close(linger=0)
        if isinstance(error, zmq.ZMQError):
            raise TorquedError(
                f"cannot connect to {endpoint!r}: {error.strerror}; "
                "expected ipc:///FOLDER/NAME.sock or tcp://HOST:PORT"
            ) from None
        raise


def find_keys(endpoint: str, key: str | Path | None, server_key: str | Path | None) -> Keys | None:
    """The keys for an endpoint: files or keys, else $TORQUED_KEY and $TORQUED_SERVER_KEY.

    None for local sockets, and for TCP without a key: then the connection is not encrypted, which a
    daemon accepts only with --plain-tcp.
    """
    if not endpoint.startswith("tcp://"):
        return None
    host_and_port(endpoint)  # raises if it is not one
    key = key or os.environ.get("TORQUED_KEY")
    server_key = server_key or os.environ.get("TORQUED_SERVER_KEY")
    if not key:
        if server_key:
            raise TorquedError("server key without a client key: give `key` or $TORQUED_KEY too")
        return None
    own = read_key(key, "secret")
    server = read_key(server_key, "public").get("public") if server_key else own.get("server")
    if not server:
        raise TorquedError(
            f"the daemon's public key is not in {key}: give `server_key` or $TORQUED_SERVER_KEY "
            "(`torqued keys server` prints it)"
        )
    secret = own["secret"].encode()
    return Keys(zmq.curve_public(secret), secret, server.encode())


def read_key(key: str | Path, wanted: str) -> dict[str, str]:
    """The keys in a file, or the given key as the `wanted` one."""
    path = Path(key)
    if not os.path.isfile(path):  # False also for impossible names
        if Z85.fullmatch(str(key)):
            return {wanted: str(key)}
        raise TorquedError(
            f"{wanted} key: {_shown(str(key))} is neither a file nor a key of 40 characters"
        )
    return read_key_file(path, wanted)


def _shown(key: str) -> str:
    """A path as it is; only the beginning of a possible mistyped secret, or of a long text.

    A secret may contain "/": a text of its length counts as a path only if its directory exists.
    """
    folder = os.path.dirname(key)
    is_path = folder.strip("/.") != "" and os.path.isdir(folder)
    if 30 < len(key) < 50 and not is_path:
        return f"{key[:4]!r} …"
    return repr(key) if len(key) <= 200 else f"{key[:60]!r} … ({len(key)} long)"


def read_key_file(path: Path, wanted: str) -> dict[str, str]:
    """The keys in a file; raises if it lacks the `wanted` one, or others may read a secret."""
    import tomllib  # a slow import, only for keys

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TorquedError(f"cannot read key file {path}: {error}") from None
    for name in {wanted, *found} & {"public", "secret", "server"}:
        if not isinstance(found.get(name), str) or not Z85.fullmatch(found[name]):
            raise TorquedError(f"key file {path}: {name!r} is missing or not 40 characters (Z85)")
    mode = path.stat().st_mode & 0o777
    if "secret" in found and mode & 0o077:
        raise TorquedError(
            f"key file {path} has mode {mode:04o}, expected 0600: others can read the secret"
        )
    return found
