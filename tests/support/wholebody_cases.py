"""Robots that stand, for tests of whole-body controllers, and what an answer must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.robots import load_real, robots_folder
from torqued.kernels import Robot, Wrench
from torqued.kernels.control.wholebody.controller import ContactController
from torqued.kernels.control.wholebody.dense import DenseProgram, dense_program
from torqued.kernels.control.wholebody.whole_body import WholeBody

TALOS = robots_folder() / "talos_data" / "robots" / "talos_reduced.urdf"

STANDING = [{"kind": "com"}, {"kind": "orientation", "frame": "body"}, {"kind": "posture"}]
FEET = [
    {"frame": "link_left_06", "half_size": [0.1, 0.05], "friction": 0.8},
    {"frame": "link_right_06", "half_size": [0.1, 0.05], "friction": 0.8},
]


def biped(seed: int = 0) -> Robot:
    """Random bodies, two legs of six joints, torque and position limits."""
    return Robot.family("biped", 12, seed=seed)


def random_state(robot: Robot, seed: int, speed: float = 0.3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    q, _ = robot.random_state(rng)
    start = robot.neutral()
    step = 0.3 * robot.difference(start, q)
    return robot.integrate(start, step, 1.0), speed * rng.normal(size=robot.nv)


def random_references(control: WholeBody, q: Any, seed: int) -> dict[str, Any]:
    """To hold what is at q, accelerate a little, and press with some force."""
    rng = np.random.default_rng(seed)
    references = control.hold(q)
    references["contact_force"] = rng.uniform(0.0, 50.0, references["contact_force"].shape)
    for name in references:
        if name.endswith((".velocity", ".acceleration", ".rate")):
            references[name] = 0.5 * rng.normal(size=references[name].shape)
    return references


def along_axes(control: ContactController) -> Any:
    """Forces of active contacts in the order of the program's variables."""
    program = control.program
    active = [c for c in program.contact if c["variable"] >= 0]
    return np.concatenate(
        [program.force[c["point"] : c["point"] + c["points"]].ravel() for c in active] or [[]]
    )


def program_and_solution(control: WholeBody, state: Any) -> tuple[DenseProgram, Any]:
    answer = control.tick(state)
    assert answer["violated"] == "nothing"
    x = np.concatenate([answer["a"], along_axes(control)])
    return dense_program(control, state), x


def wrenches(control: WholeBody, force: Any) -> dict[str, list[Wrench]]:
    """Forces in world axes as external forces of `Robot`, at the points of the contacts."""
    acting: dict[str, list[Wrench]] = {}
    program = control.program
    frames = [name.split("#")[0] for name in control.contact_names]
    for frame, contact in zip(frames, program.contact, strict=True):
        for k in range(contact["point"], contact["point"] + contact["points"]):
            acting.setdefault(frame, []).append(Wrench(force=force[k], point=program.offset[k]))
    return acting


def talos() -> Robot:
    return load_real(TALOS, "floating", mimic="free")
