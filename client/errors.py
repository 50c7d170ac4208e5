"""What can go wrong, as one tree, on the wire and in the client:

    TorquedError                  everything that torqued raises on purpose
    ├── RequestError              the daemon refused a request
    │   ├── MessageError          bad_message, wrong_version, too_large: not a request at all
    │   ├── OperationError        unknown_operation, not_ready, busy, rate_limited: not now
    │   ├── AccessError           denied: this client has no right to it
    │   ├── FieldError            missing_field, unknown_field, bad_field: a wrong argument
    │   ├── NumericalError        singular: the computation has no result
    │   └── InternalError         internal: a fault of the daemon; its log has the details
    ├── TimeoutError              no reply in time; the request may still be under way
    └── VersionError              daemon and client speak different protocol versions

On the wire an error is a map with `code`, `message` and, where they make sense, `field`, `value`
and `expected`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

#: Longest text in an error, characters: a refusal must not be as large as what it refuses.
LONGEST_TEXT = 1000


class TorquedError(Exception):
    """Base class of every error that torqued raises on purpose."""


class RequestError(TorquedError):
    """The daemon refused a request. `code` says why, in one word."""

    def __init__(
        self,
        code: str,
        message: str,
        field: str | None = None,
        value: Any = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.value = value
        self.expected = expected

    def to_map(self) -> dict[str, Any]:
        """As it goes over the wire."""
        found = {"field": self.field, "value": self.value, "expected": self.expected}
        return {
            "code": self.code,
            "message": _short(str(self)),
            **{key: _short(item) for key, item in found.items() if item is not None},
        }


def _short(value: Any) -> Any:
    """A value that can be sent whatever it is: numbers and short texts as they are."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list) and len(value) <= 8 and all(type(item) is int for item in value):
        return value  # a shape
    spelled = value if isinstance(value, str) else repr(value)
    return spelled if len(spelled) <= LONGEST_TEXT else spelled[: LONGEST_TEXT - 1] + "…"


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
    "rate_limited": OperationError,
    "denied": AccessError,
    "missing_field": FieldError,
    "unknown_field": FieldError,
    "bad_field": FieldError,
    "singular": NumericalError,
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
    )
