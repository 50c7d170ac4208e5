"""What `Session` and `AsyncSession` have in common: all that does not wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.client.errors import TimeoutError
from torqued.client.keys import Keys
from torqued.client.session_frames import NO_STATE, Output, SessionFrames
from torqued.client.transports import transport_for


class BaseSession(SessionFrames):
    """A session's frames and their transport.

    `request` is the endpoint that the session was opened at.
    """

    def __init__(
        self, context: Any, opened: Mapping[str, Any], request: str, keys: Keys | None
    ) -> None:
        self._same_clock = not request.startswith("tcp:")
        super().__init__(opened, self._same_clock)
        self.closed = False
        self.transport: str = opened.get("transport", "socket")
        self.clock: str = opened.get("clock", "loop")
        self._transport = transport_for(context, opened, request, keys, self._at_once)

    def _at_once(self, call: Any) -> Any:
        """The result of a call of a socket with DONTWAIT."""
        return call

    def send(self, q: Any, v: Any, *references: Any, at: float | None = None, **named: Any) -> int:
        """Send a state without waiting; returns its sequence number.

        References follow in their order, or by name; those not given stay as they were. `at` is
        the robot's time in s where that is not the clock's, as in a simulation: laws that learn
        and observers go by it. Once the session has ended, nothing is sent.
        """
        if self._last is None:
            self._transport.send(self._pack(q, v, references, named, at))
        return self._sequence

    def _leave(self) -> None:
        """Disconnect, so that the daemon knows that the last output has arrived."""
        self._transport.close()

    def latest(self) -> Output | None:
        """The newest output that has come, or None where that is none, or too old."""
        if self._last is not None:
            return self._last
        newest = self._transport.newest()
        return None if newest is None else self._accept(newest)


def no_output(timeout: float, sequence: int = NO_STATE) -> TimeoutError:
    """The error after waiting for an output that has seen that state."""
    state = "" if sequence == NO_STATE else f" for state {sequence}"
    return TimeoutError(f"no fresh output{state} within {timeout} s; is the daemon running?")
