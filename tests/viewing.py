"""A session that is driven, and viewers beside its daemon, for tests."""

import contextlib
import signal
import subprocess
import sys
import threading

import numpy as np

from torqued.client import TimeoutError

ROBOT = "chain4"


class Driver(threading.Thread):
    """Steps a session until it is told to end."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_process, self.stopping = daemon, threading.Event()
        self.q = np.array([0.1, -0.2, 0.3, 0.4])
        self.number = None
        self.started = threading.Event()

    def run(self):
        with self.daemon_process.client() as client, client.session("pd_plus") as session:
            self.number = session.number
            while not self.stopping.is_set():
                with contextlib.suppress(TimeoutError):  # the machine may be busy
                    session.step(self.q, np.zeros(4))
                    self.started.set()


class Viewer:
    """A command in a process of its own; its first lines tell where it is."""

    def __init__(self, daemon, *arguments):
        command = [sys.executable, "-m", "torqued.server.cli.main", *arguments]
        self.process = subprocess.Popen(
            [*command, "--robot", ROBOT, "--folder", str(daemon.folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.introduction = self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        with self.process.stdout:
            assert self.process.wait(60.0) == 0
