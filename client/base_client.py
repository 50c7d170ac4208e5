"""What `Client` and `AsyncClient` share: all parts of a request that do not wait."""

from __future__ import annotations

import itertools
import math
import os
import re
import secrets
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import zmq

from torqued.client import codec, endpoints
from torqued.client.discovery import describe_running, endpoint_for, listens
from torqued.client.errors import TimeoutError, VersionError
from torqued.client.keys import connect, find_keys
from torqued.client.requests.administration import Administration
from torqued.client.requests.computations import Computations
from torqued.client.requests.methods import Performing
from torqued.client.requests.openings import Opened, Openings
from torqued.client.requests.operation_table import LONG, ON_CONTROL, ONCE
from torqued.client.requests.orders import Orders
from torqued.common.errors import TorquedError

#: s that a request waits for its reply, unless the client is given another time.
DEFAULT_TIMEOUT = 1.0
#: s without a reply after which a client looks whether its daemon still runs.
SILENCE = 0.1
#: s after a reply in which the daemon counts as alive.
RECENT = 0.1
#: s between two questions whether a daemon is ready.
POLL_INTERVAL = 0.1
#: Numbers of this process's clients.
CLIENTS = itertools.count(1)
#: Letters of a program's name in the daemon's messages.
MAX_NAME = 32


#: Methods of `Robot` → what `dynamics` calls their result.
QUANTITIES = {
    "mass_matrix": "M",
    "mass_matrix_rate": "Mdot",
    "coriolis_matrix": "C",
    "christoffel": "Gamma",
    "gravity": "g",
    "bias": "bias",
    "energy": "energy",
    "center_of_mass": "com",
    "centroidal_momentum": "momentum",
}
#: Names that a client had, or that others have → what it is called here.
HINTS = {
    **{
        name: f'dynamics(q, v, want=["{quantity}"]).{quantity}'
        for name, quantity in QUANTITIES.items()
    },
    "derivatives": "a method for each kind, as inverse_dynamics_derivatives and linearize",
    "of": "Client(name)",
    "payload": "set_payload",
}


class BaseClient(Computations, Orders, Administration, Openings[Opened], Performing):
    """The endpoint of a daemon, keys, timeout and retries."""

    def __init__(
        self,
        daemon: str,
        timeout: float | None,
        retries: int,
        key: str | Path | None,
        server_key: str | Path | None,
    ) -> None:
        self.endpoint = endpoint_for(daemon)
        self._keys = find_keys(self.endpoint, key, server_key)
        self.timeout = DEFAULT_TIMEOUT if timeout is None else timeout
        self._given_timeout = timeout  # which sessions use too
        self.retries = retries
        self.closed = False
        self._identities = itertools.count()
        self._heard = -math.inf  # when the last reply came
        self._number, self._secret = next(CLIENTS), secrets.token_hex(8)

    if not TYPE_CHECKING:  # which would otherwise believe in every name

        def __getattr__(self, name: str) -> NoReturn:
            hint = f"; here it is {HINTS[name]}" if name in HINTS else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.endpoint}{', closed' if self.closed else ''}>"

    @property
    def control_endpoint(self) -> str:
        """Endpoint of introspection, beside the request socket."""
        return endpoints.control_endpoint(self.endpoint)

    @property
    def telemetry_endpoint(self) -> str:
        """Endpoint of published statistics."""
        return endpoints.telemetry_endpoint(self.endpoint)

    def _heard_recently(self) -> bool:
        """Whether a reply came so recently that the daemon counts as alive."""
        return time.monotonic() < self._heard + RECENT

    def _plan(
        self, operation: str, endpoint: str | None, timeout: float | None
    ) -> tuple[str, float, int]:
        """Where a request goes, the timeout of each attempt, s, and how many attempts it has."""
        if endpoint is None:
            endpoint = self.control_endpoint if operation in ON_CONTROL else self.endpoint
        if timeout is None:
            timeout = max(self.timeout, LONG.get(operation, 0.0))
        return endpoint, timeout, 1 if operation in ONCE else self.retries + 1

    def _require_open(self) -> None:
        """Raise if this client is closed."""
        if self.closed:
            raise TorquedError(f"the client of {self.endpoint} is closed")

    def _new_socket(self, context: Any, endpoint: str) -> Any:
        """A socket for requests to an endpoint."""
        self._require_open()
        socket = context.socket(zmq.DEALER)
        socket.linger = 0
        if endpoint.startswith("ipc:"):  # the daemon knows this client by it after a new connection
            name = f"{program_name()}-{os.getpid()}-{self._number}"
            socket.routing_id = f"{name}.{self._secret}".encode()
        try:
            connect(socket, endpoint, self._keys)
        except TorquedError:
            socket.close()
            raise
        return socket


def state_of(reply: Mapping[str, Any]) -> str:
    """What a reply to `ping` says about a daemon that is not ready."""
    kernels = reply["kernels"]
    return f"{kernels['done']} of {kernels['total']} kernels are compiled"


def not_ready(endpoint: str, timeout: float, state: str) -> TimeoutError:
    """The error of `wait_ready`; `state` is the daemon's, or why that is not known."""
    return TimeoutError(f"the daemon at {endpoint} was not ready within {timeout:g} s: {state}")


def program_name() -> str:
    """Of this process, for people."""
    path = Path(sys.argv[0])
    name = path.parent.name if path.stem == "__main__" else path.stem  # python -m
    if name in ("-", "-c"):  # a program of its standard input or command line
        return "python"
    return re.sub(r"[^A-Za-z0-9_]+", "_", name)[:MAX_NAME] or "python"


def fields_for(identity: int, data: bytes, endpoint: str) -> dict[str, Any] | None:
    """The fields of the reply to a request, or its error; None if it belongs to another request.

    `endpoint` is the daemon's, for errors.
    """
    reply = codec.decode_reply(data)
    if reply.get("id") not in (identity, None):  # of a request that was given up
        return None
    require_protocol_version(reply, endpoint)
    return codec.result_of(reply)


def require_protocol_version(reply: Mapping[str, Any], endpoint: str) -> None:
    """Raise if a reply has another protocol version."""
    version = reply.get("protocol")
    if version != codec.PROTOCOL_VERSION:
        raise VersionError(
            f"the daemon at {endpoint} speaks protocol version {version}, "
            f"this client {codec.PROTOCOL_VERSION}: install matching versions of torqued"
        )


def no_reply(operation: str, endpoint: str, timeout: float, attempts: int) -> TimeoutError:
    """The error after the last attempt."""
    times = "" if attempts == 1 else f", {attempts} times"
    message = f"{operation}: no reply from {endpoint} within {timeout} s{times}"
    if endpoint.startswith("tcp://"):
        hint = "is the daemon running? Over TCP it is also silent to keys that it does not allow."
    else:
        hint = f"is the daemon running? ({_others(endpoint)})"
    return TimeoutError(f"{message}; {hint}")


def require_listening(operation: str, endpoint: str) -> None:
    """Raise if no process listens at a local endpoint: waiting longer is of no use."""
    if not listens(endpoint):
        raise TimeoutError(f"{operation}: no daemon at {endpoint} ({_others(endpoint)})")


def _others(endpoint: str) -> str:
    return describe_running(Path(endpoint.removeprefix("ipc://")).parent)
