"""Masses and inertias: possible for a body, and enough for every joint to have some to move."""

from __future__ import annotations

import numpy as np

from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Link
from torqued.kernels.model.findings import Findings
from torqued.kernels.model.rigid_body import about_axis, about_origin

#: No robot has numbers beyond this, and none of their products overflows.
LARGEST = 1e30

#: A radius of gyration (m) that says how large an inertia could be expected for a mass;
#: without it, the inertia of a point mass would have no size to compare rounding with.
SMALL_RADIUS = 1e-3

#: Relative to an inertia's size: rounding of float64, and of files with few digits.
COMPUTED = 1e-12
PRINTED = 1e-6


def in_range(numbers: Array | float) -> bool:
    """Finite, and not beyond what products can bear."""
    return bool(np.all(np.abs(numbers) <= LARGEST))


def check_numbers(link: Link, findings: Findings) -> None:
    """Mass, centre of mass and inertia are numbers that can be computed with."""
    where = f"link {link.name!r}"
    mass, com, rotational = link.inertia.mass, link.inertia.com, link.inertia.rotational
    if not in_range(mass) or mass < 0.0:
        findings.fault(where, f"mass {mass} must be from 0 to {LARGEST:g}")
    if com.shape != (3,) or not in_range(com):
        findings.fault(
            where, f"centre of mass {com.tolist()} is not 3 finite numbers below {LARGEST:g}"
        )
    if rotational.shape != (3, 3) or not in_range(rotational):
        findings.fault(
            where, f"inertia {rotational.tolist()} is not 3 x 3 finite numbers below {LARGEST:g}"
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
        return  # told by check_numbers
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
            findings.fault(where, sentence)
        else:
            findings.warn(where, f"{sentence}; the links that it is fixed to make up for it")
    elif least < -COMPUTED * size:
        findings.warn(where, f"inertia has the eigenvalue {least:.6g}, negative within rounding")
    elif moments[0] + moments[1] < moments[2] - PRINTED * size:
        a, b, c = (f"{moment:.6g}" for moment in moments)
        findings.warn(
            where,
            f"no body has the principal moments of inertia {a}, {b}, {c}: "
            "the largest is above the sum of the others",
        )
    if inertia.mass == 0.0 and rotational.any():
        findings.warn(where, "has rotational inertia but no mass")


def check_motions(description: Description, bodies: Bodies, findings: Findings) -> None:
    """Every independent motion moves some inertia; otherwise the mass matrix is singular."""
    leaders = {joint.name: joint.mimic.joint for joint in description.joints if joint.mimic}
    idle = {
        joint.name
        for joint in description.joints
        if joint.type != "fixed" and _is_idle(joint, bodies.composite[joint.child])
    }
    busy = set()
    for joint in description.joints:
        if joint.type != "fixed" and joint.name not in idle:
            name = joint.name
            while name in leaders:
                name = leaders[name]
            busy.add(name)
    for joint in description.joints:
        if joint.name not in idle or joint.name in busy or joint.name in leaders:
            continue
        where = f"joint {joint.name!r}"
        composite = bodies.composite[joint.child]
        massless = composite.mass == 0.0 and not composite.rotational.any()
        what = f"link {joint.child!r} and all that hangs from it"
        if massless:
            findings.fault(where, f"moves no mass: {what} have mass 0.0 and no inertia")
        elif not bodies.joints[joint.child]:
            findings.fault(
                where,
                f"moves no inertia: link {joint.child!r} (mass {composite.mass:g}) has none "
                f"in a direction of this {joint.type} joint",
            )
        else:
            findings.warn(where, f"{what} have no inertia in its direction at q = 0")


def _is_idle(joint: Joint, body: Inertia) -> bool:
    """Whether some motion of the joint moves no inertia; `body` is all that hangs from it."""
    if joint.armature > 0.0:
        return False
    if joint.type in ("prismatic", "translation"):
        return body.mass == 0.0
    origin = about_origin(body)
    if joint.type in ("revolute", "continuous"):
        return about_axis(body, joint.axis) <= COMPUTED * np.trace(origin)
    if joint.type == "helical":
        advance = joint.pitch**2 * body.mass
        return about_axis(body, joint.axis) + advance <= COMPUTED * (np.trace(origin) + advance)
    # Where a joint moves the body freely in directions, only turns about its centre of mass count.
    negligible = COMPUTED * np.trace(body.rotational)
    if joint.type == "planar":
        return body.mass == 0.0 or joint.axis @ body.rotational @ joint.axis <= negligible
    if joint.type == "floating":
        return body.mass == 0.0 or np.linalg.eigvalsh(body.rotational)[0] <= negligible
    return bool(np.linalg.eigvalsh(origin)[0] <= COMPUTED * np.trace(origin))


def _moments(inertia: Inertia) -> tuple[Array, float]:
    """Principal moments in rising order, and the size that rounding is compared with."""
    moments = np.linalg.eigvalsh(inertia.rotational)
    return moments, float(np.abs(moments).max() + abs(inertia.mass) * SMALL_RADIUS**2)
