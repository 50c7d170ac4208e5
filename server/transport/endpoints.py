"""The daemon's socket directory and its files, and who may use them."""

from __future__ import annotations

import fcntl
import grp
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from torqued.client.endpoints import control_endpoint, memory_endpoint, telemetry_endpoint
from torqued.common.errors import TorquedError

#: Longest path of a local socket, bytes; the operating system's limit.
MAX_PATH = 107
#: How the lock file is opened.
LOCK_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class EndpointError(TorquedError):
    """A socket, or its directory, that cannot be used."""


def private_folder(folder: Path, group: str | None = None) -> Path:
    """Make the directory for this user alone (mode 0700), or for a group as well (mode 0750).

    An existing one must have exactly that mode, owner and group, so that others cannot command the
    robot. Symbolic links are refused: they may lead anywhere.
    """
    number = group_number(group) if group else None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        is_new = not os.path.lexists(folder)
        if is_new:
            folder.mkdir(mode=0o700)
        info, parent = folder.lstat(), folder.parent.stat()
    except OSError as error:
        raise EndpointError(f"cannot create folder {folder}: {error.strerror}") from None
    if stat.S_ISLNK(info.st_mode):
        raise EndpointError(
            f"folder {folder} is a symbolic link of user {info.st_uid} to {os.readlink(folder)}: "
            "name that folder itself"
        )
    if not stat.S_ISDIR(info.st_mode):
        raise EndpointError(f"folder {folder} is not a directory")
    if parent.st_mode & stat.S_IWOTH and not parent.st_mode & stat.S_ISVTX:
        raise EndpointError(
            f"folder {folder} lies in {folder.parent} of mode {stat.S_IMODE(parent.st_mode):04o}: "
            "other users could replace it"
        )
    if is_new and number is not None:
        try:
            os.chown(folder, -1, number)
        except OSError as error:
            folder.rmdir()
            raise EndpointError(
                f"folder {folder} cannot be given to group {group!r}: {error.strerror}; "
                "is this user a member?"
            ) from None
        folder.chmod(0o750)
    info = folder.lstat()
    if info.st_uid != os.getuid():
        raise EndpointError(f"folder {folder} belongs to user {info.st_uid}, not to this one")
    mode, expected = info.st_mode & 0o777, 0o700 if number is None else 0o750
    if mode & ~expected or (number is not None and mode != expected):
        raise EndpointError(
            f"folder {folder} has mode {mode:04o}, expected {expected:04o}: "
            + ("others could command the robot" if mode & ~expected else "the group cannot enter")
        )
    if number is not None and info.st_gid != number:
        raise EndpointError(f"folder {folder} belongs to group {info.st_gid}, not to {group!r}")
    return folder


def group_number(name: str) -> int:
    """The number of a group, by name or as a number: a container may lack the host's names."""
    if name.isdecimal():
        return int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise EndpointError(f"group {name!r} is unknown to this machine") from None


@dataclass
class Endpoints:
    """The sockets of one daemon: files in a folder, all named after the robot."""

    folder: Path
    name: str
    group: str | None = None  # whose members may connect, beside the user

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise EndpointError(
                f"name {self.name!r} cannot name sockets, allowed: letters, digits, - and _"
            )
        longest = str(self._session_file("f" * 8))
        if len(os.fsencode(longest)) > MAX_PATH:
            raise EndpointError(
                f"path {longest} has {len(os.fsencode(longest))} bytes, at most {MAX_PATH} "
                "are possible for a socket: choose a shorter folder"
            )

    @property
    def request(self) -> str:
        return f"ipc://{self.folder / self.name}.sock"

    @property
    def control(self) -> str:
        return control_endpoint(self.request)

    @property
    def telemetry(self) -> str:
        return telemetry_endpoint(self.request)

    @property
    def memory(self) -> str:
        """Of the socket that hands over shared memory."""
        return memory_endpoint(self.request)

    def session(self, number: int) -> str:
        """Of one session. Numbers are not reused, so that no client reaches another's session."""
        return f"ipc://{self._session_file(f'{number:08x}')}"

    def _session_file(self, number: str) -> Path:
        return self.folder / f"{self.name}.session-{number}.sock"

    def protect(self, endpoint: str) -> None:
        """Let only the user, and the group if there is one, connect to a socket."""
        path = endpoint.removeprefix("ipc://")
        if self.group:
            os.chown(path, -1, group_number(self.group))
        os.chmod(path, 0o660 if self.group else 0o600)

    def lock(self) -> IO[str]:
        """A lock that dies with the process: a second daemon is refused, a stale socket is not."""
        path = self.folder / f"{self.name}.lock"
        while True:
            try:
                file = os.fdopen(os.open(path, LOCK_FLAGS, 0o600), "a+")
            except OSError as error:
                raise EndpointError(f"cannot open lock {path}: {error.strerror}") from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                owner = file.read().strip() or "unknown"
                file.close()
                raise EndpointError(
                    f"a daemon for {self.name!r} already runs on {self.request} (process {owner})"
                ) from None
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break
            file.close()  # a stopping daemon has just removed this file
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        return file

    def remove_sockets(self) -> None:
        """Remove socket files of this daemon, or of a dead one: the caller holds the lock."""
        for endpoint in (self.request, self.control, self.telemetry, self.memory):
            remove_socket(Path(endpoint.removeprefix("ipc://")))
        for path in self.folder.glob(f"{self.name}.session-*.sock"):
            remove_socket(path)

    def remove(self) -> None:
        """Remove socket files and then the lock, which keeps other daemons away until the end."""
        self.remove_sockets()
        (self.folder / f"{self.name}.lock").unlink(missing_ok=True)


def remove_socket(path: Path) -> None:
    """Remove a socket file, if there is one."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:  # a directory, for example
        raise EndpointError(f"{path} is in the way of a socket: {error.strerror}") from None
