"""The cost of a session: measured before it is opened, and refused if the loop lacks the time.

The loop serves sessions one after the other. A slow one delays the others and cannot be
interrupted, so its cost has to be known in advance; it pays for any excess with its own later ticks
(`compute` in session_tick.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from torqued.client import errors
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.springs import MEASURED
from torqued.server.loop.session_tick import MIN_ITERATIONS

#: Part of a period that all sessions together may need; the rest is for peaks.
BUDGET = 0.7
#: s for receiving and sending, per session and per byte of its frames, which the loop, ZeroMQ's
#: thread and the kernel copy.
OVERHEAD, PER_BYTE = 15e-6, 1e-9
#: What a session may use in each tick before it has to wait: s, and in multiples of its cost.
MIN_SHARE, SHARE = 100e-6, 2.0
#: Bytes of a state or an output frame.
MAX_FRAME = 1 << 20

#: States to try, and how often each; fewer times once a try has been too long.
STATES, TIMES, FEWER_TIMES = 3, 3, 2


def measured_cost(controller: Controller, enough: float = math.inf) -> float:
    """Seconds of processor time of one tick, for the most expensive of a few states.

    A solver has the iterations that the loop guarantees (session_tick.py); it gets more only as
    there is time, and many of these states have no solution.

    Stops once a state takes more than `enough` seconds, since other clients wait. The controller
    must not be used afterwards: its memory is of no real motion.
    """
    robot, rng = controller.robot, np.random.default_rng(0)
    record = controller.record[0]
    if record.most_iterations > 0:
        record.iterations = min(MIN_ITERATIONS, record.most_iterations)
    worst = 0.0
    for k in range(STATES):
        q, v = robot.random_state(rng)
        v = 0.0 * v if k == 0 else v
        at_rest = {name: np.zeros(shape) for name, shape in controller.measured.items()}
        at_rest |= {name: x for name, x in zip(MEASURED, (q, v), strict=True) if name in at_rest}
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
    """Refuse frames that are too large for each tick."""
    if size > MAX_FRAME:
        raise errors.error(
            "too_large",
            f"{kind} frames of this session would have {size} bytes, at most {MAX_FRAME} are "
            "allowed: ask for less",
            value=size,
            expected=f"at most {MAX_FRAME}",
        )


def time_left(others: Iterable[float], period: float) -> float:
    """s of a period that are left beside sessions with these costs."""
    return BUDGET * period - sum(other + OVERHEAD for other in others) - OVERHEAD


def check_budget(cost: float, others: Iterable[float], period: float) -> None:
    """Refuse a session that the loop has no time for."""
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
