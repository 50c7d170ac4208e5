"""When the next state of a session is due, learned from when those before came. Compiled.

Clients that are paced by a clock come late by what their machine makes of it, one more than the
other, and seldom by a lot. So the phase follows a part of each state's distance from when it was
due, and that distance counts only as far as such distances go: a state that was held up does not
move the next.
"""

from __future__ import annotations

from torqued.kernels.compilation.jit import kernel

#: Parts of a distance that the phase and the interval follow: a loop without overshoot, which has
#: forgotten where it began after some ten states.
OF_PHASE, OF_INTERVAL = 4, 64
#: States that the average distance is taken over, and how many times as far they are followed.
SMOOTHING, FARTHEST = 8, 2
#: Distance at first, as a part of the interval.
FIRST_SPREAD = 16
#: A state strays that comes further from its time than this part of an interval. Strays count
#: double, others against them: where there are so many, states come at another rate.
NEAR, MAX_STRAYS = 3, 5


@kernel
def expect_next(session, time, longest):
    """Learn from a state that came at a time, ns. After a pause that is longer than `longest`,
    nothing is known: `interval` is 0."""
    last = time - session.arrived
    if last > longest:
        session.interval = 0
    elif session.interval == 0 or session.strays >= MAX_STRAYS:
        session.interval, session.strays = max(1, last), 0
        session.spread = session.interval // FIRST_SPREAD
        session.due = time + session.interval
    else:
        late = time - session.due
        if NEAR * abs(late) > session.interval:  # one too many, or some were lost
            session.strays += 2
            periods = (late + session.interval // 2) // session.interval
            session.due += (periods + 1) * session.interval
        else:
            session.strays = max(0, session.strays - 1)
            session.spread += (abs(late) - session.spread) // SMOOTHING
            farthest = FARTHEST * session.spread
            late = min(max(late, -farthest), farthest)
            session.interval += late // OF_INTERVAL
            session.due += session.interval + late // OF_PHASE
