"""Which links move as one: the rigid bodies between the moving joints, at q = 0."""

from __future__ import annotations

from torqued.kernels.model.description import Description, Inertia, Joint, Pose
from torqued.kernels.model.rigid_body import joined, moved


class Bodies:
    """The rigid bodies of a sound tree, each named for the link that carries the others.

    A body's frame is that link's frame.
    """

    def __init__(self, description: Description) -> None:
        #: link -> the body that it is part of
        self.body: dict[str, str] = {}
        #: body -> inertia of all its links
        self.inertia: dict[str, Inertia] = {}
        #: body -> the moving joints that hang from it, and where they sit in it
        self.joints: dict[str, list[tuple[Joint, Pose]]] = {}
        self._collect(description)
        #: body -> inertia of it and of everything that hangs from it, at q = 0
        self.composite: dict[str, Inertia] = {}
        for body in reversed(self.inertia):  # bodies are found parents first
            total = self.inertia[body]
            for joint, pose in self.joints[body]:
                total = joined(total, moved(self.composite[joint.child], pose))
            self.composite[body] = total

    def _collect(self, description: Description) -> None:
        inertias = {link.name: link.inertia for link in description.links}
        below: dict[str, list[Joint]] = {name: [] for name in inertias}
        for joint in description.joints:
            below[joint.parent].append(joint)
        root = (inertias.keys() - {joint.child for joint in description.joints}).pop()
        # A list instead of recursion: a chain may be longer than Python's stack.
        waiting = [(root, root, Pose())]
        while waiting:
            link, body, pose = waiting.pop()
            self.body[link] = body
            self.joints.setdefault(body, [])
            added = moved(inertias[link], pose)
            self.inertia[body] = joined(self.inertia[body], added) if link != body else added
            for joint in below[link]:
                if joint.type == "fixed":
                    waiting.append((joint.child, body, pose @ joint.placement))
                else:
                    self.joints[body].append((joint, pose @ joint.placement))
                    waiting.append((joint.child, joint.child, Pose()))
