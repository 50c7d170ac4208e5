"""The controller of the live demo: what a user would write.

State from the robot → reference for that time → session with the daemon → torque to the robot.
It never waits for a torque: the newest that has come goes to the robot.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from torqued.client import Client
from torqued.client.sessions.session import Session
from torqued.common.errors import OperationError
from torqued.common.status import FALLBACK
from torqued.tools.demos.live_robot import bus, newest, put
from torqued.tools.demos.trajectories import References, Sines

LAW = "passivity"
#: A file that says that all is there, a page that was asked for too.
START = "start"
#: Seconds without a state after which the robot counts as lost.
SILENCE = 5.0
#: s for the daemon to start, and to open a session, on a computer that has other work.
MAX_START, MAX_OPEN = 150.0, 30.0
#: Ticks from one attempt to leave the fallback to the next.
BETWEEN_RESUMES = 200


def control(
    session: Any, socket: Any, reference: Callable[[float], References], nq: int
) -> Counter[str]:
    """Until the robot ends: how many outputs had which status."""
    statuses: Counter[str] = Counter()
    times = [0.0]  # of states, by sequence number
    resumed = -BETWEEN_RESUMES
    while True:
        state = newest(socket, SILENCE)
        if state is None:
            raise RuntimeError(f"no state from the robot for {SILENCE:g} s")
        if len(state) == 0:
            return statuses
        t, q, v = float(state[0]), state[1 : 1 + nq], state[1 + nq :]
        session.send(q, v, *reference(t), at=t)
        times.append(t)
        output = session.latest()
        if output is None or output.sequence < 1:
            continue
        statuses.update(output.status_names or ["OK"])
        if output.status & FALLBACK and output.tick > resumed + BETWEEN_RESUMES:
            session.resume()  # a shared computer stood still for too long; the robot has braked
            resumed = output.tick
        put(socket, times[output.sequence], output.tau)


def open_session(client: Client) -> Session:
    """As soon as the daemon has what the law takes: at its first start some kernels come later."""
    while True:
        try:
            return client.session(LAW)
        except OperationError as error:
            if error.code != "not_ready":
                raise
            time.sleep(0.2)


def main(argument: str) -> None:
    task = json.loads(argument)
    center, amplitude, frequency = (
        np.array(task[name]) for name in ("q", "amplitude", "frequency")
    )
    reference = Sines(center, amplitude, frequency)
    (Path(task["folder"]) / "controller_ready").touch()
    with Client(task["endpoint"]) as client:
        client.wait_ready(MAX_START)
    while not (Path(task["folder"]) / START).exists():
        time.sleep(0.02)
    # Opening is not asked for twice.
    with (
        Client(task["endpoint"], timeout=MAX_OPEN) as client,
        open_session(client) as session,
        bus(task["bus"], bind=False) as socket,
    ):
        statuses = control(session, socket, reference, client.hello().nq)
    Path(task["result"]).write_text(json.dumps(statuses))


if __name__ == "__main__":
    main(sys.argv[1])
