"""How a program names a daemon: by its name, or by its endpoint."""

from __future__ import annotations

import re

from torqued.client.discovery import describe_running
from torqued.client.endpoints import host_and_port, request_endpoint
from torqued.common.errors import TorquedError


def endpoint_for(daemon: str) -> str:
    """The request endpoint for `panda`, `ipc:///…/panda.sock` or `tcp://HOST:PORT`."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", daemon):
        return request_endpoint(daemon)
    if daemon.startswith("tcp://"):
        host_and_port(daemon)  # raises if it is not one
        return daemon
    if daemon.startswith("ipc://"):
        return daemon
    raise TorquedError(
        f"{daemon!r} is neither a daemon's name (letters, digits, - and _) nor an endpoint: "
        f"ipc://FILE or tcp://HOST:PORT; {describe_running()}"
    )
