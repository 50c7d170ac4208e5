"""A robot with masses, rotors, damping and friction of a MJCF file, under torqued's names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from torqued.kernels.model.description import Array, Description
from torqued.tools.demos.plant import Plant, Toucher, Wall, add_toucher, add_wall

#: Parts of a file that are not the robot's joints and bodies. All moving bodies of the Menagerie
#: have inertias that do not depend on their shapes.
LEFT_OUT = (
    *("actuators", "equalities", "tendons", "sensors", "keys", "pairs", "excludes"),
    *("geoms", "skins", "meshes", "materials", "textures"),
)


class MenageriePlant(Plant):
    """Joints are those of the description, by name or in order; others are welded."""

    def __init__(
        self,
        description: Description,
        base: str,
        file: str,
        walls: tuple[Wall, ...] = (),
        touchers: tuple[Toucher, ...] = (),
    ) -> None:
        self._file, self._walls, self._touchers = Path(file), walls, touchers
        self._above = {joint.child: joint for joint in description.joints}
        super().__init__(description, base)

    def _compile(self, spec: Any) -> Any:
        spec = mujoco.MjSpec.from_file(str(self._file))
        for part in [part for kind in LEFT_OUT for part in getattr(spec, kind)]:
            spec.delete(part)
        names = list(self.chart.joint_names)[-self.robot.nv + self.first :]
        joints = [joint for joint in spec.joints if joint.type != mujoco.mjtJoint.mjJNT_FREE]
        if not set(names) <= {joint.name for joint in joints}:
            for joint, name in zip(joints, names, strict=False):
                joint.name = name
        for joint in joints:
            if joint.name not in names:
                spec.delete(joint)
        bare = spec.compile()
        data = mujoco.MjData(bare)
        data.qpos[:] = self.chart.from_native(self.robot.neutral())
        mujoco.mj_kinematics(bare, data)
        for wall in self._walls:
            add_wall(spec, wall)
        for toucher in self._touchers:
            link = toucher.link
            while self._above[link].name not in names:
                link = self._above[link].parent
            body = data.body(spec.joint(self._above[link].name).parent.name)
            pose = self.robot.frame_pose(self.robot.neutral(), toucher.link)
            away = pose[:3, :3] @ toucher.at + pose[:3, 3] - body.xpos
            at = body.xmat.reshape(3, 3).T @ away
            add_toucher(spec, replace(toucher, link=body.name, at=at))
        return spec.compile()

    def _set_armature(self) -> None:
        """The file has it."""

    @property
    def first(self) -> int:
        """Coordinates of v before those of joints."""
        return 6 if self.robot.model.base == "floating" else 0

    def losses(self) -> Array:
        """(3, nv) viscous and Coulomb friction and rotor inertia of joints in the file."""
        of_file = self.model.dof_damping, self.model.dof_frictionloss, self.model.dof_armature
        rows = np.array([self.chart.torque_to_native(self.data.qpos, x) for x in of_file])
        rows[:, : self.first] = 0.0
        return rows
