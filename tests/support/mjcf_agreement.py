"""A description of an MJCF file beside MuJoCo's own model of that file."""

from __future__ import annotations

import os
import warnings
from typing import Any

import mujoco
import numpy as np

from support.agreement import largest
from torqued.kernels import Robot
from torqued.kernels.formats.mjcf import described
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sources import opened
from torqued.kernels.model.description import Array, Description


def read_here(source: str | os.PathLike[str]) -> Description:
    """The description of an MJCF text or file, compiled in this process, which takes less time."""
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    return described(RobotFile(str(source)) if is_text else opened(source))


def robot_of(description: Description, mimic: str = "free") -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Robot.from_description(
            description,
            description.base or "fixed",
            gravity=description.gravity,
            mimic=mimic,
            accept_unphysical=True,
        )


def difference(description: Description, model: Any, states: int = 3) -> float:
    """The largest one, relative to each quantity's size, of M, bias, poses and Jacobians of bodies
    and sites at random states."""
    view = robot_of(description).in_coordinates("mujoco")
    links = {link.name for link in description.links}
    data, rng, worst = mujoco.MjData(model), np.random.default_rng(0), 0.0
    assert (view.nq, view.nv) == (model.nq, model.nv)
    for _ in range(states):
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel[:] = rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        q, v = data.qpos.copy(), data.qvel.copy()
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        if model.nv:
            worst = max(worst, relative(view.mass_matrix(q), M))
            # Tests without gravity and without velocity compare rounding with rounding.
            scale = np.abs(M).max() * 10.0
            worst = max(worst, relative(view.bias(q, v), data.qfrc_bias, scale))
        for kind, count in (("body", model.nbody), ("site", model.nsite)):
            for i in range(count):
                name = getattr(model, kind)(i).name
                name = name + "_site" * (kind == "site" and name + "_site" in links)
                if name in links:
                    worst = max(worst, _of_frame(view, q, model, data, kind, i, name))
    return worst


def _of_frame(view: Any, q: Array, model: Any, data: Any, kind: str, i: int, name: str) -> float:
    frame = getattr(data, kind)(i)
    pose, J = view.frame_pose(q, name), np.zeros((6, model.nv))
    R, p = frame.xmat.reshape(3, 3), np.array(frame.xpos)
    worst = max(relative(pose[:3, :3], R), relative(pose[:3, 3], p, 1.0))
    jacobian = mujoco.mj_jacBody if kind == "body" else mujoco.mj_jacSite
    jacobian(model, data, J[3:], J[:3], i)
    return max(worst, relative(view.frame_jacobian(q, name), J, 1.0)) if model.nv else worst


def relative(found: Array, expected: Array, scale: float = 0.0) -> float:
    return largest(found - expected) / max(largest(expected), scale, 1e-300)
