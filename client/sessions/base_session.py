"""What `Session` and `AsyncSession` share: their frames, and orders for the daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from torqued.client.errors import TimeoutError
from torqued.client.keys import Keys
from torqued.client.requests.request_parts import numbers, options
from torqued.client.requests.targets import path, targets
from torqued.client.sessions.session_frames import NO_STATE, Output, SessionFrames
from torqued.client.sessions.transports import transport_for

#: s that `step` waits in lock step.
SIMULATION_PATIENCE = 10.0
#: A state is sent again after this share of the time that its output may take, and after s at most.
SENT_AGAIN, SENT_AGAIN_AT_MOST = 0.25, 0.1
#: Results of orders: None and s in `Session`, coroutines of them in `AsyncSession`.
Done = TypeVar("Done")
Seconds = TypeVar("Seconds")


class BaseSession(SessionFrames, Generic[Done, Seconds]):
    """A session's frames, their transport, and its orders.

    `call` is the client's, for orders; `request` the endpoint that the session was opened at;
    `timeout` how long `step` and `receive` wait where they are not given another: the client's, or
    the session's patience.
    """

    def __init__(
        self,
        context: Any,
        opened: Mapping[str, Any],
        call: Callable[..., Any],
        request: str = "",
        keys: Keys | None = None,
        timeout: float | None = None,
    ) -> None:
        self._call = call
        self.timeout = patience(opened) if timeout is None else timeout
        self._same_clock = not request.startswith("tcp:")
        super().__init__(opened, self._same_clock)
        self.closed = False
        self.transport: str = opened.get("transport", "socket")
        self.clock: str = opened.get("clock", "loop")
        self._transport = transport_for(context, opened, request, keys, self._at_once)

    def _at_once(self, call: Any) -> Any:
        """The result of a call of a socket with DONTWAIT."""
        return call

    def send(
        self, q: Any, v: Any = None, *references: Any, at: float | None = None, **named: Any
    ) -> int:
        """Send a state without waiting; returns its sequence number. v is optional for a stream.

        References follow in their order, or by name; those not given stay as they were. `at` is
        the robot's time in s if that is not the clock's, as in a simulation: laws that learn
        and observers use it. Once the session has ended, nothing is sent.
        """
        if self._last is None:
            self._transport.send(self._pack(q, v, references, named, at))
        return self._sequence

    def _order(self, operation: str, take: Callable[[Any], Any], **fields: Any) -> Any:
        """What `take` makes of the reply to an operation about this session."""
        raise NotImplementedError

    def tune(self, gains: Mapping[str, Any], over: float = 0.1, check: str = "refuse") -> Done:
        """Change gains, gradually over so many seconds; those not given stay as they are.

        `check="warn"` uses gains that are unstable by the model; `overridden` then says why.
        """

        def take(reply: Any) -> None:
            self.gains, self.overridden = dict(reply["gains"]), reply["overridden"]

        done: Done = self._order("tune", take, gains=dict(gains), over=over, check=check)
        return done

    def hold(self) -> Done:
        """Bring the references to rest and keep them there, until `resume` or `move_to`."""
        done: Done = self._order("hold", no_result)
        return done

    def resume(self) -> Done:
        """Leave the fallback, or a hold: hold the present state, then follow what `step` gives."""
        self._forget_references()
        done: Done = self._order("resume", no_result)
        return done

    def move_to(
        self,
        target: Any,
        seconds: float | None = None,
        motion: str = "",
        speed: float | None = None,
    ) -> Seconds:
        """Move joints to q (nq,), or a law's frame to a pose (4, 4), and hold there.

        In `seconds`, or at `speed`, a share of the speed limits, above 0 and up to 1 (default: the
        daemon's `move_speed`, a quarter); returns the seconds that it takes. Goes on while states
        are sent; references of `step` are ignored until `resume`. `motion` is the name of a motion,
        where a law moves several frames.
        """
        fields: dict[str, Any] = {"references": targets(target, self.references, motion)}
        fields |= options(seconds=seconds, speed=speed)
        taken: Seconds = self._order("move", lambda reply: float(reply["seconds"]), **fields)
        return taken

    def follow(self, times: Any, q: Any, motion: str = "", speed: float | None = None) -> Seconds:
        """Move joints through via points q (N, nq) without a stop, at `times` (N,) s from now, and
        hold the last one; returns the seconds that it takes.

        With None for `times` as fast as the limits of references allow at `speed`, a share of the
        speed limits. The path begins and ends at rest; `move_to` says the rest.
        """
        fields: dict[str, Any] = {"references": path(q, self.references, motion)}
        fields |= options(speed=speed)
        fields |= numbers(times=times)
        taken: Seconds = self._order("move", lambda reply: float(reply["seconds"]), **fields)
        return taken

    def set_payload(
        self, frame: str, mass: float, center: Any = None, inertia: Any = None, over: float = 0.5
    ) -> Done:
        """What `frame` carries from now on, gradually over so many seconds; mass 0: nothing.

        kg, m and kg m² about the center, in the frame's axes; docs/CONTROL.md. It is this session's
        alone, and ends with it.
        """

        def take(reply: Any) -> None:
            self.payloads = reply["payload"]

        fields = {"frame": frame, "mass": mass, "center": center, "inertia": inertia, "over": over}
        done: Done = self._order("payload", take, **fields)
        return done

    def _leave(self) -> None:
        """Disconnect, so that the daemon knows that the last output has arrived."""
        self._transport.close()

    def latest(self) -> Output | None:
        """The newest output, or None if there is none, or it is too old."""
        if self._last is not None:
            return self._last
        newest = self._transport.newest()
        return None if newest is None else self._accept(newest)


def patience(opened: Mapping[str, Any]) -> float:
    """s that a driver waits for an output: as long as the daemon holds a torque without states.

    A driver that waits longer leaves the robot with its last torque. A simulation may wait.
    """
    if opened.get("clock") == "lockstep":
        return SIMULATION_PATIENCE
    return float(opened["stale_after"] + opened["hold"])


def pause_before_sending_again(timeout: float) -> float:
    """s without an output that has seen a state until the state is sent again, to the bit.

    ZMQ_CONFLATE loses a message that is written while the reader holds its lock, and only the next
    one pushes it out: in lock step that would never come. The daemon ignores a second copy.
    """
    return min(SENT_AGAIN * timeout, SENT_AGAIN_AT_MOST)


def no_result(_: Any) -> None:
    """For orders whose reply has no result."""


def no_output(timeout: float, sequence: int = NO_STATE) -> TimeoutError:
    """The error after waiting for an output that has seen that state."""
    state = "" if sequence == NO_STATE else f" for state {sequence}"
    return TimeoutError(f"no fresh output{state} within {timeout} s; is the daemon running?")
