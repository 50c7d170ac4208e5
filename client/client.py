"""`Client`: requests to a daemon, and sessions with its loop.

with Client("ipc:///run/user/1000/torqued/panda.sock") as client:
    r = client.dynamics(q, v, want=("M", "C", "g"))
    with client.session("gravity", gains={"damping": 1.0}) as session:
        tau = session.step(q, v).tau
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import zmq
from numpy.typing import NDArray

from torqued.client import codec
from torqued.client import endpoints as places
from torqued.client.context_manager import Closing
from torqued.client.errors import TimeoutError, VersionError
from torqued.client.keys import connect, find_keys
from torqued.client.session import Session
from torqued.client.telemetry import Telemetry
from torqued.common.errors import TorquedError

Array = NDArray[np.float64]

#: Operations that change the daemon's state or keep it at work for long: sent once, never again
#: after a silence, because the first may have been carried out, or still be.
ONCE = frozenset({"open", "close", "batch", "reload"})

#: Seconds that operations may take which are long work; others take the client's `timeout`.
LONG = {"batch": 60.0, "reload": 60.0}


class Result:
    """Fields of a reply as attributes: `r.M`, `r.C`; also `r["M"]` and `"M" in r`."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__ = dict(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no {name!r} in this reply; there are {', '.join(self.__dict__)}")

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def __repr__(self) -> str:
        return f"Result({', '.join(self.__dict__)})"

    def as_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


class Client(Closing):
    """One daemon, as seen from another process. Not to be shared between threads.

    A request that gets no reply within `timeout` seconds is sent again, `retries` times, over a
    fresh connection; only those in `ONCE` are not, as they must not happen twice. Replies carry
    the id of their request, so a late one is never taken for another's.

    Over TCP, `key` is the file that `torqued keys new` made, or a secret key; `server_key` the
    daemon's public key or its file, where that is not in the key's file.
    """

    def __init__(
        self,
        endpoint: str,
        timeout: float = 1.0,
        retries: int = 2,
        key: str | Path | None = None,
        server_key: str | Path | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._keys = find_keys(endpoint, key, server_key)
        self.timeout = timeout
        self.retries = retries
        self._context: zmq.Context[Any] = zmq.Context()
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._waits: dict[str, float] = {}  # s, as the sockets have been told
        self._identities = itertools.count(1)
        self._sessions: list[Session] = []

    @classmethod
    def of(cls, robot: str, timeout: float = 1.0, retries: int = 2) -> Self:
        """The daemon of that name in the user's folder for sockets."""
        return cls(places.request_endpoint(robot), timeout, retries)

    def close(self) -> None:
        """Close all sessions and connections."""
        for session in self._sessions:
            with contextlib.suppress(TorquedError):
                session.close()
        self._sessions.clear()
        for socket in self._sockets.values():
            socket.close(linger=0)
        self._sockets.clear()
        self._context.term()

    @property
    def control_endpoint(self) -> str:
        """Where introspection goes: beside the request socket."""
        return places.control_endpoint(self.endpoint)

    def call(
        self,
        operation: str,
        endpoint: str | None = None,
        timeout: float | None = None,
        /,
        **fields: Any,
    ) -> Result:
        """Any operation by name, at the request endpoint unless another is given."""
        endpoint = endpoint or self.endpoint
        timeout = patience(operation, self.timeout) if timeout is None else timeout
        attempts = 1 if operation in ONCE else self.retries + 1
        for _ in range(attempts):
            reply = self._exchange(endpoint, operation, fields, timeout)
            if reply is not None:
                return Result(codec.result_of(of_my_version(reply, endpoint)))
            self._disconnect(endpoint)
        raise no_reply(operation, endpoint, timeout, attempts)

    def _exchange(
        self, endpoint: str, operation: str, fields: Mapping[str, Any], timeout: float
    ) -> dict[str, Any] | None:
        """One request and its reply, or None when time is up."""
        socket = self._connected(endpoint)
        if self._waits.get(endpoint) != timeout:
            socket.rcvtimeo, self._waits[endpoint] = milliseconds(timeout), timeout
        identity = next(self._identities)
        socket.send(codec.request(identity, operation, fields))
        deadline = time.monotonic() + timeout
        try:
            reply = codec.decode(socket.recv())  # waits that long; to poll first would take longer
        except zmq.Again:
            return None
        while reply.get("id") not in (identity, None):  # to a request that was given up
            left = deadline - time.monotonic()
            if left <= 0 or not socket.poll(milliseconds(left)):
                return None
            reply = codec.decode(socket.recv())
        return reply

    def _connected(self, endpoint: str) -> zmq.Socket[bytes]:
        if endpoint not in self._sockets:
            socket: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
            socket.linger = 0
            connect(socket, endpoint, self._keys)
            self._sockets[endpoint] = socket
        return self._sockets[endpoint]

    def _disconnect(self, endpoint: str) -> None:
        self._waits.pop(endpoint, None)
        self._sockets.pop(endpoint).close(linger=0)

    def hello(self) -> Result:
        """The robot, its conventions, limits and the daemon's endpoints."""
        return self.call("hello")

    def dynamics(self, q: Any, v: Any = None, **fields: Any) -> Result:
        """Any subset of the dynamics quantities; `want` names them, `frames` the frames."""
        if v is not None:
            fields["v"] = as_array(v)
        return self.call("dynamics", q=as_array(q), **fields)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, **fields: Any) -> Array:
        """Torques for accelerations a."""
        reply = self.call("inverse_dynamics", q=as_array(q), v=as_array(v), a=as_array(a), **fields)
        tau: Array = reply.tau
        return tau

    def forward_dynamics(self, q: Any, v: Any, tau: Any, **fields: Any) -> Array:
        """Accelerations under torques tau."""
        reply = self.call(
            "forward_dynamics", q=as_array(q), v=as_array(v), tau=as_array(tau), **fields
        )
        a: Array = reply.a
        return a

    def batch(self, operation: str, *, timeout: float | None = None, **fields: Any) -> Result:
        """An operation for many states: q, v, a, tau, w, b, dt with one more dimension in front.

        So are the results. Computed beside everything else, within `timeout` (default 60) s.
        """
        return self.call("batch", None, timeout, operation=operation, **stacked(fields))

    def reload(self, *, timeout: float | None = None) -> Result:
        """Have the daemon load its robot anew; refused while sessions are open."""
        return self.call("reload", self.control_endpoint, timeout)

    def control(self, law: str, q: Any, v: Any, **fields: Any) -> Result:
        """One torque of a control law, without a session: `tau`, its power balance, `status`."""
        return self.call("control", law=law, q=as_array(q), v=as_array(v), **fields)

    def ping(self) -> Result:
        """Whether the daemon is ready; never waits behind work."""
        return self.call("ping", self.control_endpoint)

    def stats(self) -> Result:
        """Counters and percentiles of the loop."""
        return self.call("stats", self.control_endpoint)

    def telemetry(self) -> Telemetry:
        """A subscription to what the daemon publishes about itself; to be closed before this."""
        return Telemetry(self._context, places.telemetry_endpoint(self.endpoint), self._keys)

    def session(self, law: str = "stream", **fields: Any) -> Session:
        """A session with the loop: a control law's torque, or a stream of quantities.

        `hello` goes first: it may be repeated, so that `open`, which must not be, finds a
        connection that works.
        """
        self.hello()
        opened = self.call("open", law=law, **fields)

        try:
            session = Session(
                self._context,
                opened.as_dict(),
                self.call,
                self.endpoint,
                self._keys,
            )
        except BaseException:
            with contextlib.suppress(TorquedError):
                self.call("close", session=opened.session)
            raise
        self._sessions = [*(other for other in self._sessions if not other.closed), session]
        return session


def patience(operation: str, timeout: float) -> float:
    """Seconds to wait for a reply, where the caller does not say."""
    return max(timeout, LONG.get(operation, 0.0))


#: Fields of a batch with one row per state.
STACKED = ("q", "v", "a", "tau", "w", "b", "dt")


def stacked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a batch, with rows of numbers as arrays."""
    return {
        key: as_array(value) if key in STACKED and value is not None else value
        for key, value in fields.items()
    }


def of_my_version(reply: dict[str, Any], endpoint: str) -> dict[str, Any]:
    """The reply, if it is of the protocol version that this client speaks."""
    version = reply.get("protocol")
    if version != codec.PROTOCOL_VERSION:
        raise VersionError(
            f"the daemon at {endpoint} speaks protocol version {version}, "
            f"this client {codec.PROTOCOL_VERSION}: install matching versions of torqued"
        )
    return reply


def no_reply(operation: str, endpoint: str, timeout: float, attempts: int) -> TimeoutError:
    """The error after the last attempt."""
    times = "" if attempts == 1 else f", {attempts} times"
    keys = " Over TCP it is also silent to keys that it does not allow."
    return TimeoutError(
        f"{operation}: no reply from {endpoint} within {timeout} s{times}; is the daemon running?"
        + (keys if endpoint.startswith("tcp://") else "")
    )


def milliseconds(seconds: float) -> int:
    """As ZeroMQ wants them; at least one, as none or less would mean something else."""
    return max(1, round(seconds * 1000))


def as_array(x: Any) -> Array:
    """Numbers as they go over the wire."""
    return np.ascontiguousarray(x, dtype=np.float64)
