"""Operations on the daemon itself: the methods that make their requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.client.requests import results
from torqued.client.requests.methods import Method
from torqued.client.requests.request_parts import Request, only
from torqued.client.requests.results import Array


class Administration:
    """Description, statistics and control of the daemon."""

    @Method
    @staticmethod
    def hello() -> Request[results.Hello]:
        """The robot, its conventions, limits and the daemon's endpoints."""
        return Request("hello", {}, results.Hello)

    @Method
    @staticmethod
    def neutral() -> Request[Array]:
        """The robot's neutral configuration (nq,), as in `hello`."""
        return Request("hello", {}, only("neutral"))

    @Method
    @staticmethod
    def joint(name: str) -> Request[results.Joint]:
        """Where a joint is in q and v, as in `hello`: `q[client.joint("elbow").q]`."""
        return Request("hello", {}, lambda fields: results.Hello(fields).joint(name))

    @Method
    @staticmethod
    def ping() -> Request[results.Ping]:
        """Whether the daemon is ready; never waits behind work."""
        return Request("ping", {}, results.Ping)

    @Method
    @staticmethod
    def stats() -> Request[results.Stats]:
        """Counters and percentiles of the loop."""
        return Request("stats", {}, results.Stats)

    @Method
    @staticmethod
    def sessions() -> Request[list[dict[str, Any]]]:
        """The open sessions of all clients: a map for each, as in `stats`."""
        return Request("sessions", {}, only("sessions"))

    @Method
    @staticmethod
    def stop(session: int | None = None) -> Request[None]:
        """Give all sessions to their fallbacks until `recover`, or one of them until `resume`."""
        fields = {} if session is None else {"session": session}
        return Request("stop", fields, lambda fields: None)

    @Method
    @staticmethod
    def recover() -> Request[None]:
        """End a stop; each session stays in its fallback until it is resumed."""
        return Request("recover", {}, lambda fields: None)

    @Method
    @staticmethod
    def reload(*, timeout: float | None = None) -> Request[results.Reloaded]:
        """Load the robot again; refused while sessions are open."""
        return Request("reload", {}, results.Reloaded, timeout)

    @Method
    @staticmethod
    def log_level(level: str) -> Request[str]:
        """Set the daemon's log level: DEBUG, INFO, WARNING or ERROR."""
        return Request("log_level", {"level": level}, only("level"))

    @Method
    @staticmethod
    def recorder(report: Mapping[str, Any]) -> Request[None]:
        """Report a recorder's state to the daemon, for its `stats`; docs/RECORDING.md."""
        return Request("recorder", {"report": dict(report)}, lambda fields: None)

    @Method
    @staticmethod
    def shutdown() -> Request[None]:
        """Stop the daemon, as SIGTERM does."""
        return Request("shutdown", {}, lambda fields: None)
