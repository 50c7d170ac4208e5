"""A robot's description in Pinocchio, joint by joint, with kinds that files for it rarely have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from torqued.kernels.model.description import Description, Joint, Pose

from .literal_joints import plane_axes
from .literal_tree import FLOATING_BASE, Base, root_link

#: By the type of joints that have no axis.
WITHOUT_AXIS = {
    "spherical": pin.JointModelSpherical,
    "translation": pin.JointModelTranslation,
    "floating": pin.JointModelFreeFlyer,
}


def pinocchio_model(description: Description, base: Base) -> Any:
    """Pinocchio's model, all joints free, with a frame for each link."""
    model, links = pin.Model(), {link.name: link for link in description.links}

    def hang(link: str, parent: int, at: Any) -> None:
        """Hang a link at a joint of Pinocchio's, and below it everything that it carries."""
        own = links[link].inertia
        model.appendBodyToJoint(parent, pin.Inertia(own.mass, own.com, own.rotational), at)
        model.addFrame(pin.Frame(link, parent, at, pin.FrameType.OP_FRAME))
        for joint in description.joints:
            if joint.parent == link:
                add(joint, parent, at * _se3(joint.placement))

    def add(joint: Joint, parent: int, at: Any) -> None:
        if joint.type == "fixed":
            hang(joint.child, parent, at)
            return
        twin, turn = _twin(joint)
        number = model.addJoint(parent, twin, at * turn, joint.name)
        model.addJointFrame(number)  # without it, buildReducedModel ends the process
        hang(joint.child, number, turn.inverse())

    root, here = root_link(description), pin.SE3.Identity()
    if base == "fixed":
        hang(root, 0, here)
    else:
        add(Joint(FLOATING_BASE, "floating", "world", root), 0, here)
    return model


def _twin(joint: Joint) -> tuple[Any, Any]:
    """Pinocchio's joint, and where its axes are in the joint's."""
    axis, one = joint.axis / np.linalg.norm(joint.axis), pin.SE3.Identity()
    if joint.type in WITHOUT_AXIS:
        return WITHOUT_AXIS[joint.type](), one
    if joint.type == "prismatic":
        return pin.JointModelPrismaticUnaligned(axis), one
    if joint.type == "helical":
        return pin.JointModelHelicalUnaligned(axis, joint.pitch), one
    if joint.type == "planar":  # whose plane is normal to z
        return pin.JointModelPlanar(), pin.SE3(plane_axes(axis), np.zeros(3))
    assert joint.type in ("revolute", "continuous"), joint.type
    return pin.JointModelRevoluteUnaligned(axis), one


def _se3(pose: Pose) -> Any:
    return pin.SE3(pose.rotation, pose.position)
