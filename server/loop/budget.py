"""What a session may cost: measured by trial before it is opened, refused where it is too much.

The loop serves all sessions one after the other. One that takes long delays the others and cannot
be interrupted, so its cost has to be known beforehand; what it uses beyond that is taken from its
own later ticks (`compute` in session_tick.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from torqued.client import errors
from torqued.kernels.control.controller import Controller
from torqued.server.loop.session_tick import MIN_ITERATIONS

#: Part of a period that all sessions together may need; the rest is for what they need at times.
BUDGET = 0.7
#: s that receiving and sending take, for each session and for each byte of its frames: the loop,
#: ZeroMQ's thread, through which the frames of all sessions pass, and the kernel copy them.
OVERHEAD, PER_BYTE = 15e-6, 1e-9
#: s, and in times of the measured cost: what a session may use in each tick before it has to wait.
MIN_SHARE, SHARE = 100e-6, 2.0
#: Bytes of a state or an output frame at the most.
MAX_FRAME = 1 << 20

#: States that are tried, and how often each; the last where one try has been too long already.
STATES, TIMES, FEWER_TIMES = 3, 3, 2


def measured_cost(controller: Controller, enough: float = math.inf) -> float:
    """Seconds of processor time that one tick takes, for the dearest of a few states.

    A solver has the iterations that it always has in the loop (session_tick.py): more it
    gets only as there is time, and many of these states have no solution that it could find.

    Nothing further is tried once a state takes more than `enough` seconds: others wait meanwhile.
    The controller is used up by this: what it remembers is of no robot.
    """
    robot, rng = controller.robot, np.random.default_rng(0)
    record = controller.record[0]
    if record.most_iterations > 0:
        record.iterations = min(MIN_ITERATIONS, record.most_iterations)
    worst = 0.0
    for k in range(STATES):
        q, v = robot.random_state(rng)
        v = 0.0 * v if k == 0 else v
        at_rest = dict(zip(controller.measured, (q, v), strict=False))  # springs that are not wound
        controller.take_state(q, v, 0.0, at_rest)
        least = _seconds(controller)
        for _ in range(1, TIMES if least <= enough else FEWER_TIMES):
            least = min(least, _seconds(controller))
        worst = max(worst, least)
        if worst > enough:
            break
    return worst


def _seconds(controller: Controller) -> float:
    begin = time.thread_time()
    controller.compute()
    return time.thread_time() - begin


def check_frame(kind: str, size: int) -> None:
    """Refuse frames that are too large to be sent at each tick."""
    if size > MAX_FRAME:
        raise errors.error(
            "too_large",
            f"{kind} frames of this session would have {size} bytes, at most {MAX_FRAME} are "
            "allowed: ask for less",
            value=size,
            expected=f"at most {MAX_FRAME}",
        )


def time_left(others: Iterable[float], period: float) -> float:
    """s of a period that are left for another session, beside those with these costs."""
    return BUDGET * period - sum(other + OVERHEAD for other in others) - OVERHEAD


def check_budget(cost: float, others: Iterable[float], period: float) -> None:
    """Refuse a session for which the loop has no time."""
    left = time_left(others, period)
    if cost > left:
        raise errors.error(
            "busy",
            f"a tick of this session takes {1e6 * cost:.0f} µs, and the loop has "
            f"{1e6 * max(0.0, left):.0f} µs left of its period of "
            f"{1e6 * period:.0f} µs: ask for less, close another session, or run a slower loop",
            value=cost,
        )


def share_of(cost: float) -> int:
    """ns that a session may use in each tick."""
    return round(1e9 * max(MIN_SHARE, SHARE * cost))
