"""The momentum observer on a robot that is simulated with its own forward dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.catalog import find_file
from torqued.tools.demos.plant import Plant, Push

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
    return Robot.from_urdf(find_file("panda"))


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


class Mistaken:
    """A UR10 in MuJoCo whose links differ from the law's by ± a share of their masses, or are all
    heavier."""

    def __init__(self, share: float, seed: int | None = None) -> None:
        known = read_file(find_file("ur10"))
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(known.links))
        if seed is None:
            signs[:] = 1.0
        links = tuple(
            replace(
                link,
                inertia=replace(
                    link.inertia,
                    mass=(1.0 + share * sign) * link.inertia.mass,
                    rotational=(1.0 + share * sign) * link.inertia.rotational,
                ),
            )
            for link, sign in zip(known.links, signs, strict=True)
        )
        self.robot = Robot.from_description(known)
        self.plant = Plant(replace(known, links=links))

    def contacts(self, observer, force=(0.0, 0.0, 0.0)):
        """Whether a contact is seen, over half a second of a brisk motion and a push at the end."""
        start, still = np.array([0.4, -1.2, 1.4, -0.6, 0.5, 0.2]), np.zeros(6)
        self.plant.reset(start, still)
        self.plant.pushes = [Push("wrist_3_link", np.array(force))] if any(force) else []
        law = Controller(
            self.robot, "passivity", observer=observer, friction={"viscous": 0.0, "coulomb": 0.0}
        )
        found = []
        for k in range(500):
            turn = 3.0 * k * 1e-3
            wanted = {
                "q_ref": start + 0.3 * (1.0 - np.cos(turn)),
                "v_ref": still + 0.9 * np.sin(turn),
            }
            out = law.step(
                self.plant.q, self.plant.v, 1e-3, **wanted, a_ref=still + 2.7 * np.cos(turn)
            )
            self.plant.step(out.tau)
            found.append(float(out.contact))
        return np.array(found)


@pytest.mark.parametrize("seed", [0, 1, None])
def test_masses_that_are_wrong_by_the_uncertainty_are_no_contact(seed):
    mistaken = Mistaken(0.1, seed)
    assert not mistaken.contacts(True).any()


def test_masses_that_are_wrong_count_as_contact_where_the_model_is_believed():
    assert Mistaken(0.1).contacts({"uncertainty": 0.0}).mean() > 0.2


@pytest.mark.parametrize("axis", range(2))
def test_push_of_20_N_is_seen_along_directions_without_weight(axis):
    force = 20.0 * np.eye(3)[axis]
    mistaken = Mistaken(0.1, 0)
    assert mistaken.contacts(True, force).any()


def test_uncertainty_is_a_share_of_masses(panda):
    with pytest.raises(InputError, match=r"uncertainty is 1.5, expected a share of masses, 0 … 1"):
        Controller(panda, "gravity", observer={"uncertainty": 1.5})
