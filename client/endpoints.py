"""Where a daemon's sockets are: files in a directory of the user, named after the robot.

panda.sock               requests
panda.control.sock       introspection and administration
panda.telemetry.sock     statistics, published ten times a second
panda.session-….sock     one per open session
panda.memory.sock        hands over shared memory, of sessions and for batches

Over TCP they are ports: the request endpoint's, the next for control, and the one after that for
telemetry. A session has its own port.

A user who can put a socket there could impersonate the daemon and command a robot's torques. So a
client checks the directory before it connects: `check_local`.
"""

from __future__ import annotations

import os
import re
import stat
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
    import tempfile  # a slower import than the rest of the client

    return Path(tempfile.gettempdir()) / f"torqued-{os.getuid()}"


def is_default(folder: Path) -> bool:
    """Whether this is the default directory of sockets."""
    if os.environ.get("TORQUED_FOLDER") or not folder.name.startswith("torqued"):
        return False
    return folder == default_folder()


def check_local(endpoint: str) -> None:
    """Refuse local sockets that another user may have made to impersonate the daemon.

    Only its owner may write to the directory. The default one must also belong to this user or to
    root; a program that names another one decides whom to trust. A missing directory is accepted,
    except the default one in the common temporary directory, which is made at once, before another
    user does.
    """
    if not endpoint.startswith("ipc://") or endpoint.startswith("ipc://@"):
        return  # not a file
    path = Path(endpoint.removeprefix("ipc://"))
    folder, default = path.parent, is_default(path.parent)
    try:
        if default and not os.environ.get("XDG_RUNTIME_DIR") and not os.path.lexists(folder):
            folder.mkdir(mode=0o700)
        info = folder.lstat()
        if stat.S_ISLNK(info.st_mode):
            _check_link(folder, info, default)
            info = folder.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise TorquedError(f"folder {folder} of the sockets: {error.strerror}") from None
    if not stat.S_ISDIR(info.st_mode):
        raise TorquedError(f"folder {folder} of the sockets is not a directory")
    if info.st_mode & 0o022:
        raise TorquedError(
            f"folder {folder} of the sockets has mode {stat.S_IMODE(info.st_mode):04o}, expected "
            "0700, or 0750 for a group: others could impersonate the daemon"
        )
    if default and info.st_uid not in (os.getuid(), 0):
        raise TorquedError(
            f"folder {folder} of the sockets belongs to user {info.st_uid}, not to this one; set "
            f"TORQUED_FOLDER={folder} for that user's daemon"
        )
    _check_socket(path, info.st_uid)


def _check_link(folder: Path, info: os.stat_result, default: bool) -> None:
    """Refuse links of other users, and any link in the default place."""
    if default or info.st_uid not in (os.getuid(), 0):
        raise TorquedError(
            f"folder {folder} of the sockets is a symbolic link of user {info.st_uid} to "
            f"{os.readlink(folder)}: name that directory itself"
        )


def _check_socket(path: Path, owner: int) -> None:
    """The file must be a socket, of the directory's owner or of this user."""
    try:
        info = path.lstat()
    except OSError:
        return  # missing, or not for this user: connecting reports it
    if not stat.S_ISSOCK(info.st_mode):
        raise TorquedError(f"{path} is not a socket")
    if info.st_uid not in (owner, os.getuid(), 0):
        raise TorquedError(f"socket {path} belongs to user {info.st_uid}, its folder to {owner}")


def request_endpoint(name: str, folder: Path | None = None) -> str:
    """The request endpoint of the daemon of that name."""
    return f"ipc://{(folder or default_folder()) / name}.sock"


def control_endpoint(request: str) -> str:
    """The control endpoint beside a request endpoint."""
    return _next_port(request, 1) or request.removesuffix(".sock") + ".control.sock"


def telemetry_endpoint(request: str) -> str:
    """The telemetry endpoint beside a request endpoint."""
    return _next_port(request, 2) or request.removesuffix(".sock") + ".telemetry.sock"


def memory_endpoint(request: str) -> str:
    """The endpoint that hands over shared memory, beside a local request endpoint."""
    return request.removesuffix(".sock") + ".memory.sock"


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

    The daemon replies `*` for its host. Local sockets lie beside each other, and a daemon in a
    container may know their directory by another name.
    """
    if endpoint.startswith("ipc://") and request.startswith("ipc://"):
        return f"{request.rpartition('/')[0]}/{endpoint.rpartition('/')[2]}"
    if not endpoint.startswith("tcp://*:"):
        return endpoint
    return endpoint.replace("*", host_and_port(request)[0], 1)
