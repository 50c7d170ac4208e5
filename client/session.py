"""A session: state frames out, output frames in, at the daemon's rate."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import zmq

from torqued.client.context_manager import ContextManager
from torqued.client.errors import AccessError, FieldError, TimeoutError
from torqued.client.keys import Keys
from torqued.client.session_frames import Output, SessionFrames
from torqued.client.session_socket import connect_session, has_same_clock

__all__ = ["Output", "Session"]


class Session(SessionFrames, ContextManager):
    """An open session; closes itself at the end of a `with` block.

    The newest wins in both directions: a state that was not sent when the next one comes is
    dropped, and so is an output that was not read. Outputs older than `oldest_output` s when they
    are read are passed over and counted in `late`. Once the session has ended, its last output,
    of zero torque, is what is returned, at once.
    """

    def __init__(
        self,
        context: zmq.Context[Any],
        opened: Mapping[str, Any],
        call: Callable[..., Any],
        request: str = "",
        keys: Keys | None = None,
    ) -> None:
        super().__init__(opened, has_same_clock(request))
        self._call = call
        self.closed = False
        socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
        self._socket = connect_session(socket, opened, request, keys)

    def close(self) -> None:
        """Close the session; the daemon's last frame has zero torque.

        A daemon that is gone, or has been started anew, has no such session, nor has one that has
        revoked this client's key: nothing to do.
        """
        if self.closed:
            return
        self.closed = True
        try:
            if self._last is None:
                with contextlib.suppress(TimeoutError, FieldError, AccessError):
                    self._call("close", session=self.number)
        finally:
            self._socket.close(linger=0)

    def tune(self, gains: Mapping[str, Any], over: float = 0.1) -> None:
        """Change gains, gradually over so many seconds; those not given stay as they are."""
        reply = self._call("tune", session=self.number, gains=dict(gains), over=over)
        self.gains = dict(reply["gains"])

    def send(self, q: Any, v: Any, *references: Any, at: float | None = None, **named: Any) -> int:
        """Send a state without waiting; returns its sequence number.

        References follow in their order, or by name; those not given stay as they were. `at` is
        the robot's time in s where that is not the clock's, as in a simulation: laws that learn
        and observers go by it.
        """
        frame = self._pack(q, v, references, named, at)
        try:
            self._socket.send(frame, zmq.DONTWAIT)
        except zmq.Again:
            raise not_taken() from None
        return self._sequence

    def latest(self) -> Output | None:
        """The newest output that has come, or None where that is none, or too old."""
        newest = None
        with contextlib.suppress(zmq.Again):
            while True:
                newest = self._socket.recv(zmq.DONTWAIT)
        output = self._parse(newest) if newest is not None else self._last
        return output if output is not None and self._is_fresh(output) else None

    def receive(self, timeout: float = 1.0) -> Output:
        """The next output that is fresh."""
        if self._last is not None:
            return self._last
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            if not self._socket.poll(max(1, round(left * 1000))):
                raise no_output(timeout)
            output = self._parse(self._socket.recv())
            if self._is_fresh(output):
                return output
            if left <= 0.0:
                raise no_output(timeout)

    def step(
        self,
        q: Any,
        v: Any,
        *references: Any,
        timeout: float = 1.0,
        at: float | None = None,
        **named: Any,
    ) -> Output:
        """Send a state and wait for the output that has seen it, or a newer one.

        Where the state was refused, or the session has ended, that is the output that says so.
        """
        if self._last is not None:
            return self._last
        sequence = self.send(q, v, *references, at=at, **named)
        deadline = time.monotonic() + timeout
        while True:
            output = self.receive(max(0.001, deadline - time.monotonic()))
            if self._answers(output, sequence):
                return output
            if time.monotonic() > deadline:
                raise TimeoutError(f"no output for state {sequence} within {timeout} s")


def not_taken() -> TimeoutError:
    """The error of a state that could not be sent."""
    return TimeoutError("the daemon does not take states; is it running?")


def no_output(timeout: float) -> TimeoutError:
    """The error after waiting for an output."""
    return TimeoutError(f"no fresh output within {timeout} s; is the daemon running?")
