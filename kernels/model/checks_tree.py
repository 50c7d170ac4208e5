"""Names, and whether the joints make one tree of the links."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from torqued.kernels.model.description import Description, Joint
from torqued.kernels.model.diagnostics import Findings


def check_tree(description: Description, findings: Findings) -> None:
    """Unique names, known links, one parent each, one root, no loop."""
    links = [link.name for link in description.links]
    if not links:
        findings.fault("robot", "has no links")
    _check_unique("link", links, findings)
    _check_unique("joint", [joint.name for joint in description.joints], findings)

    known = set(links)
    above: defaultdict[str, list[Joint]] = defaultdict(list)  # the joints that a link hangs from
    for joint in description.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                findings.fault(f"joint {joint.name!r}", f"{role} link {link!r} does not exist")
        above[joint.child].append(joint)
    for link, joints in above.items():
        if len(joints) > 1:
            parents = ", ".join(f"{joint.parent!r} by joint {joint.name!r}" for joint in joints)
            findings.fault(f"link {link!r}", f"has {len(joints)} parents: {parents}")

    roots = [link for link in dict.fromkeys(links) if link not in above]
    if len(roots) > 1:
        findings.fault("robot", f"has {len(roots)} roots, expected one: {_listed(roots)}")
    for loop in cycles({link: joints[0].parent for link, joints in above.items()}):
        names = " → ".join(repr(link) for link in [loop[0], *reversed(loop)])
        rootless = "" if roots else ", and no link is the root"
        findings.fault("robot", f"links form a loop: {names}{rootless}")


def cycles(step: Mapping[str, str]) -> Iterator[list[str]]:
    """The closed paths of a map that leads from each name to at most one other."""
    visited: set[str] = set()
    for start in step:
        path: dict[str, None] = {}  # a set that keeps its order
        name = start
        while name in step and name not in visited and name not in path:
            path[name] = None
            name = step[name]
        if name in path:
            names = list(path)
            yield names[names.index(name) :]
        visited.update(path)


def _check_unique(kind: str, names: Sequence[str], findings: Findings) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            findings.fault(f"{kind} {name!r}", f"{times} {kind}s have this name")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
