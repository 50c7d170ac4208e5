"""The time of a session: by its robot's clock while states come, by the daemon's without. Compiled.

docs/PROTOCOL.md, Time, has the rules.
"""

from __future__ import annotations

import numpy as np

from torqued.kernels.compilation.jit import kernel

#: s between two states by the robot's clock; it has jumped if there is more.
MAX_STEP = 0.1


@kernel
def robot_time(session, passed, since, period):
    """s from the state before to this one, by the robot's clock.

    If that stands still or jumps, by ours: `since` is the time, ns, between their ticks.
    """
    if session.lock_step != 0:
        return passed if 0.0 < passed < MAX_STEP else period * 1e-9
    if 0.0 < passed < MAX_STEP:
        return min(passed, (since + period) * 1e-9)
    return min(since, period) * 1e-9


@kernel
def step_in_time(loop, session, control, has_state, is_new, has_come):
    """Set `session.step`, ns by which this tick moves torques.

    While states come it is the robot's time from one to the next, whichever thread serves the
    session, and however often: the limit of a rate holds as the robot counts. Without them it is
    the time since the session was served, at most a period. In lock step time stands still then.
    """
    wall = max(loop.time - session.served, 0)
    if has_state and not is_new:
        session.step = 0
    elif has_state and session.had_state != 0:
        session.step = np.int64(round(control.elapsed * 1e9))
    elif has_state:
        session.step = loop.period  # the clock has moved the torque during the silence
    elif session.lock_step != 0:
        session.step = loop.period if has_come else 0
    else:
        session.step = min(wall, loop.period)
    session.overdue += session.step if is_new or session.lock_step != 0 else wall
    session.had_state = 1 if has_state else 0
    session.served = loop.time
