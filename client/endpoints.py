"""Where a daemon's sockets are: files in a folder of the user's own, named after the robot.

panda.sock               requests
panda.control.sock       introspection and administration
panda.telemetry.sock     statistics, published ten times a second
panda.session-….sock     one per open session

Over TCP they are ports: the request endpoint's, the next for control, and the one after that for
telemetry. A session gets a port of its own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from torqued.common.errors import TorquedError


def default_folder() -> Path:
    """$TORQUED_FOLDER, else torqued in $XDG_RUNTIME_DIR, else torqued-<user id> in /tmp."""
    configured = os.environ.get("TORQUED_FOLDER")
    if configured:
        return Path(configured).absolute()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "torqued"
    import tempfile  # takes longer to import than the rest of the client

    return Path(tempfile.gettempdir()) / f"torqued-{os.getuid()}"


def request_endpoint(name: str, folder: Path | None = None) -> str:
    """The request endpoint of the daemon of that name."""
    return f"ipc://{(folder or default_folder()) / name}.sock"


def control_endpoint(request: str) -> str:
    """The control endpoint beside a request endpoint."""
    return _next_port(request, 1) or request.removesuffix(".sock") + ".control.sock"


def telemetry_endpoint(request: str) -> str:
    """The telemetry endpoint beside a request endpoint."""
    return _next_port(request, 2) or request.removesuffix(".sock") + ".telemetry.sock"


def _next_port(request: str, steps: int) -> str | None:
    """A TCP endpoint some ports further; None for a local socket."""
    if not request.startswith("tcp://"):
        return None
    host, port = host_and_port(request)
    return f"tcp://{host}:{port + steps}"


def host_and_port(endpoint: str) -> tuple[str, int]:
    """The parts of `tcp://HOST:PORT`; an IPv6 address has its brackets."""
    match = re.fullmatch(r"tcp://([^\[\]:/]+|\[[^\[\]/]+\]):(\d{1,5})", endpoint)
    if not match or not 0 < int(match[2]) <= 65533:
        raise TorquedError(
            f"endpoint {endpoint!r} is not tcp://HOST:PORT with a port from 1 to 65533"
        )
    return match[1], int(match[2])


def reachable(endpoint: str, request: str) -> str:
    """An endpoint that a daemon named, as the client reaches it.

    The daemon says `*` for its host. Local sockets lie beside each other, and a daemon in a
    container may know their folder by another name than the client.
    """
    if endpoint.startswith("ipc://") and request.startswith("ipc://"):
        return f"{request.rpartition('/')[0]}/{endpoint.rpartition('/')[2]}"
    if not endpoint.startswith("tcp://*:"):
        return endpoint
    return endpoint.replace("*", host_and_port(request)[0], 1)
