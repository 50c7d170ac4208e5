"""The errors of a client, under the names that its users import; common/errors.py has the tree."""

from __future__ import annotations

from torqued.common.errors import (
    CODES,
    AccessError,
    ComputationError,
    FieldError,
    InputError,
    InternalError,
    MessageError,
    ModelError,
    NumericalError,
    OperationError,
    ReloadError,
    RequestError,
    TimeoutError,
    TorquedError,
    VersionError,
    error,
    from_map,
)

__all__ = [
    "CODES",
    "AccessError",
    "ComputationError",
    "FieldError",
    "InputError",
    "InternalError",
    "MessageError",
    "ModelError",
    "NumericalError",
    "OperationError",
    "ReloadError",
    "RequestError",
    "TimeoutError",
    "TorquedError",
    "VersionError",
    "error",
    "from_map",
]
