"""A process that has loaded all that a daemon needs, and from which daemons are forked.

To import the server and to load a hundred kernels from the cache takes seconds of processor time,
which a hundred daemons of tests would spend again and again. A fork is a daemon at once; in all
else it is `torqued serve` with the same arguments, environment, files and exit code. One template
serves a process of pytest, and ends with it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

#: Read when modules are imported: what they were then is what a fork would have.
AT_IMPORT = (
    "NUMBA_",
    "PYTHON",
    "TORQUED_CACHE_DIR",
    "TORQUED_TARGET_CPU",
    "XDG_CACHE_HOME",
    "HOME",
)


class Forked:
    """A process that the template has forked, with what tests need of `subprocess.Popen`."""

    def __init__(self, template: Template, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._template, self._ended = template, os.pidfd_open(pid)
        self._reaping = threading.Lock()

    def poll(self) -> int | None:
        return self._wait(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(["torqued"], timeout or 0.0)
        return code

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], timeout)[0]:
            with self._reaping:
                if self.returncode is None:
                    self.returncode = self._template.ask({"ended": self.pid})
        return self.returncode

    def __del__(self) -> None:
        os.close(self._ended)

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            signal.pidfd_send_signal(self._ended, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Template:
    """The tests' side: asks for a fork, or how one ended."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._asking = threading.Lock()
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, __file__, str(number)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[number])
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> Forked:
        question = {"arguments": list(arguments), "environment": dict(environment), "log": str(log)}
        return Forked(self, self.ask(question))

    def ask(self, question: object) -> int:
        with self._asking:
            self._socket.send(json.dumps(question).encode())
            answer = self._socket.recv(100)
        if not answer:
            raise AssertionError(f"the template of daemons ended with {self._process.wait()}")
        return int(answer)


@cache
def template() -> Template:
    return Template()


def has_all_that(environment: Mapping[str, str]) -> bool:
    """Whether modules imported with this environment are those that the template has."""
    names = {name for name in (*environment, *os.environ) if name.startswith(AT_IMPORT)}
    return all(environment.get(name) == os.environ.get(name) for name in names)


def load() -> None:
    """Import what `torqued serve` imports, and load what it compiles."""
    from rich import console, progress  # noqa: F401

    from torqued.kernels.compilation.entries import compile_all
    from torqued.kernels.control import controller  # noqa: F401  (registers what it compiles)
    from torqued.server import config, daemon, logs, notify  # noqa: F401
    from torqued.server.loop import arrival_loop, servo_loop, session_tick  # noqa: F401
    from torqued.server.transport import curve  # noqa: F401
    from torqued.server.worker import source  # noqa: F401
    from torqued.tools.cli import compile, main  # noqa: F401

    compile_all()
    gc.collect()
    gc.freeze()  # pages that collections leave alone are shared with all forks


def serve(asked: socket.socket) -> None:
    """Fork when asked to, until nobody can ask any more."""
    while question := asked.recv(1 << 20):
        told = json.loads(question)
        if "ended" in told:
            _, status = os.waitpid(told["ended"], 0)
            answer = os.waitstatus_to_exitcode(status)
        elif not (answer := os.fork()):
            asked.close()
            become_daemon(told["arguments"], told["environment"], told["log"])
        asked.send(str(answer).encode())


def become_daemon(arguments: list[str], environment: dict[str, str], log: str) -> None:
    from torqued.tools.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    file = os.open(log, os.O_WRONLY)
    os.dup2(file, sys.stdout.fileno())
    os.dup2(file, sys.stderr.fileno())
    os.close(file)
    random.seed()
    sys.argv = ["torqued", *arguments]
    sys.exit(main(arguments))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is pytest's, which closes the socket
    load()
    serve(socket.socket(fileno=int(sys.argv[1])))
