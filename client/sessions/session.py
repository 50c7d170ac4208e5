"""A session: state frames out, output frames in, at the daemon's rate."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

from torqued.client.context_manager import ContextManager
from torqued.client.errors import AccessError, FieldError, TimeoutError
from torqued.client.sessions.base_session import BaseSession, no_output, pause_before_sending_again
from torqued.client.sessions.session_frames import NO_STATE, Output
from torqued.common.errors import TorquedError

__all__ = ["Output", "Session"]


class Session(BaseSession[None, float], ContextManager):
    """An open session; closes itself at the end of a `with` block.

    The newest wins in both directions: a state that is still unsent when the next one comes is
    dropped, and so is an unread output. Outputs older than `max_output_age` s when they are read
    are skipped and counted in `late` (20 ms; with `clock="state"`, where each state is answered
    once, not less than `stale_after`). Once the session has ended, all calls return its last
    output, of zero torque, at once.
    """

    def close(self) -> None:
        """Close the session; the daemon's last frame has zero torque.

        If the daemon has ended or restarted, or has revoked this client's key, there is no session
        to close.
        """
        if self.closed:
            return
        self.closed = True
        try:
            if self._last is None:
                with contextlib.suppress(TimeoutError, FieldError, AccessError):
                    self._call("close", session=self.number)
        finally:
            self._transport.close()

    def _order(self, operation: str, take: Callable[[Any], Any], **fields: Any) -> Any:
        return take(self._call(operation, session=self.number, **fields))

    def receive(self, timeout: float | None = None, sequence: int = NO_STATE) -> Output:
        """The next output that is fresh, within `timeout` s, by default `self.timeout`.

        With `sequence`, which `send` has returned last, the next one that has seen that state.
        """
        return self._next(sequence, timeout)

    def align(self, lead: float = 2e-4) -> float:
        """Sleep until `lead` s before the loop's next tick; when that is due, by time.monotonic().

        A state that is sent then hardly waits for the loop. The `age` of outputs shows whether
        `lead` fits: if it is about a period, states come too late for their tick.
        """
        if not 0.0 <= lead < self.period:
            raise ValueError(f"lead is {lead}, expected 0 … {self.period} s, the loop's period")
        if not self._same_clock:
            raise TorquedError("align requires a local daemon: over TCP clocks differ")
        if math.isnan(self._deadline):
            self.receive()
        ticks = math.ceil((time.monotonic() + lead - self._deadline) / self.period)
        due = self._deadline + ticks * self.period
        time.sleep(max(0.0, due - lead - time.monotonic()))
        return due

    def step(
        self,
        q: Any,
        v: Any = None,
        *references: Any,
        timeout: float | None = None,
        at: float | None = None,
        **named: Any,
    ) -> Output:
        """Send a state and wait for the output that has seen it, or a newer one.

        If none comes within `timeout` s, by default `self.timeout`, TimeoutError: do what is safe
        without the daemon, as `examples/session.py` shows. If the state was refused, or the session
        has ended, the output says so.
        """
        if self._last is None:
            self._transport.send(self._pack(q, v, references, named, at))
        return self._next(self._sequence, timeout)

    def _next(self, sequence: int, timeout: float | None) -> Output:
        """The next fresh output that has seen that state, or the one that ended the session."""
        timeout = self.timeout if timeout is None else timeout
        if self._last is not None:
            return self._last
        pause = timeout if sequence == NO_STATE else pause_before_sending_again(timeout)
        now = time.monotonic()
        deadline, again = now + timeout, now + pause
        while (left := min(again, deadline) - now) >= 0.0:
            data = self._transport.receive(left)
            if data is not None and (output := self._accept(data, sequence)) is not None:
                return output
            now = time.monotonic()
            if again <= now < deadline:
                self._transport.send(self._frame)
                again = now + pause
        raise no_output(timeout, sequence)
