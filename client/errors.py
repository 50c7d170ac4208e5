"""What can go wrong, as one tree, on the wire and in the client:

    TorquedError                  everything that torqued raises on purpose
    ├── RequestError              the daemon refused a request
    │   ├── MessageError          bad_message, wrong_version, too_large: not a request at all
    │   ├── OperationError        unknown_operation, not_ready, busy, in_use, rate_limited,
    │   │                         stopping: not now, or not here
    │   ├── AccessError           denied: this client has no right to it
    │   ├── FieldError            missing_field, unknown_field, bad_field: a wrong argument
    │   ├── NumericalError        singular: the computation has no result
    │   ├── ModelError            bad_model: the robot's files cannot be used, with all faults
    │   └── InternalError         internal: a fault of the daemon; its log has the details
    ├── TimeoutError              no reply in time; the request may still be under way
    └── VersionError              daemon and client speak different protocol versions

On the wire an error is a map with `code`, `message` and, where they make sense, `field`, `value`,
`expected` and `state`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from torqued.common.errors import TorquedError


class RequestError(TorquedError):
    """The daemon refused a request. `code` says why, in one word.

    `field` names what is wrong, `value` is what it is, `expected` what is allowed, `state` the
    index of the state in a batch; each is None where it does not apply.
    """

    #: Longest text, characters: a refusal must not be as large as what it refuses.
    longest_text = 1000

    def __init__(
        self,
        code: str,
        message: str,
        field: str | None = None,
        value: Any = None,
        expected: str | None = None,
        state: int | None = None,
    ) -> None:
        super().__init__(message)
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
        longest = self.longest_text
        return {
            "code": self.code,
            "message": _short(str(self), longest),
            **{key: _short(item, longest) for key, item in found.items() if item is not None},
        }


def _short(value: Any, longest: int) -> Any:
    """A value that can be sent whatever it is: numbers and short texts as they are."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list) and len(value) <= 8 and all(type(item) is int for item in value):
        return value  # a shape
    spelled = value if isinstance(value, str) else repr(value)
    return spelled if len(spelled) <= longest else spelled[: longest - 1] + "…"


class MessageError(RequestError):
    """Not a request at all."""


class OperationError(RequestError):
    """An operation that the daemon does not have, or cannot run now."""


class AccessError(RequestError):
    """An operation that this client's key has no right to."""


class FieldError(RequestError):
    """An argument that is missing, unknown or wrong."""


class NumericalError(RequestError):
    """A computation that has no result for this robot and state."""


class ModelError(RequestError):
    """The robot's files cannot be used. The message has all of their faults, a line for each."""

    longest_text = 100_000  # the daemon's own files, not what a client sent


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
    "stopping": OperationError,
    "rate_limited": OperationError,
    "denied": AccessError,
    "missing_field": FieldError,
    "unknown_field": FieldError,
    "bad_field": FieldError,
    "singular": NumericalError,
    "bad_model": ModelError,
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
