"""Processes that a demo starts and stops: a daemon, and others in its folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from torqued.client import Client, TimeoutError
from torqued.client.endpoints import request_endpoint
from torqued.common.errors import TorquedError
from torqued.kernels.model.description import Description
from torqued.server.demos.models import write_urdf

#: s, to become ready with a warm cache, and to stop.
LONGEST_START = 120.0
LONGEST_STOP = 10.0

NAME = "demo"

#: Lock step waits for the slower side however long it takes: no state is stale there.
PATIENT = "stale_ticks = 1000\nhold = 10.0\n"
#: In real time on a computer that has other work too, where processes may not run for a while.
TOLERANT = "stale_ticks = 200\nhold = 0.1\n"


class ProcessError(TorquedError):
    """A process of the demo has ended too early, or was not ready in time."""


class Child:
    """A module as a process of its own, which Ctrl-C in the terminal does not reach."""

    def __init__(self, module: str, arguments: list[str], log: Path) -> None:
        self.module, self.log = module, log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment(),
            )

    def require_running(self) -> None:
        """`ProcessError` with the process's own words if it has failed."""
        if self.process.poll() not in (None, 0):
            raise ProcessError(f"{self.module} has failed:\n{self.log.read_text().strip()}")

    def wait(self, timeout: float) -> None:
        """Until it has done its work."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProcessError(f"{self.module} did not end within {timeout:g} s") from None
        self.require_running()

    def stop(self) -> None:
        """SIGTERM, and by force where that does not help."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LONGEST_STOP)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def environment() -> dict[str, str]:
    """The user's, without settings that are meant for daemons of the user's own."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TORQUED_") or name == "TORQUED_CACHE_DIR"
    }


class Demo:
    """A folder with a daemon's sockets, and everything that runs there."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.endpoint = request_endpoint(NAME, folder)

    def start(self, module: str, *arguments: str) -> Child:
        """A process that is stopped when the demo ends, however it ends."""
        child = Child(module, list(arguments), self.folder / f"{module.rpartition('.')[2]}.log")
        self._stack.callback(child.stop)
        return child

    def serve(self, description: Description, base: str, rate: float, safety: str) -> None:
        """Start the daemon of a robot, and wait until it is ready."""
        write_urdf(description, self.folder / "robot.urdf")
        config = self.folder / "demo.toml"
        robot = f'[robot]\nurdf = "robot.urdf"\nbase = "{base}"\n'
        config.write_text(
            f'name = "{NAME}"\nfolder = "{self.folder}"\nrate = {rate}\n{safety}{robot}'
        )
        daemon = self.start("torqued.server.cli.main", "serve", "--config", str(config))
        deadline = time.monotonic() + LONGEST_START
        with Client(self.endpoint, timeout=0.5, retries=0) as client:
            while time.monotonic() < deadline:
                daemon.require_running()
                try:
                    if client.ping().ready:
                        return
                except TimeoutError:
                    pass
                time.sleep(0.02)
        raise ProcessError(f"the daemon was not ready in time:\n{daemon.log.read_text().strip()}")

    def client(self) -> Client:
        """To be closed by the demo."""
        return self._stack.enter_context(Client(self.endpoint, timeout=5.0))


@contextmanager
def demo() -> Iterator[Demo]:
    """A place for a demo; leaving it stops all that was started, also on Ctrl-C and SIGTERM."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with TemporaryDirectory(prefix="torqued-demo-") as folder, ExitStack() as stack:
            yield Demo(Path(folder), stack)
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
