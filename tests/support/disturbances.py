"""Arms in MuJoCo with friction, loads and pushes that are known exactly, under a law."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from torqued.common.errors import ModelWarning
from torqued.kernels.control import Controller
from torqued.kernels.model.catalog import describe
from torqued.tools.demos.models import PANDA_READY
from torqued.tools.demos.plant import Plant
from torqued.tools.demos.trajectories import Sines

STEP = 1e-3
#: The strength of a joint that has 1 N m s/rad and 0.5 N m of friction; others in proportion.
STRENGTH = 87.0

#: Where an arm swings about, rad; the middle of its limits otherwise.
CENTRES = {
    "panda": PANDA_READY,
    "ur5": np.array([0.0, -1.2, 1.2, 0.0, 0.5, 0.0]),
    "ur10": np.array([0.0, -1.2, 1.2, 0.0, 0.5, 0.0]),
}


def plant_of(name: str) -> Plant:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # harmless faults of published files
        return Plant(describe(name))


def friction_of(plant: Plant) -> dict[str, Any]:
    """Viscous and Coulomb friction by the strength of joints."""
    scale = plant.robot.limits.effort / STRENGTH
    return {"viscous": 1.0 * scale, "coulomb": 0.5 * scale}


def rub(plant: Plant, viscous: Any, coulomb: Any) -> None:
    """Give MuJoCo's joints that friction.

    Its Coulomb friction is a soft constraint: with the usual time constant of 20 ms a light joint
    slides at 1 rad/s before it is felt in full.
    """
    plant.model.dof_damping[:] = viscous
    plant.model.dof_frictionloss[:] = coulomb
    plant.model.dof_solref[:] = (2.0 * plant.model.opt.timestep, 1.0)
    plant.model.dof_solimp[:] = (0.99, 0.99, 0.001, 0.5, 2.0)


def swing(plant: Plant, name: str) -> Sines:
    """A motion of up to 0.3 rad, as fast as a fifth of the slowest joint's limit allows."""
    limits, n = plant.robot.limits, plant.robot.nv
    bounded = np.isfinite(limits.lower)
    middle = 0.5 * (np.where(bounded, limits.lower, 0.0) + np.where(bounded, limits.upper, 0.0))
    center = CENTRES.get(name, middle)
    amplitude = np.minimum(0.3, 0.07 * limits.velocity)
    return Sines(center, amplitude, 0.3 + 0.05 * np.arange(n), start=0.5)


def follow(plant: Plant, controller: Controller, motion: Sines, seconds: float) -> dict[str, Any]:
    """Errors (steps, nv), rad, and outputs by name; torques are held for a millisecond."""
    plant.reset(*motion(0.0)[:2])
    rows: dict[str, list[Any]] = {"error": []}
    for k in range(round(seconds / STEP)):
        given = dict(zip(("q_ref", "v_ref", "a_ref"), motion(plant.time), strict=True))
        rows["error"].append(plant.q - given["q_ref"])
        references = {name: given[name] for name in controller.references if name in given}
        output = vars(controller.torque(plant.q, plant.v, STEP if k else 0.0, **references))
        for key, value in output.items():
            rows.setdefault(key, []).append(value)
        plant.step(output["tau"], STEP)
    return {
        key: np.array(column, dtype=object if key == "status" else None)
        for key, column in rows.items()
    }


def rms(error: Any) -> float:
    return float(np.sqrt(np.mean(np.square(error))))
