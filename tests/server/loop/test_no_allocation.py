"""The compiled loops allocate nothing: neither in their code nor, as counted, while they run.

ZeroMQ's own messages are another matter: the library allocates and frees them. That nothing is
kept of them is what `torqued bench soak` measures.
"""

from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from support.eventually import eventually
from support.served import serving
from torqued.common.status import CLAMPED, FALLBACK, SOLVER
from torqued.kernels import Robot
from torqued.kernels.compilation import jit
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES
from torqued.kernels.compilation.sources import digest
from torqued.kernels.control.laws import LAWS
from torqued.kernels.control.steps import STEPS

ALLOCATORS = (b"NRT_MemInfo_alloc", b"NRT_MemInfo_varsize_alloc", b"NRT_Allocate")
LOOPS = (
    *("run_servo", "answer_arrivals", "observe"),
    *("serve_session", *STEPS.values()),
    *(law.entry for law in LAWS.values()),
)


@pytest.fixture
def statistics():
    """Numba's runtime counts its allocations."""
    before = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not before:
        _nrt_python.memsys_disable_stats()


def allocations():
    return int(rtsys.get_allocation_stats().alloc)


@pytest.fixture(scope="module")
def robot():
    return Robot.family("tree", 8)


@pytest.mark.parametrize("name", LOOPS)
def test_loop_refers_to_no_allocator(name):
    if jit.CACHE_FOLDER is None:
        pytest.skip(f"machine code is read from the cache: {jit.CACHE_PROBLEM}")
    getattr(COMPILED, name)
    dispatcher = ENTRIES[name][0]
    sources = digest(dispatcher.__module__)
    files = list(Path(dispatcher.stats.cache_path).glob(f"*.{name}-*{sources}*.nbc"))
    assert files
    code = b"".join(file.read_bytes() for file in files)
    assert name.encode() in code  # so names are to be seen in it
    assert not [allocator for allocator in ALLOCATORS if allocator in code]


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
    motors = {"motor_q": q, "motor_v": v} if law == "elastic" else {}
    if LAWS[law].is_torque:
        fields["observer"] = True
    with serving(robot, tmp_path) as served, served.session(**fields) as session:
        session.step(q, v, **motors)
        loop = served.servo.shared.loop
        before, first = allocations(), int(loop.tick[0])

        def is_through():
            session.send(q, v, **motors)
            output = session.receive()
            assert output.status & ~(CLAMPED | SOLVER | FALLBACK) == 0
            return int(loop.tick[0]) >= first + 200

        eventually(is_through, pause=0.0)
        assert allocations() == before
        assert served.observation.statistics()["records"] > 200  # all of it into the ring


def test_counter_sees_an_allocation(statistics):
    before = allocations()
    njit(lambda n: np.ones(n).sum())(3)
    assert allocations() > before
