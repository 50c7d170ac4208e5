"""The compiled loops allocate nothing: neither in their code nor, as counted, while they run.

ZeroMQ's own messages are another matter: the library allocates and frees them. That nothing is
kept of them is what `torqued bench soak` measures.
"""

import itertools

import numpy as np
import pytest
from numba import njit

from support.compiled_kernels import allocations, assert_no_allocator
from support.eventually import eventually
from support.served import serving
from torqued.common.status import CLAMPED, FALLBACK, SOLVER
from torqued.kernels import Robot
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.steps import STEPS

LOOPS = (
    *("run_servo", "answer_arrivals", "observe"),
    *("serve_session", *STEPS.values()),
    *(law.entry for law in LAWS.values()),
)


@pytest.fixture(scope="module")
def robot():
    return Robot.family("tree", 8)


@pytest.mark.parametrize("name", LOOPS)
def test_loop_refers_to_no_allocator(name):
    assert_no_allocator(name)


FEET = [{"frame": "link_left_4"}, {"frame": "link_right_4"}]
#: By law, what it takes beside gains.
OPTIONS = {
    "stream": {"want": ["M", "C", "Gamma", "g", "bias", "energy", "com", "momentum"]},
    "adaptive": {"frame": "link_5"},
    "impedance": {"frame": "link_5"},
    "elastic": {"springs": {"stiffness": 300.0, "motor_inertia": 0.1, "damping": 0.5}},
    "wholebody": {"tasks": [{"kind": "posture"}, {"kind": "com"}], "contacts": FEET},
    "balance": {"contacts": FEET},
}
#: These stand on their feet.
STANDING = ("wholebody", "balance")


@pytest.mark.parametrize("law", LAWS)
def test_ticks_allocate_nothing(robot, statistics, law, tmp_path):
    robot = Robot.family("biped", 8) if law in STANDING else robot
    q, v = robot.random_state(np.random.default_rng(0))
    fields = {"law": law, **OPTIONS.get(law, {})}
    moving = [robot.integrate(q, v, 1e-4 * k) for k in range(1000)]  # as v says
    steps = itertools.count()
    if LAWS[law].is_torque:
        fields["observer"] = True
    with serving(robot, tmp_path) as served, served.session(**fields) as session:
        session.step(q, v, at=0.0, **motors(law, q, v))
        loop = served.servo.shared.loop
        before, first = allocations(), int(loop.tick[0])

        def is_through():
            k = next(steps) % len(moving)
            session.send(moving[k], v, at=1e-4 * k, **motors(law, moving[k], v))
            output = session.receive()
            assert output.status & ~(CLAMPED | SOLVER | FALLBACK) == 0
            return int(loop.tick[0]) >= first + 200

        eventually(is_through, pause=0.0)
        assert allocations() == before
        assert served.observation.statistics()["records"] > 200  # all of it into the ring


def motors(law, q, v):
    return {"motor_q": q, "motor_v": v} if law == "elastic" else {}


def test_counter_sees_an_allocation(statistics):
    before = allocations()
    njit(lambda n: np.ones(n).sum())(3)
    assert allocations() > before
