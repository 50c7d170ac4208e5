"""Whether a description is a robot whose equations of motion exist.

`check` finds every fault before it raises, and returns as warnings what does no harm to the
dynamics. Names and the tree are judged in `checks_tree.py`, joints in `checks_joint.py`, masses
in `checks_mass.py`, limits of efforts in `checks_effort.py`, units in `checks_units.py`.

Between the two are robots that no matter could build: a joint that moves no mass, an inertia with
a negative eigenvalue. Other libraries load them silently, and fail where they divide by the mass
matrix. Here they are refused unless the caller accepts them.
"""

from __future__ import annotations

from collections.abc import Sequence

from torqued.common.errors import ModelError
from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.checks_effort import check_efforts
from torqued.kernels.model.checks_joint import (
    check_joint,
    check_limits,
    check_mimics,
    check_placement,
)
from torqued.kernels.model.checks_mass import check_inertia, check_motions, check_numbers
from torqued.kernels.model.checks_tree import check_tree
from torqued.kernels.model.checks_units import check_units
from torqued.kernels.model.description import JOINT_SIZES, Description
from torqued.kernels.model.diagnostics import Findings

#: What a model may have: its time is quadratic in links, its memory in degrees of freedom.
MAX_LINKS, MAX_DOFS = 10_000, 2000


def check(
    description: Description,
    strict: bool = False,
    accept_unphysical: bool = False,
    known: Sequence[str] = (),
) -> tuple[str, ...]:
    """Warnings, one sentence each; raises one `ModelError` with all faults, and the
    `known` ones first.

    With `strict`, warnings are faults. With `accept_unphysical`, joints that move no mass and
    inertias with negative eigenvalues are warnings: inverse dynamics, M and C then exist, while
    forward dynamics may not.
    """
    sizes = {
        "links": (len(description.links), MAX_LINKS),
        "joints": (len(description.joints), MAX_LINKS),
        "degrees of freedom": (
            sum(JOINT_SIZES.get(joint.type, (0, 0))[1] for joint in description.joints),
            MAX_DOFS,
        ),
    }
    for what, (size, most) in sizes.items():
        if size > most:
            raise ModelError(description.source, [f"has {size} {what}, at most {most} are allowed"])
    findings = Findings(warnings=list(description.notes))
    check_tree(description, findings)
    for joint in description.joints:
        check_placement(joint, findings)
    for link in description.links:
        check_numbers(link, findings)
    # They decide which links move as one body.
    bodies = None if findings.faults else Bodies(description)
    for joint in description.joints:
        check_joint(joint, findings)
    check_mimics(description, findings)
    frames = {link.name for link in description.links} | {j.name for j in description.joints}
    for name, items in description.constraints.items():
        for frame in {frame for item in items for frame in (item.frame, item.other)} - frames:
            if frame is not None:
                findings.fault(f"constraints {name!r}", f"frame {frame!r} does not exist")
    for link in description.links:
        check_inertia(link, bodies, findings)
    # Limits and losses change neither what moves nor what it weighs.
    sound = bodies is not None and not findings.faults
    for joint in description.joints:
        check_limits(joint, findings)
    if bodies is not None and sound:
        check_motions(description, bodies, findings)
        check_efforts(description, findings)
        check_units(description, bodies, findings)

    warnings = findings.warnings
    if accept_unphysical:
        warnings = findings.unphysical + warnings
        problems = [*known, *findings.faults]
    else:
        problems = [*known, *findings.faults, *findings.unphysical]
    if strict:
        problems = problems + warnings
    if problems:
        raise ModelError(description.source, problems)
    return tuple(warnings)


def further_faults(description: Description, known: Sequence[str]) -> list[str]:
    """Faults of a robot that could be read in part only, beside the `known` ones of reading.

    Stand-ins for unreadable values are valid, so every fault found here is the file's.
    Where something has no name, or a joint does not say what it connects, the tree cannot be
    judged.
    """
    findings = Findings()
    joints = description.joints
    if all(j.name and j.parent and j.child for j in joints) and all(
        link.name for link in description.links
    ):
        check_tree(description, findings)
    check_mimics(description, findings)
    for joint in joints:
        check_placement(joint, findings)
        check_joint(joint, findings)
        check_limits(joint, findings)
    for link in description.links:
        check_numbers(link, findings)
        check_inertia(link, None, findings)
    return [fault for fault in findings.faults + findings.unphysical if fault not in known]
