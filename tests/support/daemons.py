"""Daemons as processes of their own, for tests: started, found ready by `ping`, stopped by pid."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from support.daemon_template import Forked, has_all_that, template
from torqued.client import Client, TimeoutError
from torqued.client.endpoints import request_endpoint

#: Seconds to become ready: a cold cache is filled meanwhile.
MAX_START = 400.0
#: Seconds to stop before a test gives up.
MAX_STOP = 120.0


def free_port(count: int = 3) -> int:
    """The first of so many ports in a row that nobody listens on; below those given at random."""
    while True:
        first = random.randrange(15000, 32000)
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    probe = stack.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return first


def is_complete(client: Client) -> bool:
    """Whether a daemon is ready, with the kernels that follow in the background too."""
    answer = client.ping()
    return bool(answer.ready and answer.kernels["done"] == answer.kernels["total"])


class DaemonProcess:
    """`torqued serve` in a folder of the test's own.

    States grow stale after a minute, so that torques do not depend on how busy the machine is.
    Tests of staleness set TORQUED_STALE_TICKS.

    It is forked from a process that has loaded everything already, unless a test wants a program
    of its own, or has changed `command`.
    """

    PROGRAM = (sys.executable, "-m", "torqued.tools.cli.main")

    def __init__(self, folder: Path, name: str, *options: str, **environment: str) -> None:
        self.folder, self.name = folder, name
        self.endpoint = request_endpoint(name, folder)
        self.log = folder.parent / f"{name}.log"
        arguments = ["serve", "--name", name, "--folder", str(folder), *options]
        self.command = [*self.PROGRAM, *arguments]
        self.environment = os.environ | {"TORQUED_STALE_TICKS": "60000"} | environment
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
        return Client(self.endpoint, timeout=60.0)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob(f"{self.name}.*"))

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(MAX_STOP)

    def stop(self) -> int:
        """SIGTERM, and the exit code; by force where that does not help."""
        if self.process is None or self.process.poll() is not None:
            return 0
        self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
