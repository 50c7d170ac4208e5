"""A session that is driven, and viewers beside its daemon, for tests."""

import contextlib
import os
import signal
import subprocess
import sys
import threading

import numpy as np

from support.eventually import eventually
from torqued.client import TimeoutError

ROBOT = "chain4"


def running_in(folder):
    """Process numbers of all that has a folder on its command line."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    if str(folder).encode() in file.read():
                        found.append(int(entry))
            except OSError:
                continue  # has ended meanwhile
    return found


class Driver(threading.Thread):
    """Steps a session until it is told to end."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_process, self.stopping = daemon, threading.Event()
        self.q = np.array([0.1, -0.2, 0.3, 0.4])
        self.number = None
        self.started = threading.Event()
        self.steps = 0

    def run(self):
        # Its joints do not answer to torques: encoders that do not are frozen.
        options = {"frozen_after": 0.0}
        with (
            self.daemon_process.client() as client,
            client.session("pd_plus", **options) as session,
        ):
            self.number = session.number
            while not self.stopping.is_set():
                with contextlib.suppress(TimeoutError):  # the machine may be busy
                    session.step(self.q, np.zeros(4))
                    self.started.set()
                    self.steps += 1

    def be_at(self, q):
        """Until the session has answered a state with this q."""
        self.q, before = q, self.steps
        eventually(lambda: self.steps > before + 1)  # one may have been on its way


class Viewer:
    """A command in a process of its own; its first lines tell where it is."""

    def __init__(self, daemon, *arguments):
        command = [sys.executable, "-m", "torqued.tools.cli.main", *arguments]
        self.process = subprocess.Popen(
            [*command, "--robot", daemon.name, "--folder", str(daemon.folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.introduction = self.process.stdout.readline()

    @property
    def address(self):
        return self.introduction.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        with self.process.stdout:
            assert self.process.wait(60.0) == 0


class Recording:
    """`torqued record` beside a daemon, into one `file`, until the end of a block."""

    def __init__(self, daemon, folder):
        self.folder = folder
        command = [sys.executable, "-m", "torqued.tools.cli.main", "record", "--out", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--robot", daemon.name, "--folder", str(daemon.folder)],
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60.0)  # its code tells of lost ticks, which are no matter here

    @property
    def file(self):
        (path,) = eventually(lambda: list(self.folder.glob("*.mcap")))
        return path

    @property
    def size(self):
        return sum(path.stat().st_size for path in self.folder.glob("*.mcap"))

    def wait_for_more(self):
        """Until what came before this has been written: the second chunk from now on has begun
        after it."""
        for _ in range(2):
            before = self.size
            eventually(lambda: self.size > before)  # noqa: B023  (called before it changes)
