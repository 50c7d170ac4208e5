"""What `Session` and `AsyncSession` have in common: the socket, and all that does not wait."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import zmq

from torqued.client.endpoints import reachable
from torqued.client.errors import TimeoutError
from torqued.client.keys import Keys, connect
from torqued.client.session_frames import Output, SessionFrames


class BaseSession(SessionFrames):
    """A session's frames and the DEALER socket that they go through.

    `request` is the endpoint that the session was opened at.
    """

    def __init__(
        self, context: Any, opened: Mapping[str, Any], request: str, keys: Keys | None
    ) -> None:
        super().__init__(opened, same_clock=not request.startswith("tcp:"))
        self.closed = False
        endpoint, owner = reachable(opened["endpoint"], request), opened["owner"].encode()
        # A socket that is never closed keeps its context from ending: nothing may fail until
        # `connect`, which closes what it cannot connect.
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 0  # nothing waits for a daemon that is gone
        self._socket.routing_id = owner  # by which the daemon knows its client
        if not endpoint.startswith("inproc:"):  # whose pipes carry the routing id as a message
            self._socket.conflate = True  # the newest state and the newest output win
        connect(self._socket, endpoint, keys, opened.get("server_key"))

    def _at_once(self, call: Any) -> Any:
        """The result of a call of the socket with DONTWAIT."""
        return call

    def send(self, q: Any, v: Any, *references: Any, at: float | None = None, **named: Any) -> int:
        """Send a state without waiting; returns its sequence number.

        References follow in their order, or by name; those not given stay as they were. `at` is
        the robot's time in s where that is not the clock's, as in a simulation: laws that learn
        and observers go by it. Once the session has ended, nothing is sent.
        """
        frame = self._pack(q, v, references, named, at)
        if self._last is not None:
            return self._sequence
        try:
            self._at_once(self._socket.send(frame, zmq.DONTWAIT))
        except zmq.Again:
            raise TimeoutError("the daemon does not take states; is it running?") from None
        return self._sequence

    def _parse(self, data: bytes) -> Output:
        """An output; with the last one the client leaves, so that the daemon knows it arrived."""
        output = super()._parse(data)
        if output.is_last:
            self._leave()
        return output

    def _leave(self) -> None:
        """Disconnect; a socket whose endpoint is disconnected would only do so when next used."""
        self._socket.close(linger=0)

    def latest(self) -> Output | None:
        """The newest output that has come, or None where that is none, or too old."""
        newest = None
        if self._last is None:
            with contextlib.suppress(zmq.Again):
                while True:
                    newest = self._at_once(self._socket.recv(zmq.DONTWAIT))
        output = self._parse(newest) if newest is not None else self._last
        return output if output is not None and self._is_fresh(output) else None


def no_output(timeout: float) -> TimeoutError:
    """The error after waiting for an output."""
    return TimeoutError(f"no fresh output within {timeout} s; is the daemon running?")
