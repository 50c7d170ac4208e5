"""The worker process: runs at a lower priority than the daemon, and ends with it.

launch.py starts it as a program; arguments are the log's format, a processor to avoid (-1: none),
and file descriptors: of the lifeline, and of the channel of each thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

#: Of at most 19. With 10 the worker would get 3 % of a processor beside three busy programs, and
#: take a minute to start.
NICENESS = 5
#: Of 1000: when memory runs out, the system kills the worker before the daemon.
OOM_SCORE_ADJ = 500


def main(arguments: Sequence[str]) -> None:
    log_format, cpu, lifeline, *channels = arguments
    lower_priority(int(cpu))
    exit_when_closed(socket.socket(fileno=int(lifeline)))
    # A slow import: only now, at the lower priority.
    from torqued.server.worker.serving import serve

    serve([socket.socket(fileno=int(end)) for end in channels], log_format)


def lower_priority(cpu: int) -> None:
    """Give the loop and requests precedence over this process.

    Signals to the daemon's process group are ignored: the daemon ends the worker.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # not on every system
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE_ADJ))
    others = os.sched_getaffinity(0) - {cpu}
    if others:
        os.sched_setaffinity(0, others)


def exit_when_closed(lifeline: socket.socket) -> None:
    """Exit when the other end of the lifeline closes, however the daemon ends."""

    def watch() -> None:
        lifeline.recv(1)
        os._exit(0)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1:])
