"""The ZAP handler: decides which peers may connect (ZeroMQ RFC 27).

ZeroMQ has checked by then that the peer holds the secret half of the public key it shows. The
handler looks the key up in the current allow-list. A session's socket has its own domain, which
only the key that opened the session passes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from typing import Any

import zmq
from zmq.utils import z85

from torqued.server.access.allow_list import AllowList

log = logging.getLogger("torqued")

#: Where ZeroMQ asks, in each context.
ZAP = "inproc://zeromq.zap.01"
#: Domain of the sockets that every allowed client may connect to.
EVERYONE = "torqued"
#: Domain of sockets without keys: any peer may connect.
KEYLESS = "keyless"
#: Seconds between lines in the log about refused connections: a flood must not fill the disk.
QUIET = 1.0


class ZapHandler:
    """A thread that answers for all sockets of some contexts."""

    def __init__(self, contexts: Iterable[zmq.Context[Any]], allowed: AllowList) -> None:
        self.allowed = allowed
        self.sessions: dict[str, bytes] = {}  # domain → the one key that passes
        self.refused = 0
        self._logged = 0.0
        self._sockets: list[zmq.Socket[bytes]] = []
        self._poller = zmq.Poller()
        for context in contexts:
            socket: zmq.Socket[bytes] = context.socket(zmq.REP)
            socket.linger = 0
            socket.bind(ZAP)
            self._sockets.append(socket)
            self._poller.register(socket, zmq.POLLIN)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._answer, name="zap", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering; call this when all sockets that ask it are closed."""
        self._stopping.set()
        self._thread.join()

    def _answer(self) -> None:
        while not self._stopping.is_set():
            for socket, _ in self._poller.poll(50):
                socket.send_multipart(self._reply(socket.recv_multipart()))
        for socket in self._sockets:
            socket.close()

    def _reply(self, question: list[bytes]) -> list[bytes]:
        """200 with the key as user id, or 400. An error never admits a peer."""
        version, number = question[:2]
        try:
            domain, address, _, mechanism, *credentials = question[2:]
            key = z85.encode(credentials[0]) if mechanism == b"CURVE" else b""
            passes = self._passes(domain.decode(), mechanism.decode(), key)
        except Exception:
            log.exception("ZAP: malformed request")
            address, key, passes = b"unknown", b"", False
        if passes:
            return [version, number, b"200", b"OK", key, b""]
        self._refuse(address.decode(errors="replace"), key.decode())
        return [version, number, b"400", b"not allowed", b"", b""]

    def _passes(self, domain: str, mechanism: str, key: bytes) -> bool:
        if mechanism == "NULL":  # allowed on keyless sockets only
            return domain == KEYLESS
        if key not in self.allowed.clients():
            return False
        return domain == EVERYONE or self.sessions.get(domain) == key

    def _refuse(self, address: str, key: str) -> None:
        self.refused += 1
        now = time.monotonic()
        if now - self._logged > QUIET:
            self._logged = now
            log.warning("refused %s with key %s; %d so far", address, key, self.refused)
