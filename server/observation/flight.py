"""The flight recorder: `torqued record` beside the daemon, which keeps the last minutes.

It starts when the daemon is ready and ends with it: its lifeline closes, however the daemon ends.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

log = logging.getLogger("torqued")

#: Number of files for the minutes to keep; one file more than requested is kept.
PARTS = 10
#: Seconds to finish its file when the daemon ends, and before a restart.
MAX_END, RETRY_DELAY = 2.0, 5.0
#: Exit code of a recorder that has reported why it cannot continue.
GAVE_UP = 2


def default_folder(name: str) -> Path:
    """Default directory of a daemon's recordings."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "torqued" / "recordings" / name


class FlightRecorder:
    """The recorder's process. Main thread only."""

    def __init__(self, name: str, folder: Path, out: Path, minutes: float) -> None:
        seconds = 60.0 * minutes
        self.out = out
        self._command = [
            *(sys.executable, "-P", "-m", "torqued.tools.cli.main", "record"),
            *("--robot", name, "--folder", str(folder), "--out", str(out)),
            *("--rotate", f"{seconds / PARTS:g}s", "--keep", f"{seconds:g}s"),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket | None = None
        self._ended = 0.0
        self._gave_up = False

    def start(self) -> None:
        mine, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [*self._command, "--lifeline", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C goes to the daemon; the recorder ends after it
            )
            self._lifeline = mine
        except OSError as error:
            log.error("cannot start the flight recorder: %s", error.strerror)
            mine.close()
            self._gave_up = True
        finally:
            theirs.close()

    def check(self) -> None:
        """Restart a recorder that has died, unless it gave up with a reason."""
        if self._gave_up:
            return
        if self._process is not None and self._process.poll() is not None:
            self._gave_up = self._process.returncode == GAVE_UP
            log.error("flight recorder exited with code %d", self._process.returncode)
            self._release()
            self._ended = time.monotonic()
        if (
            self._process is None
            and not self._gave_up
            and time.monotonic() - self._ended > RETRY_DELAY
        ):
            self.start()

    def close(self) -> None:
        """Let it finish its file; the loop has ended."""
        process = self._process
        self._release()
        if process is not None:
            try:
                process.wait(MAX_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _release(self) -> None:
        """Close the lifeline, by which the process ends."""
        if self._lifeline is not None:
            self._lifeline.close()
        self._lifeline = self._process = None
