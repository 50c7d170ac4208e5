"""Joints by name: where they are in q and v, and what they can do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torqued.kernels.charts.chart import own_joints
from torqued.kernels.input_checks import known_name
from torqued.kernels.model.description import Array
from torqued.kernels.robot.core import RobotCore


@dataclass(frozen=True)
class RobotJoint:
    """`q[joint.q]` and `v[joint.v]` are the joint's own numbers. Limits are infinite where they
    are not known."""

    name: str
    type: str
    q: slice
    v: slice
    lower: Array  # (joint.nq,) rad or m
    upper: Array
    velocity: Array  # (joint.nv,) rad/s or m/s
    effort: Array  # (joint.nv,) N m or N

    @property
    def nq(self) -> int:
        return len(self.lower)

    @property
    def nv(self) -> int:
        return len(self.velocity)


class Joints(RobotCore):
    """Moving joints; followers of other joints have no place in q and v."""

    @cached_property
    def _joints(self) -> dict[str, RobotJoint]:
        dofs, found = self.model.own_dofs, {}
        for joint in own_joints(self.model):
            q, v = slice(joint.q, joint.q + joint.nq), slice(joint.v, joint.v + joint.nv)
            limits = dofs.lower[q], dofs.upper[q], dofs.velocity[v], dofs.effort[v]
            found[joint.name] = RobotJoint(joint.name, joint.type, q, v, *limits)
        return found

    def joint(self, name: str) -> RobotJoint:
        """The joint of that name, with its slices of q and v: `q[robot.joint("elbow").q]`."""
        return self._joints[known_name("joint", "joint", name, self._joints)]
