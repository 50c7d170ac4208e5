"""Whether a description is a robot whose equations of motion exist.

`check` finds every fault before it raises, and returns as warnings what does no harm to the
dynamics. Names and the tree are judged in `checks_tree.py`, joints in `checks_joint.py`, masses
in `checks_mass.py`.
"""

from __future__ import annotations

from torqued.kernels.errors import ModelError
from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.checks_joint import check_joint, check_mimics, check_placement
from torqued.kernels.model.checks_mass import check_inertia, check_motions, check_numbers
from torqued.kernels.model.checks_tree import check_tree
from torqued.kernels.model.description import Description
from torqued.kernels.model.findings import Findings


def check(description: Description, strict: bool = False) -> tuple[str, ...]:
    """Warnings, one sentence each; raises one `ModelError` with all faults.

    With `strict`, warnings are faults.
    """
    findings = Findings(warnings=list(description.notes))
    check_tree(description, findings)
    for joint in description.joints:
        check_placement(joint, findings)
    for link in description.links:
        check_numbers(link, findings)
    # Without these, which links move as one body cannot be told.
    bodies = None if findings.faults else Bodies(description)
    for joint in description.joints:
        check_joint(joint, findings)
    check_mimics(description, findings)
    for link in description.links:
        check_inertia(link, bodies, findings)
    if bodies is not None and not findings.faults:
        check_motions(description, bodies, findings)
    problems = findings.faults + (findings.warnings if strict else [])
    if problems:
        raise ModelError(description.source, problems)
    return tuple(findings.warnings)
