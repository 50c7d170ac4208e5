"""Daemons that run on this machine, found by their sockets."""

from __future__ import annotations

from pathlib import Path

from torqued.client.endpoints import default_folder, request_endpoint
from torqued.common.errors import TorquedError

SUFFIX = ".control.sock"


def running(folder: Path | None = None) -> list[str]:
    """Names of the daemons that listen in a directory, by default the user's."""
    files = (folder or default_folder()).glob(f"*{SUFFIX}")
    return sorted(path.name.removesuffix(SUFFIX) for path in files if listens(path))


def listens(path: Path) -> bool:
    """Whether a process listens on a local socket, whose file outlives it."""
    import socket  # a slow import, not needed with an endpoint

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (BlockingIOError, PermissionError):  # it is busy, or another user's
            return True
        except OSError:
            return False
    return True


def endpoint_of(name: str, folder: Path | None = None) -> str:
    """The request endpoint of a running daemon; the error names those that run."""
    folder = folder or default_folder()
    if not listens(folder / f"{name}{SUFFIX}"):
        raise TorquedError(f"no daemon {name!r} is running; {describe_running(folder)}")
    return request_endpoint(name, folder)


def describe_running(folder: Path | None = None) -> str:
    """`daemons in /run/user/1000/torqued: left, right`, for messages."""
    folder = folder or default_folder()
    return f"daemons in {folder}: {', '.join(running(folder)) or 'none'}"
