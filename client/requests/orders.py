"""Operations on sessions: the methods that make their requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.client.requests import results
from torqued.client.requests.methods import Method
from torqued.client.requests.request_parts import (
    Request,
    arrays_of,
    as_number,
    numbers,
    only,
    options,
)


class Orders:
    """What is asked of a session, by its number."""

    @Method
    @staticmethod
    def take(
        session: int, take_over: bool | None = None, lease: float | None = None
    ) -> Request[results.SessionState]:
        """Become the commander of a session, which then holds; `take_over`: in place of another.

        A commander that asks for nothing for `lease` s (default 1) counts as dead: the session
        holds.
        """
        fields = {"session": session} | options(take_over=take_over, lease=lease)
        return Request("take", fields, results.SessionState)

    @Method
    @staticmethod
    def give(session: int) -> Request[None]:
        """Command a session no longer; it holds."""
        return Request("give", {"session": session}, lambda fields: None)

    @Method
    @staticmethod
    def hold(session: int) -> Request[None]:
        """Bring a session's references to rest and keep them there, whatever its states say."""
        return Request("hold", {"session": session}, lambda fields: None)

    @Method
    @staticmethod
    def move(
        session: int,
        references: Mapping[str, Any],
        seconds: float | None = None,
        speed: float | None = None,
        times: Any = None,
    ) -> Request[float]:
        """Move to references, by name, in `seconds`, or at `speed`; then hold.

        `speed` is a share of the speed limits, above 0 and up to 1 (default: the daemon's
        `move_speed`, a quarter). Joint positions (N, nq) are via points, passed at `times` (N,) s
        or at `speed`. The seconds that it takes.
        """
        given = arrays_of("references", references)
        fields = {"session": session, "references": given}
        fields |= options(seconds=seconds, speed=speed) | numbers(times=times)
        return Request("move", fields, only("seconds"))

    @Method
    @staticmethod
    def command(session: int, references: Mapping[str, Any]) -> Request[None]:
        """Have a session follow references, by name, in place of those of its states."""
        given = arrays_of("references", references)
        fields = {"session": session, "references": given}
        return Request("command", fields, lambda fields: None)

    @Method
    @staticmethod
    def resume(session: int) -> Request[None]:
        """Leave the fallback and all orders: hold the present state, then follow references."""
        return Request("resume", {"session": session}, lambda fields: None)

    @Method
    @staticmethod
    def close_session(session: int) -> Request[None]:
        """Close a session by its number, as one that a dead driver left; its torque ends at zero.

        Sessions of other clients need the right to administrate, which local clients have.
        """
        return Request("close", {"session": session}, lambda fields: None)

    @Method
    @staticmethod
    def look(session: int) -> Request[results.SessionState]:
        """A session's newest state, its references in effect and what it is doing."""
        return Request("look", {"session": session}, results.SessionState)

    @Method
    @staticmethod
    def set_payload(
        session: int,
        frame: str,
        mass: float,
        center: Any = None,
        inertia: Any = None,
        over: float | None = None,
    ) -> Request[list[dict[str, Any]]]:
        """What a frame of an open session's robot carries from now on, as `Session.set_payload`.

        `session` is its number. Gives all that the session carries, a map for each frame.
        """
        fields = {"session": session, "frame": frame, "mass": as_number(mass, "mass")}
        fields |= options(center=center, inertia=inertia, over=over)
        return Request("payload", fields, only("payload"))
