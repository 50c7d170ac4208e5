"""How a program finds a daemon: by its name or its endpoint, and which of them run here."""

from __future__ import annotations

import re
from pathlib import Path

from torqued.client.endpoints import default_folder, host_and_port, request_endpoint
from torqued.common.errors import TorquedError

SUFFIX = ".control.sock"


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


def running(folder: Path | None = None) -> list[str]:
    """Names of the daemons that listen in a directory, by default the user's."""
    folder = folder or default_folder()
    names = (path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))
    return sorted(name for name in names if is_alive(name, folder))


def is_alive(name: str, folder: Path | None = None) -> bool:
    """Whether a daemon of that name listens; a dead one leaves its files."""
    return listens(f"ipc://{folder or default_folder()}/{name}{SUFFIX}")


def listens(endpoint: str) -> bool:
    """Whether a process listens at an endpoint; over TCP, which may lose messages, always."""
    if not endpoint.startswith("ipc:///"):
        return True
    import socket  # a slow import, not needed while a daemon answers

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(endpoint.removeprefix("ipc://"))
        except (BlockingIOError, PermissionError):  # it is busy, or another user's
            return True
        except OSError:
            return False
    return True


def endpoint_of(name: str, folder: Path | None = None) -> str:
    """The request endpoint of a running daemon; the error names those that run."""
    if not is_alive(name, folder):
        raise TorquedError(f"no daemon {name!r} is running; {describe_running(folder)}")
    return request_endpoint(name, folder)


def describe_running(folder: Path | None = None) -> str:
    """`daemons in /run/user/1000/torqued: left, right`, for messages."""
    folder = folder or default_folder()
    return f"daemons in {folder}: {', '.join(running(folder)) or 'none'}"
