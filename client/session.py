"""A session: state frames out, output frames in, at the daemon's rate."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import zmq

from torqued.client.context_manager import Closing
from torqued.client.endpoints import reachable
from torqued.client.errors import AccessError, FieldError, TimeoutError
from torqued.client.keys import Keys, connect
from torqued.client.session_frames import Output, SessionFrames

__all__ = ["Output", "Session"]


class Session(SessionFrames, Closing):
    """An open session; closes itself at the end of a `with` block."""

    def __init__(
        self,
        context: zmq.Context[Any],
        opened: Mapping[str, Any],
        nq: int,
        nv: int,
        call: Callable[..., Any],
        request: str = "",
        keys: Keys | None = None,
    ) -> None:
        super().__init__(opened, nq, nv)
        self._call = call
        self.closed = False
        self._socket = context.socket(zmq.PAIR)
        self._socket.linger = 0
        endpoint = reachable(opened["endpoint"], request)
        connect(self._socket, endpoint, keys, opened.get("server_key"))

    def close(self) -> None:
        """Close the session; the daemon's last frame has zero torque.

        A daemon that is gone, or has been started anew, has no such session, nor has one that has
        revoked this client's key: nothing to do.
        """
        if self.closed:
            return
        self.closed = True
        try:
            with contextlib.suppress(TimeoutError, FieldError, AccessError):
                self._call("close", session=self.number)
        finally:
            self._socket.close(linger=0)

    def tune(self, gains: Mapping[str, Any], over: float = 0.1) -> None:
        """Change gains, gradually over so many seconds; those not given stay as they are."""
        self._call("tune", session=self.number, gains=dict(gains), over=over)

    def send(self, q: Any, v: Any, *references: Any, at: float | None = None, **named: Any) -> int:
        """Send a state without waiting; returns its sequence number.

        References follow in their order, or by name; those not given stay as they were. `at` is
        the time of measurement in s, for laws that learn and for observers; by default now.
        """
        frame = self._pack(q, v, references, named, at)
        try:
            self._socket.send(frame, zmq.DONTWAIT)
        except zmq.Again:
            raise not_taken() from None
        return self._sequence

    def latest(self) -> Output | None:
        """The newest output that has come, or None."""
        newest = None
        with contextlib.suppress(zmq.Again):
            while True:
                newest = self._socket.recv(zmq.DONTWAIT)
        return self._parse(newest) if newest is not None else None

    def receive(self, timeout: float = 1.0) -> Output:
        """The next output."""
        if not self._socket.poll(max(1, round(timeout * 1000))):
            raise no_output(timeout)
        return self._parse(self._socket.recv())

    def step(
        self,
        q: Any,
        v: Any,
        *references: Any,
        timeout: float = 1.0,
        at: float | None = None,
        **named: Any,
    ) -> Output:
        """Send a state and wait for the output that used it (or a newer one)."""
        sequence = self.send(q, v, *references, at=at, **named)
        deadline = time.monotonic() + timeout
        while True:
            output = self.receive(max(0.001, deadline - time.monotonic()))
            if output.sequence >= sequence:
                return output
            if time.monotonic() > deadline:
                raise TimeoutError(f"no output for state {sequence} within {timeout} s")


def not_taken() -> TimeoutError:
    """The error of a state that could not be sent."""
    return TimeoutError("the daemon does not take states; is it running?")


def no_output(timeout: float) -> TimeoutError:
    """The error after waiting for an output."""
    return TimeoutError(f"no output within {timeout} s; is the daemon running?")
