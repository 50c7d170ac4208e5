"""What can go wrong, as one tree, in kernels, in the daemon and in its clients:

    TorquedError                      everything that torqued raises on purpose
    ├── InputError (ValueError)       a wrong shape, a non-finite number, an unknown name
    ├── NumericalError                a computation without a finite result
    ├── ModelError                    a robot description that cannot be used, with all faults
    ├── RequestError                  the daemon refused a request; `code` says why
    │   ├── MessageError              bad_message, wrong_version, too_large: not a request at all
    │   ├── OperationError            unknown_operation, not_ready, busy, in_use, stopped,
    │   │                             stopping, rate_limited: not now, or not here
    │   ├── AccessError               denied: this client has no right to it
    │   ├── FieldError                missing_field, unknown_field, bad_field; an InputError too
    │   ├── ComputationError          singular; a NumericalError too
    │   ├── ReloadError               bad_model; a ModelError too
    │   └── InternalError             internal: a fault of the daemon; its log has the details
    ├── TimeoutError                  no reply in time; the request may still be under way
    └── VersionError                  daemon and client speak different protocol versions

So `except InputError` catches a wrong argument wherever it was found, in this process or by a
daemon. On the wire an error is a map with `code`, `message` and, where they make sense, `field`,
`value`, `expected` and `state`. `ModelWarning` is the warning category for faults of a file that do
no harm.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any


class TorquedError(Exception):
    """Base class of every error that torqued raises on purpose.

    `state` is the index of the state in a batch.
    """

    state: int | None = None


#: Characters of a sentence, and sentences of a message.
MAX_PROBLEM, MAX_PROBLEMS = 2000, 200


class ModelError(TorquedError):
    """A robot description that cannot be used.

    `problems` holds one sentence per fault, each naming the link or joint, the value and the rule.
    """

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(
            text if len(text) <= MAX_PROBLEM else f"{text[: MAX_PROBLEM - 1]}…" for text in problems
        )
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        lines = [f"{source}: {count}", *self.problems[:MAX_PROBLEMS]]
        if len(self.problems) > MAX_PROBLEMS:
            lines.append(f"… and {len(self.problems) - MAX_PROBLEMS} more")
        super().__init__("\n  - ".join(lines))


class InputError(TorquedError, ValueError):
    """An argument with a wrong shape, a non-finite number or an unknown name.

    `field` names the argument, `value` is its wrong value, `expected` what is allowed, if that can
    be stated apart from the message.
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
    """A computation that has no finite result for this robot and state."""


class ModelWarning(UserWarning):
    """A fault of a robot description that does no harm to the dynamics."""


class RequestError(TorquedError):
    """The daemon refused a request. `code` says why, in one word.

    `field` names the fault's field, `value` its value, `expected` what is allowed, `state` the
    index of the state in a batch; each is None if it does not apply.
    """

    #: Characters of a text: a refusal must not be as large as what it refuses.
    max_text = 1000

    def __init__(
        self,
        code: str,
        message: str,
        field: str | None = None,
        value: Any = None,
        expected: str | None = None,
        state: int | None = None,
    ) -> None:
        Exception.__init__(self, message)  # other bases of subclasses take other arguments
        self.code = code
        self.field = field
        self.value = value
        self.expected = expected
        self.state = state

    def to_map(self) -> dict[str, Any]:
        """As it goes over the wire."""
        found = {
            "field": self.field,
            "value": self.value,
            "expected": self.expected,
            "state": self.state,
        }
        longest = self.max_text
        return {
            "code": self.code,
            "message": _sendable(str(self), longest),
            **{key: _sendable(item, longest) for key, item in found.items() if item is not None},
        }


#: Whole numbers that msgpack can write.
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1


def _sendable(value: Any, longest: int) -> Any:
    """A value that can be sent: numbers and short texts unchanged, others as short texts."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and MIN_INTEGER <= value <= MAX_INTEGER:
        return value
    if (
        isinstance(value, list)
        and len(value) <= 8
        and all(type(item) is int and 0 <= item <= MAX_INTEGER for item in value)
    ):
        return value  # a shape
    spelled = value if isinstance(value, str) else repr(value)
    short = spelled if len(spelled) <= longest else spelled[: longest - 1] + "…"
    return short.encode("utf-8", "replace").decode()  # without unpaired surrogates


class MessageError(RequestError):
    """Not a request at all."""


class OperationError(RequestError):
    """An operation that the daemon does not have, or cannot run now."""


class AccessError(RequestError):
    """An operation that this client's key has no right to."""


class FieldError(RequestError, InputError):
    """An argument that is missing, unknown or wrong."""


class ComputationError(RequestError, NumericalError):
    """A computation that has no finite result for this robot and state."""


class ReloadError(RequestError, ModelError):
    """The robot's files cannot be used. The message has all of their faults, a line for each."""

    max_text = 100_000  # the daemon's own files, not what a client sent

    def __init__(self, code: str, message: str, *details: Any, **named: Any) -> None:
        super().__init__(code, message, *details, **named)
        self.source, *problems = message.split("\n  - ")
        self.problems = tuple(problems)


class InternalError(RequestError):
    """A fault of the daemon."""


class TimeoutError(TorquedError, builtins.TimeoutError):
    """No reply in time."""


class VersionError(TorquedError):
    """Daemon and client speak different protocol versions."""


#: Code on the wire → class.
CODES: dict[str, type[RequestError]] = {
    "bad_message": MessageError,
    "wrong_version": MessageError,
    "too_large": MessageError,
    "unknown_operation": OperationError,
    "not_ready": OperationError,
    "busy": OperationError,
    "in_use": OperationError,
    "stopped": OperationError,
    "stopping": OperationError,
    "rate_limited": OperationError,
    "denied": AccessError,
    "missing_field": FieldError,
    "unknown_field": FieldError,
    "bad_field": FieldError,
    "singular": ComputationError,
    "bad_model": ReloadError,
    "internal": InternalError,
}


def error(code: str, message: str, **details: Any) -> RequestError:
    """The error of a code."""
    return CODES[code](code, message, **details)


def from_map(fields: Mapping[str, Any]) -> RequestError:
    """The error that a reply carries; codes of newer daemons become the base class."""
    code = str(fields.get("code", "internal"))
    kind = CODES.get(code, RequestError)
    return kind(
        code,
        str(fields.get("message", "no message")),
        fields.get("field"),
        fields.get("value"),
        fields.get("expected"),
        fields.get("state"),
    )
