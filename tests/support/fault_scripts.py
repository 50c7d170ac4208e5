"""Scripts of what goes wrong in a session, and recordings of what it did then.

    PYTHONPATH=tests python -m support.fault_scripts

writes tests/server/loop/fault_recordings.npz. It holds what ticks gave before the session's modes
became a table, but for scripts in which a stop meets a resume that waits: a stop cancels it since.
test_fault_recordings.py plays the same scripts again. Record again only where kernels change what
they compute, or where a change of behavior is meant, and look at which scripts differ.
"""

from pathlib import Path

import numpy as np

from support.scripted_session import ScriptedSession
from torqued.kernels import Robot
from torqued.kernels.compilation.jit import PROCESSOR

FILE = Path(__file__).parents[1] / "server" / "loop" / "fault_recordings.npz"


def start(s):
    s.tick(3)
    s.states(4)
    s.states(4, near(s))
    s.states(6, far(s))
    s.states(3)


def near(s):
    """References of states that are where the robot is."""
    return references(s, 0.0)


def far(s):
    return references(s, 0.3)


def references(s, offset):
    out = {}
    for name, value in s.controller.references.items():
        if name == "q_ref":
            q = s.q.copy()
            q[-1] += offset
            out[name] = q
        elif value.size == 3 and "ref" in name:
            out[name] = np.full(3, 0.1 * offset)
        elif value.size == s.robot.nv and name == "v_ref":
            out[name] = np.zeros(s.robot.nv)
    return out


def silence(s):
    s.states(3, near(s))
    s.tick(6)  # within the time that the last torque is held
    s.states(3, near(s))
    s.tick(22)
    s.states(6)
    s.tick(6)
    s.states(3)
    s.resume()
    s.tick(1)
    s.states(4, near(s))


def bad_states(s):
    s.state(q=s.q * np.nan)
    s.tick(2)
    s.states(3)
    s.state(q=s.q * np.nan)
    s.tick(2)
    s.states(2)
    s.state(v=s.v + np.inf)
    s.tick(10)
    s.states(2)
    s.resume()
    s.states(3)
    s.state(dict.fromkeys(s.controller.references, np.inf))
    s.tick(2)
    s.states(2)
    s.state(sequence=1)  # old
    s.tick()
    s.state(sequence=-5)
    s.tick()
    s.state(later=-0.5)  # measured before the one before
    s.tick()
    s.state(tear=True)
    s.tick()
    s.states(2)
    s.state(q=s.q * 1.5)  # no quaternion, where there is one
    s.tick(2)
    s.states(2)


def overflow(s):
    """Numbers that are finite and lead to none."""
    s.states(3)
    s.state(v=s.direction * 1e200)
    s.tick(2)
    s.states(3)
    s.state(v=s.direction * 1e306)
    s.tick(12)
    s.state(v=s.direction * 1e306)
    s.tick(2)
    s.states(3)
    s.resume()
    s.states(3)
    s.states(2, dict.fromkeys(s.controller.references, 1e300))
    s.states(3)


def no_time(s):
    s.states(3, near(s))
    s.use_up_time()
    s.states(3, near(s))
    s.give_time()
    s.states(3, near(s))
    s.use_up_time()
    s.states(10, near(s))
    s.give_time()
    s.states(3)
    s.resume()
    s.states(3)


def orders(s):
    s.hold()
    s.tick(2)
    s.states(3)
    s.hold()
    s.states(3, near(s))
    s.move(0.05, 0.006)
    s.states(9, near(s))
    s.move(0.05, 0.02)
    s.states(4)
    s.hold()
    s.states(4)
    s.command(0.02)
    s.states(4, near(s))
    s.move(0.02, 0.004)
    s.states(2)
    s.command(0.01)
    s.states(6)
    s.move(0.05, 0.02)
    s.states(2)
    s.resume()
    s.states(4, near(s))
    s.resume()
    s.states(3)
    s.command(0.01)
    s.states(2)
    s.move(0.01, 0.0)
    s.states(2)


def orders_in_fallback(s):
    s.states(2)
    s.move(0.05, 0.02)
    s.states(3)
    s.halt()
    s.states(2)
    for order in (s.hold, lambda: s.move(0.1, 0.01), lambda: s.command(0.1)):
        order()
        s.states(2)
    s.halt()
    s.states(2)
    s.resume()
    s.states(2)
    s.halt()
    s.resume()
    s.states(2)  # not in the fallback: it takes over
    s.resume()
    s.halt()
    s.states(2)
    s.resume()
    s.tick(6)
    s.states(2)


def stops(s):
    s.stop()
    s.tick(2)
    s.states(2, near(s))
    s.recover()
    s.tick()
    s.states(2)
    s.resume()
    s.states(3, near(s))
    s.stop()
    s.states(3)
    s.resume()
    s.states(2)
    s.recover()
    s.states(3)
    s.move(0.05, 0.02)
    s.states(2)
    s.stop()
    s.tick(8)
    s.halt()
    s.states(2)
    s.recover()
    s.states(2)
    s.stop()
    s.tick(2)


def halt_before_states(s):
    s.halt()
    s.tick(2)
    s.states(2)
    s.resume()
    s.states(2)


def resume_before_states(s):
    s.resume()
    s.tick(2)
    s.states(3, near(s))


def leases(s):
    s.lease(0.002)
    s.tick(4)
    s.states(3, near(s))
    s.resume()
    s.states(3, near(s))
    s.lease(0.003)
    s.states(5, near(s))
    s.move(0.05, 0.03)
    s.lease(0.003)
    s.states(6)
    s.command(0.02)
    s.lease(0.002)
    s.states(4)
    s.halt()
    s.lease(0.001)
    s.states(4)
    s.stop()
    s.lease(0.001)
    s.states(3)
    s.recover()
    s.resume()
    s.states(3, near(s))


def changes(s):
    """Of gains and of the payload."""
    s.tune(1.2, 3)
    s.carry(0.3, 3)
    s.tick(2)
    s.states(3)
    s.tune(0.8, 4)
    s.carry(0.1, 4)
    s.states(5, near(s))
    s.halt()
    s.tune(1.0, 3)
    s.carry(0.0, 3)
    s.states(8)
    s.resume()
    s.states(2)


def wait_and_close(s):
    s.tick(2)


def fall_and_close(s):
    s.states(2)
    s.tick(14)


def brake_to_rest(s):
    """The fallback holds once joints are slow, and forgets where without states."""
    s.states(3)
    s.halt()
    s.states(4)
    s.direction = s.direction * 1e-3
    s.states(6)
    s.tick(6)
    s.states(4)


def arrivals(s):
    """Served by a thread that answers states as they come, at times of their own."""
    s.loop.on_arrival = 1
    for period in (1_000_000, 700_000, 1_600_000, 100_000):
        s.loop.period = period
        s.states(2, near(s))
    s.halt()
    s.states(3)
    s.resume()
    s.states(2)


SCRIPTS = (
    start,
    silence,
    bad_states,
    overflow,
    no_time,
    orders,
    orders_in_fallback,
    stops,
    halt_before_states,
    resume_before_states,
    leases,
    changes,
    wait_and_close,
    fall_and_close,
    brake_to_rest,
    arrivals,
)
OF_FALLBACK = (silence, stops, brake_to_rest)

FEET = [{"frame": "link_left_4"}, {"frame": "link_right_4"}]
TASKS = [{"kind": "posture"}, {"kind": "com"}]


def arm():
    return Robot.family("tree", 8)


def biped():
    return Robot.family("biped", 8)


#: Name → robot, law, options of `open`, what it is given for its safety, scripts.
CASES = {
    "passivity": (arm, "passivity", {"observer": True, "integral": True}, {}, SCRIPTS),
    "impedance": (arm, "impedance", {"frame": "link_5"}, {}, SCRIPTS),
    "wholebody": (biped, "wholebody", {"tasks": TASKS, "contacts": FEET}, {}, SCRIPTS),
    "stream": (arm, "stream", {"want": ["g", "energy"]}, {}, (start, bad_states, no_time)),
    "hold": (arm, "gravity", {}, {"fallback": "hold", "fallback_damping": 0.3}, OF_FALLBACK),
    "gravity": (
        arm,
        "gravity",
        {"low_pass": 0.0},
        {"fallback": "gravity", "without_states": "gravity"},
        OF_FALLBACK,
    ),
    "zero": (arm, "gravity", {}, {"fallback": "zero", "hold": 0.0, "fade": 0.0}, OF_FALLBACK),
}
NAMES = [f"{case}.{script.__name__}" for case, row in CASES.items() for script in row[4]]


def play(name):
    """The ticks of one script."""
    case, wanted = name.split(".")
    robot, law, options, safety, scripts = CASES[case]
    session = ScriptedSession(robot(), law, safety, **options)
    (script,) = [script for script in scripts if script.__name__ == wanted]
    script(session)
    session.close()
    return session.ticks


def arrays(ticks):
    """What a recording holds: whole numbers and others, (ticks, columns) each."""
    return np.array([t.whole for t in ticks], np.int64), np.array([t.numbers for t in ticks])


def record():
    found = {"processor": np.array(PROCESSOR)}
    for name in NAMES:
        found[f"{name}.whole"], found[f"{name}.numbers"] = arrays(play(name))
    np.savez_compressed(FILE, **found)


if __name__ == "__main__":
    record()
