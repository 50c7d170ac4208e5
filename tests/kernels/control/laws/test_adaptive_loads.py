"""`adaptive` with loads that its model lacks, on robots that MuJoCo simulates, as a session has it:
default gains, walls, limits, torques 2 ms late and noise of 1 mrad/s."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.model import catalog
from torqued.kernels.model.description import Description
from torqued.tools.demos.models import PANDA_READY, with_payload
from torqued.tools.demos.plant import Plant, Push

PERIOD, DELAY, NOISE = 1e-3, 2, 1e-3


@dataclass(frozen=True)
class Arm:
    name: str
    frame: str
    rated: float  # kg
    q: tuple[float, ...]
    out: tuple[float, ...] = (0.0, 0.0, 0.05)  # m, center of the load in the frame


ARMS = (
    Arm("panda", "panda_link8", 3.0, tuple(PANDA_READY)),
    Arm("ur5", "tool0", 5.0, (0.0, -1.57, 1.57, -1.57, -1.57, 0.0)),
    Arm("xarm7", "link7", 3.5, (0.0, -0.25, 0.0, 0.9, 0.0, 1.16, 0.0)),
    Arm("z1", "link06", 2.0, (0.0, 0.8, -0.8, -0.3, 0.0, 0.0), (0.05, 0.0, 0.0)),
)
BY_NAME = {arm.name: arm for arm in ARMS}


def with_rotors(known: Description, inertia: float) -> Description:
    """A description whose joints all have a rotor of an inertia, kg m²."""
    joints = tuple(replace(joint, armature=inertia) for joint in known.joints)
    return replace(known, joints=joints)


class Loop:
    """A plant with a load under `adaptive`, which does not know of it."""

    def __init__(self, arm: Arm, load: float, rotors: float = 0.0) -> None:
        known, real = (with_rotors(catalog.describe(arm.name), x) for x in (0.0, rotors))
        if load > 0.0:
            real = with_payload(real, arm.frame, load, np.array(arm.out))
        self.robot, self.plant = Robot.from_description(known), Plant(real)
        self.controller = Controller(self.robot, "adaptive", frame=arm.frame)
        self.controller.stabilize(PERIOD)
        self.q = np.array(arm.q)
        self.plant.reset(self.q, np.zeros(self.robot.nv))
        self._late = deque([self.robot.gravity(self.q)] * DELAY)
        self._rng = np.random.default_rng(0)
        self.out: Any = None

    def run(
        self, seconds: float, each: Callable[[], None] = lambda: None, **references: Any
    ) -> float:
        """Returns the largest speed on the way, relative to its limit."""
        fastest = 0.0
        for _ in range(round(seconds / PERIOD)):
            each()
            noise = NOISE * self._rng.normal(size=self.robot.nv)
            plant = self.plant
            self.out = self.controller.step(plant.q, plant.v + noise, PERIOD, **references)
            self._late.append(self.out.tau)
            plant.step(self._late.popleft(), PERIOD)
            fastest = max(fastest, float((np.abs(plant.v) / self.robot.limits.velocity).max()))
        return fastest

    def off(self, goal: Any = None) -> float:
        return float(np.abs(self.plant.q - (self.q if goal is None else goal)).max())

    def drop(self) -> None:
        body = self.plant.body("payload")
        self.plant.model.body_mass[body] = 1e-9
        self.plant.model.body_inertia[body] = 1e-12


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_rated_load_is_learned_from_rest(arm):
    loop = Loop(arm, arm.rated)
    fastest = loop.run(3.0)
    assert loop.off() < 0.02
    assert loop.out.load[0] == pytest.approx(arm.rated, rel=0.1)
    assert fastest < 1.0


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_load_that_drops_does_not_throw_the_arm(name):
    loop = Loop(BY_NAME[name], BY_NAME[name].rated)
    loop.run(2.0)
    loop.drop()
    fastest = loop.run(1.5)
    assert fastest < 1.0
    assert loop.off() < 0.02
    assert loop.out.load[0] < 0.1 * BY_NAME[name].rated


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_rotors_that_the_model_lacks_leave_the_arm_where_it_is(arm):
    loop = Loop(arm, arm.rated, rotors=0.1)
    loop.run(3.0)
    assert loop.off() < 0.1


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_arm_that_is_held_back_and_let_go_keeps_its_speed_limits(name):
    """A hand pulls the tool back while the reference moves up, and lets go."""
    arm = BY_NAME[name]
    loop = Loop(arm, 0.0)
    loop.run(0.1)
    plant, start = loop.plant, loop.plant.point(arm.frame)
    goal = loop.q.copy()
    goal[1] -= 0.3
    last = [start]

    def hold() -> None:
        place = plant.point(arm.frame)
        speed, last[0] = (place - last[0]) / PERIOD, place
        force = -3000.0 * (place - start) - 60.0 * speed
        plant.pushes = [Push(arm.frame, force * min(1.0, 300.0 / max(np.linalg.norm(force), 1.0)))]

    def nothing() -> None:
        plant.pushes = []

    loop.run(1.5, hold, q_ref=goal)
    fastest = loop.run(1.5, nothing)
    assert fastest < 1.0
    assert loop.off(goal) < 0.02
