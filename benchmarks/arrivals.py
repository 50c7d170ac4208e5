"""Four sessions in shared memory whose states are answered as they arrive, each at 1 kHz.

python arrivals.py ENDPOINT     until killed
"""

from __future__ import annotations

import contextlib
import sys
import time

import numpy as np

from torqued.client import Client
from torqued.common.errors import TorquedError

SESSIONS = 4
PERIOD = 1e-3  # s


def drive(endpoint: str) -> None:
    """Open the sessions and send states until they end; and again."""
    with Client(endpoint, timeout=10.0) as client:
        robot = client.hello()
        q, v = robot.neutral, np.zeros(robot.nv)
        while True:
            with contextlib.suppress(TorquedError), contextlib.ExitStack() as stack:
                sessions = [
                    stack.enter_context(
                        # A stall of the machine is none of the law's business.
                        client.session("passivity", transport="memory", clock="state", hold=10.0)
                    )
                    for _ in range(SESSIONS)
                ]
                deadline, ended = time.monotonic(), False
                while not ended:
                    deadline = max(deadline + PERIOD, time.monotonic())
                    time.sleep(max(0.0, deadline - time.monotonic()))
                    for session in sessions:
                        session.send(q, v)
                    newest = [session.latest() for session in sessions]
                    ended = any(output is not None and output.is_last for output in newest)


if __name__ == "__main__":
    drive(sys.argv[1])
