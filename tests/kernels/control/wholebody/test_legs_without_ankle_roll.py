"""Feet that legs without an ankle's roll hold: the base may roll, though to first order only."""

import numpy as np
import pytest

from support.walkers import walker
from torqued.kernels import Robot
from torqued.kernels.control.wholebody.whole_body import WholeBody

TASKS = [{"kind": "com"}, {"kind": "orientation", "frame": "base"}, {"kind": "posture"}]


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.from_description(walker(ankle_roll=False), "floating")


def crouched(robot: Robot, bend: float = 0.5) -> np.ndarray:
    q = robot.neutral()
    for k, name in enumerate(robot.joint_names[-(robot.nv - 6) :]):
        q[7 + k] = {"pitch": -bend, "knee": 2.0 * bend, "ankle": -bend}.get(name.split("_")[1], 0.0)
    return q


@pytest.mark.parametrize("roll", [0.0, 0.003, 0.01, 0.05])
def test_feet_that_tilt_ask_for_no_large_accelerations(robot, roll):
    """Soft ground lets feet turn; what legs can hardly correct is not asked of them."""
    feet = [{"frame": f"{side}_foot", "half_size": [0.1, 0.03]} for side in ("left", "right")]
    control = WholeBody(robot, TASKS, feet)
    change = np.zeros(robot.nv)
    change[0] = roll  # the base; hips turn back, and knees take the difference in height
    for k, name in enumerate(robot.joint_names[-(robot.nv - 6) :], 6):
        side, kind = name.split("_")
        shift = (1.0 if side == "left" else -1.0) * roll * 0.3
        change[k] = {"roll": -roll, "pitch": -shift, "knee": 2.0 * shift, "ankle": -shift}.get(
            kind, 0.0
        )
    q = robot.integrate(crouched(robot), change, 1.0)
    references = control.hold(crouched(robot))
    rng = np.random.default_rng(0)
    for _ in range(5):
        v = 0.2 * rng.normal(size=robot.nv)
        answer = control.torque(q, v, references)
        assert answer["status"] == 0
        assert np.abs(answer["a"]).max() < 30.0
