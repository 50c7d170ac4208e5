"""Daemons as processes, for tests: started, found ready by `ping`, shared, stopped by pid."""

import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.daemon_template import Forked, has_all_that, template
from support.eventually import PATIENCE, eventually
from torqued.client import Client, TimeoutError
from torqued.client.endpoints import request_endpoint

#: Seconds to become ready: a cold cache is filled meanwhile.
MAX_START = 400.0
#: Seconds to stop before a test gives up.
MAX_STOP = 120.0

#: Ports that are looked at together, and the next of such blocks.
PORTS, _blocks = 8, itertools.count(random.randrange(1000))

#: Daemons that stay for the next file with the same settings.
MAX_SHARED = 3


def free_port(count: int = 3) -> int:
    """The first of so many free ports in a row, below those that the system gives out.

    Each process of pytest takes them from a range that no other one has, and none twice in a row.
    """
    assert count <= PORTS
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 16
    while True:
        first = 15000 + 1000 * worker + PORTS * (next(_blocks) % (1000 // PORTS))
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    probe = stack.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return first


def described(client: Client, session: Any) -> dict[str, Any]:
    """What a daemon says of a session: a number, a `Session`, or the reply to `open`."""
    number = getattr(session, "number", getattr(session, "session", session))
    return next(item for item in client.sessions() if item["session"] == number)


def is_complete(client: Client) -> bool:
    """Whether a daemon is ready, with the kernels that follow in the background too."""
    answer = client.ping()
    return bool(answer.ready and answer.kernels["done"] == answer.kernels["total"])


class DaemonProcess:
    """`torqued serve` in a folder of the test's own.

    States grow stale after a minute, so that torques do not depend on how busy the machine is.
    Tests of staleness set `stale_ticks`. Settings in capitals are variables of the environment.

    It is forked from a process that has loaded everything already, unless a test wants a program
    of its own, or has changed `command`.
    """

    PROGRAM = (sys.executable, "-m", "torqued.tools.cli.main")

    def __init__(self, folder: Path, name: str, *options: str, **settings: object) -> None:
        self.folder, self.name = folder, name
        self.endpoint = request_endpoint(name, folder)
        self.log = folder.parent / f"{name}.log"
        arguments = ["serve", "--name", name, "--folder", str(folder), *options]
        self.command = [*self.PROGRAM, *arguments]
        given = {k if k.isupper() else f"TORQUED_{k.upper()}": str(v) for k, v in settings.items()}
        self.environment = os.environ | {"TORQUED_STALE_TICKS": "60000"} | given
        self.process: subprocess.Popen[bytes] | Forked | None = None

    def start(self, from_scratch: bool = False) -> "DaemonProcess":
        program, arguments = tuple(self.command[:3]), self.command[3:]
        with self.log.open("wb") as log:
            if from_scratch or program != self.PROGRAM or not has_all_that(self.environment):
                self.process = subprocess.Popen(
                    self.command, stdout=log, stderr=subprocess.STDOUT, env=self.environment
                )
            else:
                self.process = template().start(arguments, self.environment, self.log)
        try:
            self._wait()
        except BaseException:
            self.kill()
            raise
        return self

    def _wait(self) -> None:
        deadline = time.monotonic() + MAX_START
        with Client(self.endpoint, timeout=0.5, retries=0) as client:
            while time.monotonic() < deadline:
                assert self.process is not None
                if self.process.poll() is not None:
                    raise AssertionError(f"daemon ended:\n{self.log.read_text()}")
                try:
                    if is_complete(client):
                        return
                except TimeoutError:
                    pass
                time.sleep(0.05)
        raise AssertionError(f"daemon is not ready:\n{self.log.read_text()}")

    def client(self) -> Client:
        return Client(self.endpoint, timeout=PATIENCE)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob(f"{self.name}.*"))

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(MAX_STOP)

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> int:
        """SIGTERM, and the exit code; by force where that does not help."""
        if not self.is_running():
            return 0
        self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        if self.process is not None and self.is_running():
            self.process.kill()
            self.process.wait()

    def end(self) -> None:
        """Stop as a daemon should: code 0, no files left, no Traceback in its log."""
        code = self.stop()
        log = self.log.read_text()
        assert code == 0, log
        assert "Traceback" not in log, log
        assert self.files() == []

    def assert_no_sessions(self) -> None:
        """The tests of another file will have this daemon."""
        with self.client() as client:
            try:
                eventually(lambda: not client.sessions())
            except AssertionError:
                left = [session["session"] for session in client.sessions()]
                raise AssertionError(f"tests of this file left sessions {left} open") from None


class SharedDaemons:
    """The daemons of a process of pytest, by robot, options and settings; few live at a time."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._idle: dict[object, DaemonProcess] = {}

    @contextmanager
    def lend(
        self, robot: str, *options: str, fresh: bool = False, **settings: object
    ) -> Iterator[DaemonProcess]:
        """A daemon for the tests of a file; with `fresh` no other file has it."""
        key = (robot, options, tuple(sorted(settings.items())))
        process = None if fresh else self._idle.pop(key, None)
        if process is None:
            process = self._started(robot, *options, **settings)
        try:
            yield process
            if not fresh:
                process.assert_no_sessions()
        except BaseException:
            process.kill()
            raise
        if fresh:
            process.end()
            return
        self._idle[key] = process
        while len(self._idle) > MAX_SHARED:
            oldest = next(iter(self._idle))
            self._idle.pop(oldest).end()

    def _started(self, robot: str, *options: str, **settings: object) -> DaemonProcess:
        folder = self._new_folder("sockets")
        folder.chmod(0o700)
        return DaemonProcess(folder, robot, "--robot", robot, *options, **settings).start()

    def close(self) -> None:
        while self._idle:
            self._idle.popitem()[1].end()


def daemon_of(robot: str, *options: str, fresh: bool = False, **settings: object) -> object:
    """A fixture: `daemon = daemon_of("panda", stale_ticks=50)` in a file of tests.

    Files with the same settings share a daemon. A file whose tests end, reload or flood theirs
    asks for a `fresh` one, or for `another`.
    """

    @pytest.fixture(scope="module")
    def daemon(shared_daemons: SharedDaemons) -> Iterator[DaemonProcess]:
        with shared_daemons.lend(robot, *options, fresh=fresh, **settings) as process:
            yield process

    return daemon
