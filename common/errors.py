"""The errors of torqued's kernels, one tree:

    TorquedError                     everything that torqued raises on purpose
    ├── ModelError                   a robot description that cannot be used, with all faults
    ├── InputError (ValueError)      a wrong shape, a non-finite number, an unknown name
    └── NumericalError               a computation without a result (a singular mass matrix)

`ModelWarning` is the warning category for faults of a file that do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence


class TorquedError(Exception):
    """Base class of every error that torqued raises on purpose."""


class ModelError(TorquedError):
    """A robot description that cannot be used.

    `problems` holds one sentence per fault, each naming the link or joint, the value and the rule.
    """

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n  - ".join([f"{source}: {count}", *self.problems]))


class InputError(TorquedError, ValueError):
    """An argument with a wrong shape, a non-finite number or an unknown name.

    `field` names the argument, `value` is what was wrong with it, `expected` what is allowed,
    each where it can be told apart from the message.
    """

    def __init__(
        self,
        message: str,
        field: str | None = None,
        value: object = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.value = value
        self.expected = expected


class NumericalError(TorquedError):
    """A computation that has no meaningful result for this robot and state."""


class ModelWarning(UserWarning):
    """A fault of a robot description that does no harm to the dynamics."""
