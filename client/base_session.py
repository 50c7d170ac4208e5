"""What `Session` and `AsyncSession` have in common: all that does not wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.client.channels import channel_for
from torqued.client.errors import TimeoutError
from torqued.client.keys import Keys
from torqued.client.session_frames import Output, SessionFrames


class BaseSession(SessionFrames):
    """A session's frames and the channel that they go through.

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
        self._channel = channel_for(context, opened, request, keys, self._at_once)

    def _at_once(self, call: Any) -> Any:
        """The result of a call of a socket with DONTWAIT."""
        return call

    def send(
        self, q: Any, v: Any = None, *references: Any, at: float | None = None, **named: Any
    ) -> int:
        """Send a state without waiting; returns its sequence number. A stream's may be at rest.

        References follow in their order, or by name; those not given stay as they were. `at` is
        the robot's time in s where that is not the clock's, as in a simulation: laws that learn
        and observers go by it. Once the session has ended, nothing is sent.
        """
        frame = self._pack(q, v, references, named, at)
        if self._last is not None:
            return self._sequence
        self._channel.send(frame)
        return self._sequence

    def _leave(self) -> None:
        """Disconnect, so that the daemon knows that the last output has arrived."""
        self._channel.close()

    def latest(self) -> Output | None:
        """The newest output that has come, or None where that is none, or too old."""
        newest = self._channel.newest() if self._last is None else None
        output = self._parse(newest) if newest is not None else self._last
        return output if output is not None and self._is_fresh(output) else None


def no_output(timeout: float) -> TimeoutError:
    """The error after waiting for an output."""
    return TimeoutError(f"no fresh output within {timeout} s; is the daemon running?")
