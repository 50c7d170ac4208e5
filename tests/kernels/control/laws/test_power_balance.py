"""Every law's own account of energy, against the motion that its torque causes.

d storage / dt = − dissipation + reference_power + portᵀ τ_ext is tested on the derivative of the
storage along the motion of the robot under the law's torque and a random external one. The oracle
is forward dynamics and a difference quotient: nothing of it is the law's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.robots import random_motion, without_effort_limits
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.model.catalog import find_file

STEP = 1e-6
#: Of a difference quotient with that step, relative to the powers and the storage.
TOLERANCE = 1e-6

#: Of five modes: a spring without resistance in one direction of turning and shifting together.
_ROOT = np.random.default_rng(1).normal(size=(6, 5)) * np.repeat([[3.0], [15.0]], 3, axis=0)
COUPLED = _ROOT @ _ROOT.T
#: By law, what it needs beside gains.
OPTIONS: dict[str, dict[str, Any]] = {
    "gravity": {"gains": {"damping": 2.0}},
    "torque": {},
    "pd": {},
    "pd_plus": {},
    "pd-drawn_in": {"gains": {"bandwidth": 8.0}},
    "pd_plus-drawn_in": {"gains": {"bandwidth": 8.0}},
    "computed_torque": {},
    "passivity": {},
    "impedance": {"frame": "tip"},
    "impedance-position": {"frame": "tip", "axes": "position"},
    "impedance-orientation": {"frame": "tip", "axes": "orientation"},
    "impedance-in_frame": {
        "frame": "tip",
        "axes_in": "frame",
        "gains": {"stiffness": [300.0, 0.0, 500.0], "rotational_stiffness": [9.0, 5.0, 0.0]},
    },
    "impedance-coupled": {"frame": "tip", "gains": {"coupled_stiffness": COUPLED}},
    "impedance-coupled_in_frame": {
        "frame": "tip",
        "axes_in": "frame",
        "gains": {"coupled_stiffness": COUPLED, "rotational_stiffness": [3.0, 0.0, 1.0]},
    },
    "impedance-force": {
        "frame": "tip",
        "axes_in": "frame",
        "force": {"axes": [0, 1, 0, 0, 0, 1], "sensor": "wrench"},
    },
}


def robots() -> dict[str, Robot]:
    """A chain with joints in all directions, and an arm whose second finger follows the first."""
    both = {"chain": Robot.family("chain", 7, seed=2), "panda": Robot.from_urdf(find_file("panda"))}
    # The balance holds where nothing is cut.
    return {name: without_effort_limits(robot) for name, robot in both.items()}


ROBOTS = robots()


def make(robot: Robot, name: str) -> Controller:
    law, options = name.partition("-")[0], dict(OPTIONS[name])
    if "frame" in options:
        options["frame"] = "panda_hand" if "panda" in robot.name else robot.frame_names[-1]
    return Controller(robot, law, **options)


def trajectory(robot: Robot, seed: int) -> Callable[[float], dict[str, np.ndarray]]:
    """References that belong together at each time: of joints, and of a frame that turns."""
    rng = np.random.default_rng(seed)
    q0 = robot.random_state(rng)[0]
    amplitude, phase = 0.3 * rng.normal(size=robot.nv), rng.uniform(0, 6, robot.nv)
    place, swing, axis, rate = *rng.normal(size=(3, 3)), 1.3
    axis /= np.linalg.norm(axis)
    push = rng.normal(size=6)
    torque = 5.0 * rng.normal(size=robot.nv)

    def at(t: float) -> dict[str, np.ndarray]:
        angle = rate * t
        zero = np.zeros(3)
        return {
            "q_ref": robot.integrate(q0, amplitude * np.sin(t + phase), 1.0),
            "v_ref": amplitude * np.cos(t + phase),
            "a_ref": -amplitude * np.sin(t + phase),
            "position": place + swing * np.sin(t),
            "orientation": np.append(axis * np.sin(0.5 * angle), np.cos(0.5 * angle)),
            "velocity": np.concatenate([rate * axis, swing * np.cos(t)]),
            "acceleration": np.concatenate([zero, -swing * np.sin(t)]),
            "posture": robot.integrate(q0, amplitude * np.cos(t + phase), 1.0),
            "posture_velocity": -amplitude * np.sin(t + phase),
            "posture_acceleration": -amplitude * np.cos(t + phase),
            "wrench": push,
            "tau": torque,
            "tau_ff": torque,
        }

    return at


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
@pytest.mark.parametrize("law", OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_storage_changes_by_what_the_law_accounts_for(robot, law, seed):
    controller = make(robot, law)
    wanted = trajectory(robot, seed)
    q, v, external = random_motion(robot, 100 + seed)

    def outputs(t: float, q: np.ndarray, v: np.ndarray) -> Any:
        references = {name: x for name, x in wanted(t).items() if name in controller.references}
        measured = {name: np.ones(shape) for name, shape in controller.measured.items()}
        return controller.torque(q, v, **references, **measured)

    now = outputs(0.0, q, v)
    assert now.status == []
    a = robot.forward_dynamics(q, v, now.tau + external)
    before, after = (
        float(outputs(h, robot.integrate(q, v + 0.5 * h * a, h), v + h * a).storage)
        for h in (-STEP, STEP)
    )
    expected = -now.dissipation + now.reference_power + now.port @ external
    parts = abs(now.dissipation) + abs(now.reference_power) + np.abs(now.port * external).sum()
    # A central difference is off by STEP² of the third derivative, and loses digits to rounding.
    size = float(parts) + float(now.storage) + 1.0
    assert abs((after - before) / (2 * STEP) - float(expected)) < TOLERANCE * size
    assert now.dissipation >= 0.0


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
def test_adaptive_law_accounts_for_what_it_has_learned(robot):
    """Its storage has a part for the load it believes in, which learning moves."""
    frame = "panda_hand" if "panda" in robot.name else robot.frame_names[-1]
    wide = np.full(10, 100.0)  # at a bound it would lose more
    controller = Controller(
        robot,
        "adaptive",
        frame=frame,
        gains={"adaptation": 2.0},
        load_lower=-wide,
        load_upper=wide,
    )
    wanted = trajectory(robot, 0)
    q, v = robot.random_state(np.random.default_rng(1))
    names = ("q_ref", "v_ref", "a_ref", "tau_ff")

    def outputs(t: float, q: np.ndarray, v: np.ndarray, elapsed: float) -> Any:
        references = {name: wanted(t)[name] for name in names}
        return controller.torque(q, v, elapsed, **references)

    # It believes in a load that is possible, and stays so while it changes a little.
    learned = [0.5, 0.01, 0.02, -0.01, 0.02, 0.0, 0.0, 0.03, 0.0, 0.025]
    controller.data.memory[:10] = learned
    now = outputs(0.0, q, v, 0.0)
    a = robot.forward_dynamics(q, v, now.tau)
    after = outputs(STEP, robot.integrate(q, v + 0.5 * STEP * a, STEP), v + STEP * a, STEP)
    expected = float(-now.dissipation + now.reference_power)
    assert now.reference_power == pytest.approx(now.port @ wanted(0.0)["tau_ff"])
    assert abs((after.storage - now.storage) / STEP - expected) < 2e-3 * abs(expected)
    assert np.abs(after.load - learned).max() > 1e-9
