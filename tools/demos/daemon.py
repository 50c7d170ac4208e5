"""Processes that a demo starts and stops: a daemon, and others in its folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Self

from torqued.client import Client, TimeoutError
from torqued.client.endpoints import request_endpoint
from torqued.common.errors import TorquedError
from torqued.kernels.model.description import Description
from torqued.tools.demos.models import write_urdf

#: s, for a process to become ready with a warm cache, and to stop.
MAX_START = 120.0
MAX_STOP = 10.0

NAME = "demo"
RATE = 1000.0  # Hz, of the daemon's loop

#: In real time on a busy computer, where processes may pause for a while.
TOLERANT = "stale_ticks = 200\nhold = 0.1\n"


class ProcessError(TorquedError):
    """A process of the demo ended early, or was not ready in time."""


class Child:
    """A module as a separate process, which Ctrl-C in the terminal does not reach.

    child.py ends it with this process at the latest, even if this process is killed.
    """

    def __init__(self, module: str, arguments: list[str], folder: Path, niceness: int) -> None:
        self.module = module
        # All commands are one module; daemon and page need separate logs.
        command = f"-{arguments[0]}" if module.endswith(".main") else ""
        self.log = folder / f"{module.rpartition('.')[2]}{command}.log"
        child = [sys.executable, "-m", "torqued.tools.demos.child", str(niceness), str(folder)]
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                [*child, module, *arguments],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment(),
            )

    def require_running(self) -> None:
        """Raises `ProcessError` with the process's log if it has failed."""
        if self.process.poll() not in (None, 0):
            raise ProcessError(f"{self.module} failed:\n{self.log.read_text().strip()}")

    def wait(self, timeout: float) -> None:
        """Wait until it is done."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProcessError(f"{self.module} did not end within {timeout:g} s") from None
        self.require_running()

    def stop(self) -> None:
        """SIGTERM, then SIGKILL."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(MAX_STOP)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()


def wait_until(is_ready: Callable[[], bool], problem: str, children: list[Child]) -> None:
    """Wait while the processes run; raises `ProcessError` if one fails or it takes too long."""
    deadline = time.monotonic() + MAX_START
    while not is_ready():
        for child in children:
            child.require_running()
        if time.monotonic() > deadline:
            logs = "\n".join(child.log.read_text().strip() for child in children)
            raise ProcessError(f"{problem} after {MAX_START:g} s:\n{logs}")
        time.sleep(0.02)


def environment() -> dict[str, str]:
    """The user's environment without settings for the user's own daemons."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TORQUED_") or name == "TORQUED_CACHE_DIR"
    }


class Demo:
    """A folder with a daemon's sockets, and everything that runs there."""

    def __init__(self, folder: Path, stack: ExitStack, signals: Signals) -> None:
        self.folder, self._stack, self._signals = folder, stack, signals
        self.endpoint = request_endpoint(NAME, folder)

    def start(self, module: str, *arguments: str, niceness: int = 0) -> Child:
        """A process that is stopped when the demo ends, however it ends."""
        with self._signals.held():  # none is started and then forgotten
            child = Child(module, list(arguments), self.folder, niceness)
            self._stack.callback(child.stop)
        return child

    def serve(self, description: Description, base: str, settings: str = "") -> None:
        """Start the daemon of a robot, and wait until it is ready."""
        write_urdf(description, self.folder / "robot.urdf")
        config = self.folder / "demo.toml"
        robot = f'[robot]\nurdf = "robot.urdf"\nbase = "{base}"\n'
        config.write_text(
            f'name = "{NAME}"\nfolder = "{self.folder}"\nrate = {RATE}\n{settings}{robot}'
        )
        daemon = self.start("torqued.tools.cli.main", "serve", "--config", str(config))
        with Client(self.endpoint, timeout=0.5, retries=0) as client:

            def is_ready() -> bool:
                try:
                    return client.ping().ready
                except TimeoutError:
                    return False

            wait_until(is_ready, "the daemon is not ready", [daemon])

    def client(self) -> Client:
        """A client; the demo closes it."""
        return self._stack.enter_context(Client(self.endpoint, timeout=5.0))


@contextmanager
def demo() -> Iterator[Demo]:
    """A place for a demo; leaving it stops all that was started, also on Ctrl-C and SIGTERM."""
    with Signals() as signals:
        stack = ExitStack()
        try:
            with signals.held():
                folder = stack.enter_context(TemporaryDirectory(prefix="torqued-demo-"))
            yield Demo(Path(folder), stack, signals)
        finally:
            with signals.held():  # Ctrl-C again does not leave half of it behind
                stack.close()


@contextmanager
def served(description: Description, base: str = "fixed") -> Iterator[Client]:
    """A client of a daemon for this robot, for experiments in lock step."""
    with demo() as place:
        place.serve(description, base)
        yield place.client()


class Signals:
    """SIGINT, SIGTERM and SIGHUP as `KeyboardInterrupt`, at once or when it does no harm.

    Masks would not do: another thread would take the signal, and Python interrupt the main one.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._holds = 0
        self._pending = False

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in self.NUMBERS}
        for number, handler in self._before.items():
            if handler != signal.SIG_IGN:  # as nohup has it
                signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Interrupts are delayed to the end of this block."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if self._pending and not self._holds:
                self._pending = False
                raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._holds:
            self._pending = True
        else:
            raise KeyboardInterrupt
