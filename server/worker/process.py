"""The worker process: stands back from the daemon's loop, and ends with the daemon.

Started by worker.py as a program of its own; arguments are the log's format, a processor to keep
off, -1 for none, how many requests per second a client may make, how many lanes are for batches
that come directly, and file descriptors: of the lifeline, and of each lane's channel, those last.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

#: How much the worker yields to everything else; 19 is the most. With 10 it would get 3 % of a
#: processor beside three busy programs, and take a minute to start.
NICENESS = 5
#: Of 1000: where memory runs out, the system takes the worker before the daemon.
FIRST_TO_GO = 500


#: What is to be done before the process ends, in a moment.
AT_END: list[Callable[[], None]] = []


def main(arguments: Sequence[str]) -> None:
    log_format, cpu, rate, direct, lifeline, *channels = arguments
    stand_back(int(cpu))
    end_with(socket.socket(fileno=int(lifeline)))
    # Takes its time: only now, standing back.
    from torqued.server.requests.shared_results import FORGETTING
    from torqued.server.worker.serving import serve

    AT_END.append(FORGETTING.all_now)
    ends = [socket.socket(fileno=int(end)) for end in channels]
    first = len(ends) - int(direct)
    serve(ends[:first], ends[first:], log_format, float(rate))


def stand_back(cpu: int) -> None:
    """Neither the loop nor requests may wait for the worker.

    Stopping is the daemon's business: signals to its whole group are for the daemon to answer.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # where the system has it
        Path("/proc/self/oom_score_adj").write_text(str(FIRST_TO_GO))
    others = os.sched_getaffinity(0) - {cpu}
    if others:
        os.sched_setaffinity(0, others)


def end_with(lifeline: socket.socket) -> None:
    """End when the other end of the lifeline closes, as it does however the daemon ends."""

    def watch() -> None:
        lifeline.recv(1)
        for leave in AT_END:
            leave()
        os._exit(0)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1:])
