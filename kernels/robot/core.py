"""What all methods of a robot share: its model, its tree with a workspace, and its frames."""

from __future__ import annotations

from typing import Any

from torqued.kernels.model.model import Model
from torqued.kernels.primitives import no_copies  # noqa: F401  (registers what refuses them)
from torqued.kernels.robot.frame_table import FrameTable
from torqued.kernels.robot.precision_checked_tree import precision_checked_tree
from torqued.kernels.robot.tree import FreeTree


class RobotCore:
    """Of one thread at a time."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tree = tree = FreeTree(model)
        #: The tree for dynamics, which refuses configurations in which rounding counts.
        self.checked_tree = precision_checked_tree(tree)
        self.frame_table = FrameTable(model)
        #: Sizes of q and v, and of those of the tree with mimic joints free.
        self.nq, self.nv = tree.nq, tree.nv
        self.nq_free, self.nv_free = tree.nq_free, tree.nv_free
        self.work = tree.work
        #: Threads that compute with it at the moment: a second one is refused.
        self.users: set[int] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickled robots are made of the model: each has its own workspace."""
        return type(self), (self.model,)

    @property
    def needs_precision_check(self) -> bool:
        """Whether configurations are checked, as rounding counts in some."""
        return self.checked_tree is not self.tree
