"""Masses and inertias: possible for a body, and enough for every joint to have some to move."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.description import SINGLE_DOF, Array, Description, Inertia, Joint, Link
from torqued.kernels.model.diagnostics import Findings
from torqued.kernels.model.rigid_body import about_axis, about_origin

#: No robot has numbers beyond this, and none of their products overflows.
MAX_NUMBER = 1e30

#: A radius of gyration (m) that says how large an inertia could be expected for a mass;
#: without it, the inertia of a point mass would have no size to compare rounding with.
SMALL_RADIUS = 1e-3

#: Relative to an inertia's size: rounding of float64, and of files with few digits.
COMPUTED = 1e-12
PRINTED = 1e-6


def in_range(numbers: Array | float) -> bool:
    """Finite, and not beyond what products can bear."""
    return bool(np.all(np.abs(numbers) <= MAX_NUMBER))


def check_numbers(link: Link, findings: Findings) -> None:
    """Mass, center of mass and inertia are numbers that can be computed with."""
    where = f"link {link.name!r}"
    mass, com, rotational = link.inertia.mass, link.inertia.com, link.inertia.rotational
    if not in_range(mass) or mass < 0.0:
        findings.fault(where, f"mass {mass} must be from 0 to {MAX_NUMBER:g}")
    if com.shape != (3,) or not in_range(com):
        findings.fault(
            where, f"center of mass {com.tolist()} is not 3 finite numbers below {MAX_NUMBER:g}"
        )
    if rotational.shape != (3, 3) or not in_range(rotational):
        findings.fault(
            where, f"inertia {rotational.tolist()} is not 3 x 3 finite numbers below {MAX_NUMBER:g}"
        )


def check_inertia(link: Link, bodies: Bodies | None, findings: Findings) -> None:
    """Some mass distribution has this inertia.

    Where only what is fixed to a link makes up for its fault, the fault does no harm. `bodies` is
    None when the tree has faults; then each link stands for itself.
    """
    where = f"link {link.name!r}"
    inertia = link.inertia
    rotational = inertia.rotational
    if rotational.shape != (3, 3) or not in_range(rotational) or not in_range(inertia.mass):
        return  # reported by check_numbers
    if np.abs(rotational - rotational.T).max() > COMPUTED * np.abs(rotational).max():
        findings.fault(where, f"inertia {rotational.tolist()} is not symmetric")
        return
    moments, size = _moments(inertia)
    least = moments[0]
    if least < -PRINTED * size:
        sentence = f"inertia has the negative eigenvalue {least:.6g}"
        body = inertia if bodies is None else bodies.inertia[bodies.body[link.name]]
        body_moments, body_size = _moments(body)
        if body_moments[0] < -COMPUTED * body_size:
            findings.unphysical.append(f"{where}: {sentence}")
        else:
            findings.warn(where, f"{sentence}; the links fixed to it compensate for that")
    elif least < -COMPUTED * size:
        findings.warn(where, f"inertia has the eigenvalue {least:.6g}, negative within rounding")
    elif moments[0] + moments[1] < moments[2] - PRINTED * size:
        shown = ", ".join(f"{moment:.6g}" for moment in np.maximum(moments, 0.0))
        findings.warn(
            where,
            f"no body has the principal moments of inertia {shown}: "
            "the largest is above the sum of the others",
        )
    if inertia.mass == 0.0 and rotational.any():
        findings.warn(where, "has rotational inertia but no mass")


def check_motions(description: Description, bodies: Bodies, findings: Findings) -> None:
    """Every independent motion moves some inertia; otherwise the mass matrix is singular."""
    joints = {joint.name: joint for joint in description.joints if joint.type != "fixed"}
    idle = {
        name for name, joint in joints.items() if _is_idle(joint, bodies.composite[joint.child])
    }
    followed = {_leader(name, joints) for name in joints.keys() - idle}
    for name, joint in joints.items():
        if name not in idle or name in followed or joint.mimic is not None:
            continue
        where = f"joint {name!r}"
        composite = bodies.composite[joint.child]
        below = f"{joint.child!r} and all that hangs from it"
        remedy = "give it inertia, armature, or a fixed joint"
        if composite.mass == 0.0 and not composite.rotational.any():
            problem = f"moves no mass: {below} have mass 0.0 and no inertia; {remedy}"
            findings.unphysical.append(f"{where}: {problem}")
        elif not bodies.joints[joint.child]:
            of_mass = f"of mass {composite.mass:g}"
            problem = f"moves no inertia: {joint.child!r}, {of_mass}, has none about it; {remedy}"
            findings.unphysical.append(f"{where}: {problem}")
        else:
            problem = f"{below} have no inertia about it at q = 0"
            findings.warn(where, f"{problem}, where the mass matrix is singular")


def _leader(name: str, joints: Mapping[str, Joint]) -> str | None:
    """The joint whose coordinate moves this one; None where a multiplier of 0 holds it still."""
    while (mimic := joints[name].mimic) is not None:
        if mimic.multiplier == 0.0:
            return None
        name = mimic.joint
    return name


def _is_idle(joint: Joint, body: Inertia) -> bool:
    """Whether some motion of the joint moves no inertia; `body` is all that hangs from it."""
    if joint.armature > 0.0:
        return False
    if joint.type in ("prismatic", "translation"):
        return body.mass == 0.0
    if joint.type in SINGLE_DOF:
        advance = joint.pitch**2 * body.mass
        size = np.trace(about_origin(body)) + advance
        return bool(about_axis(body, joint.axis) + advance <= COMPUTED * size)
    # Where the joint can move the center of mass along, only turns about that center count.
    turned = body.rotational if joint.type in ("planar", "floating") else about_origin(body)
    if joint.type == "planar":
        least = joint.axis @ turned @ joint.axis
    else:
        least = np.linalg.eigvalsh(turned)[0]
    massless = joint.type in ("planar", "floating") and body.mass == 0.0
    return massless or bool(least <= COMPUTED * np.trace(turned))


def _moments(inertia: Inertia) -> tuple[Array, float]:
    """Principal moments in rising order, and the size that rounding is compared with."""
    moments: Array = np.linalg.eigvalsh(inertia.rotational).astype(np.float64)
    return moments, float(np.abs(moments).max() + abs(inertia.mass) * SMALL_RADIUS**2)
