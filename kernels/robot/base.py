"""What all parts of `Robot` share: the model, its workspace, checked and mapped coordinates."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import QUATERNION_OFFSET
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.contacts.types import Wrench
from torqued.kernels.dynamics.evaluation_plan import EvaluationPlan
from torqued.kernels.input_checks import numbers, unit_quaternions
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Dofs, Model
from torqued.kernels.primitives import layout
from torqued.kernels.primitives.workspace import Workspace

#: By frame name: [moment; force] (6,) at the frame's origin in world axes, a `Wrench` at any point
#: of the frame, or a list of those.
Wrenches = Mapping[str, Any]


class RobotBase:
    """Names, sizes and limits of a robot; q and v of the free tree and back."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.work = Workspace(model.world, model.bodies)
        self._follows = model.mimics.present
        self.nq_free, self.nv_free = len(model.mimics.q_index), len(model.mimics.v_index)
        self.nq, self.nv = len(model.mimics.leaders_q), len(model.mimics.leaders_v)
        self._unbranched: Workspace | None = None  # made when contacts of a mimic robot need it
        self._frame_index = {frame.name: k for k, frame in enumerate(model.frames)}
        self._frame_records = np.zeros(len(model.frames), layout.FRAME).view(np.recarray)
        for record, frame in zip(self._frame_records, model.frames, strict=True):
            record.body, record.R, record.p = frame.body, frame.rotation.ravel(), frame.position
        leaders = model.mimics.leaders_q
        self.quaternions = [
            (joint.name, int(np.searchsorted(leaders, joint.q + QUATERNION_OFFSET[joint.type])))
            for joint in model.joints
            if joint.type in QUATERNION_OFFSET
        ]
        self._charted: dict[str, ChartedRobot] = {}
        self._plans: dict[object, EvaluationPlan] = {}

    def copy(self) -> Self:
        """The same robot with a workspace of its own, for another thread."""
        other = copy.copy(self)
        other.work = Workspace(self.model.world, self.model.bodies)
        other._plans = {}
        other._charted = {}  # they compute in the workspace of the robot they belong to
        return other

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: {self.model.base} base, nq={self.nq}, nv={self.nv}>"

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def warnings(self) -> tuple[str, ...]:
        """Faults of the robot's file that do no harm."""
        return self.model.warnings

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints in the order of their coordinates; followers of other joints left out."""
        leaders = set(self.model.mimics.leaders_v.tolist())
        return tuple(joint.name for joint in self.model.joints if joint.v in leaders)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Links, then joints whose name no link has."""
        return tuple(self._frame_index)

    @property
    def gravity_vector(self) -> Array:
        """Acceleration of free fall in world axes, m/s²."""
        return np.array(self.model.world["gravity"][0])

    @property
    def limits(self) -> Dofs:
        """Limits, damping, friction and rotor inertia of the robot's own coordinates."""
        free, q, v = self.model.dofs, self.model.mimics.leaders_q, self.model.mimics.leaders_v
        return Dofs(
            free.lower[q],
            free.upper[q],
            free.velocity[v],
            free.effort[v],
            free.damping[v],
            free.friction[v],
            free.armature[v],
        )

    def _free_q(self, q: Any, name: str = "q") -> Array:
        """The free tree's coordinates for the robot's q, checked."""
        own = numbers(name, q, (self.nq,))
        unit_quaternions(name, own, self.quaternions)
        if not self._follows:
            return own
        mimics = self.model.mimics
        free = np.empty(self.nq_free)
        COMPILED.expand_position(mimics.q_index, mimics.q_multiplier, mimics.offset, own, free)
        return free

    def _free_v(self, name: str, v: Any) -> Array:
        """The free tree's velocities (or accelerations) for the robot's, checked."""
        own = numbers(name, v, (self.nv,))
        if not self._follows:
            return own
        mimics = self.model.mimics
        free = np.empty(self.nv_free)
        COMPILED.expand(mimics.v_index, mimics.multiplier, own, free)
        return free

    def _projected(self, projection: str, free: Array) -> Array:
        """A result of the free tree in the robot's coordinates; the names are of quantities.py."""
        if not self._follows or projection == "none":
            return free
        mimics, n = self.model.mimics, self.nv
        shapes = {"vector": (n,), "matrix": (n, n), "tensor": (n, n, n), "rows": (len(free), n)}
        out = np.empty(shapes[projection])
        getattr(COMPILED, f"project_{projection}")(mimics.v_index, mimics.multiplier, free, out)
        return out

    def _reduce_vector(self, free: Array) -> Array:
        return self._projected("vector", free)

    def _reduce_rows(self, free: Array) -> Array:
        return self._projected("rows", free)

    def _reduce_matrix(self, free: Array) -> Array:
        return self._projected("matrix", free)

    def _reduce_tensor(self, free: Array) -> Array:
        return self._projected("tensor", free)

    def _frames(self, names: Sequence[str], point: Any = None) -> NDArray[np.void]:
        """Records of named frames, moved by `point` (3,) in their own axes."""
        for name in names:
            if name not in self._frame_index:
                raise InputError(f"frame {name!r} is unknown; robot.frame_names lists them")
        records = self._frame_records[[self._frame_index[name] for name in names]]
        if point is not None:
            shift = numbers("point", point, (3,))
            for record in records:
                record.p = record.p + record.R.reshape(3, 3) @ shift
        return records

    def _wrenches(self, f_ext: Wrenches) -> tuple[NDArray[np.void], Array]:
        """Frames and their wrenches [moment; force], checked."""
        frames, wrenches = [], []
        for frame, value in f_ext.items():
            name = f"f_ext[{frame!r}]"
            for item in (
                value if isinstance(value, list | tuple) and _holds_wrench(value) else [value]
            ):
                if isinstance(item, Wrench):
                    moment = numbers(f"{name}.moment", item.moment, (3,))
                    force = numbers(f"{name}.force", item.force, (3,))
                    frames.append(self._frames([frame], item.point)[0])
                    wrenches.append(np.concatenate([moment, force]))
                else:
                    frames.append(self._frames([frame])[0])
                    wrenches.append(numbers(name, item, (6,)))
        return np.array(frames, layout.FRAME).view(np.recarray), np.array(wrenches)


def _holds_wrench(values: Sequence[Any]) -> bool:
    return any(isinstance(item, Wrench) for item in values)
