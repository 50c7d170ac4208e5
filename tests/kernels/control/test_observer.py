"""The momentum observer on a robot that is simulated with its own forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.model.catalog import find_urdf

STEP = 1e-3
GAIN = 40.0


def run(robot, controller, external, seconds, q, v, **references):
    """Outputs at each step; `external` gives the external torque at a time and state."""
    outputs = []
    for k in range(round(seconds / STEP)):
        out = controller.torque(q, v, STEP if k else 0.0, **references)
        outputs.append(out)
        for _ in range(4):
            a = robot.forward_dynamics(q, v, out.tau + external(k * STEP, q))
            q, v = robot.integrate(q, v + 0.125 * STEP * a, 0.25 * STEP), v + 0.25 * STEP * a
    return outputs


@pytest.fixture(scope="module")
def panda():
    return Robot.from_urdf(find_urdf("panda"))


@pytest.fixture(scope="module")
def pose(panda):
    limits = panda.limits
    return 0.5 * (limits.lower + limits.upper)


def test_residual_follows_an_external_torque_like_a_first_order_filter(panda, pose):
    pushed = np.array([3.0, -4.0, 2.0, 3.0, 1.0, -1.0, 0.5, 0.0])
    controller = Controller(panda, "gravity", gains={"damping": 5.0}, observer={"gain": GAIN})
    outputs = run(panda, controller, lambda t, q: pushed, 0.2, pose, np.zeros(panda.nv))
    for at in (0.02, 0.05, 0.1, 0.199):
        filtered = (1.0 - np.exp(-GAIN * at)) * pushed
        found = outputs[round(at / STEP)].external
        assert np.abs(found - filtered).max() < 0.05 * np.abs(pushed).max()


def test_nothing_is_felt_where_nothing_pushes(panda, pose):
    controller = Controller(panda, "passivity", observer=True)
    target = pose + 0.2
    outputs = run(panda, controller, lambda t, q: 0.0, 0.5, pose, np.zeros(panda.nv), q_ref=target)
    assert max(np.abs(out.external).max() for out in outputs) < 0.5
    assert all(out.contact == 0.0 and out.link == -1.0 for out in outputs)


@pytest.mark.parametrize("link", ["panda_link3", "panda_link5", "panda_link7"])
def test_contact_is_detected_isolated_and_released(panda, pose, link):
    """A force on a link is felt by the joints before it: the last of them moves that link."""
    point = [0.08, 0.0, 0.0]  # beside the joint's axis, pushed across it
    across = panda.frame_pose(pose, link)[:3, 1]
    force = np.append(np.zeros(3), 30.0 * across)

    def external(t, q):
        pushing = 0.05 <= t < 0.25
        return panda.frame_jacobian(q, link, point=point).T @ force if pushing else 0.0

    controller = Controller(
        panda,
        "passivity",
        # Stiff enough that the wrist does not turn away from under the push.
        gains={"bandwidth": 40.0, "damping_rate": 40.0},
        observer={"gain": 80.0, "threshold": 1.0, "release": 0.4},
    )
    outputs = run(panda, controller, external, 0.5, pose, np.zeros(panda.nv), q_ref=pose)
    contact = np.array([float(out.contact) for out in outputs])
    assert not contact[:50].any()
    assert contact[80:250].all()
    assert not contact[-50:].any()
    joint = next(k for k, name in enumerate(panda.joint_names) if name == f"panda_joint{link[-1]}")
    assert all(out.link == joint for out in outputs[150:250])
    # Hysteresis: while pushed lightly above the release, an old contact goes on.
    switched = np.abs(np.diff(contact)).sum()
    assert switched == 2.0


def test_time_of_the_states_counts_not_their_number(panda, pose):
    """The same motion in fewer, longer steps is seen the same way."""
    pushed = np.full(panda.nv, 2.0)
    found = []
    for step in (1e-3, 2e-3):
        controller = Controller(panda, "gravity", gains={"damping": 50.0}, observer={"gain": 20.0})
        q, v, passed = pose, np.zeros(panda.nv), 0.0
        while passed < 0.1:
            out = controller.torque(q, v, step if passed else 0.0)
            for _ in range(4):
                a = panda.forward_dynamics(q, v, out.tau + pushed)
                q, v = panda.integrate(q, v, 0.25 * step), v + 0.25 * step * a
            passed += step
        found.append(out.external)
    # Counted by number, the filter would be 0.46 N m behind.
    assert np.abs(found[0] - found[1]).max() < 0.3
