"""Where sockets live, and what the operating system grants a realtime thread."""

from __future__ import annotations

import ctypes
import fcntl
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from torqued.kernels import TorquedError


class EndpointError(TorquedError):
    """A socket that cannot be had."""


def default_folder() -> Path:
    """The user's folder for sockets."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "torqued"
    return Path(tempfile.gettempdir()) / f"torqued-{os.getuid()}"


def private_folder(folder: Path) -> Path:
    """The folder, made for this user alone (mode 0700); refused where others may enter it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = folder.stat()
    if info.st_uid != os.getuid():
        raise EndpointError(f"folder {folder} belongs to user {info.st_uid}, not to this one")
    if info.st_mode & 0o077:
        raise EndpointError(
            f"folder {folder} has mode {info.st_mode & 0o777:04o}, expected 0700: "
            "others could command the robot"
        )
    return folder


@dataclass
class Endpoints:
    """The sockets of one daemon: files in a folder, all named after the robot."""

    folder: Path
    name: str

    @property
    def request(self) -> str:
        return f"ipc://{self.folder / self.name}.sock"

    @property
    def control(self) -> str:
        return f"ipc://{self.folder / self.name}.control.sock"

    @property
    def telemetry(self) -> str:
        return f"ipc://{self.folder / self.name}.telemetry.sock"

    @property
    def sessions(self) -> str:
        return f"ipc://{self.folder / self.name}.session-{{}}.sock"

    def lock(self) -> IO[str]:
        """A lock that dies with the process: a second daemon is refused, a stale socket is not."""
        path = self.folder / f"{self.name}.lock"
        file = path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise EndpointError(
                f"a daemon for {self.name!r} already runs on {self.request} (process {owner})"
            ) from None
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        return file

    def remove(self) -> None:
        """Take away socket and lock files."""
        for path in self.folder.glob(f"{self.name}.*"):
            if path.suffix in (".sock", ".lock"):
                path.unlink(missing_ok=True)


def realtime(priority: int, lock_memory: bool, cpu: int | None) -> dict[str, str]:
    """Ask for realtime settings for this thread; what took effect and what did not, and why."""
    report = {}
    if priority > 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            report["priority"] = f"SCHED_FIFO {priority}"
        except OSError as error:
            report["priority"] = (
                f"not granted ({error.strerror}): needs CAP_SYS_NICE or an rtprio limit"
            )
    if lock_memory:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mlockall(3) == 0:
            report["memory"] = "locked"
        else:
            reason = os.strerror(ctypes.get_errno())
            report["memory"] = f"not locked ({reason}): needs CAP_IPC_LOCK or a memlock limit"
    if cpu is not None:
        try:
            os.sched_setaffinity(0, {cpu})
            report["cpu"] = f"pinned to {cpu}"
        except OSError as error:
            report["cpu"] = f"not pinned to {cpu} ({error.strerror})"
    return report
