"""Inertias of rigid bodies: seen from another frame, and joined into one body.

Everything is kept about the center of mass, so that each sum has only terms of one sign and
a light link far from its frame's origin loses no digits.
"""

from __future__ import annotations

import numpy as np

from torqued.kernels.model.description import Array, Inertia, Pose


def moved(inertia: Inertia, pose: Pose) -> Inertia:
    """The same body, expressed in the frame in which its own frame sits at `pose`."""
    R = pose.rotation
    return Inertia(inertia.mass, R @ inertia.com + pose.position, R @ inertia.rotational @ R.T)


def joined(a: Inertia, b: Inertia) -> Inertia:
    """Two bodies in one frame as one rigid body."""
    mass = a.mass + b.mass
    rotational = a.rotational + b.rotational
    if mass == 0.0:
        return Inertia(0.0, a.com, rotational)
    com = (a.mass * a.com + b.mass * b.com) / mass
    return Inertia(mass, com, rotational + a.mass * b.mass / mass * spread(a.com - b.com))


def about_origin(inertia: Inertia) -> Array:
    """Rotational inertia (3, 3) about the frame's origin instead of the center of mass."""
    return inertia.rotational + inertia.mass * spread(inertia.com)


def about_axis(inertia: Inertia, axis: Array) -> float:
    """Moment of inertia about the line through the frame's origin along the unit vector `axis`."""
    lever = np.cross(axis, inertia.com)
    return float(axis @ inertia.rotational @ axis + inertia.mass * (lever @ lever))


def spread(d: Array) -> Array:
    """Rotational inertia (3, 3) of a unit mass at `d`."""
    return d @ d * np.eye(3) - np.outer(d, d)
