"""An operation in the daemon: its row, its function, and the checks that hold for each of them.

The rows are in client/requests/operation_table.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from torqued.client.codec import PROTOCOL_VERSION
from torqued.common import errors
from torqued.kernels.input_checks import Fields
from torqued.server.requests.fields import typed
from torqued.server.requests.limits import Cost

#: Keys of every request; not fields of its operation.
REQUEST_HEADER = ("protocol", "id", "op")

#: Name of an operation → size of the reply and time, estimated before anything is computed; refuses
#: what is too large. Without one it is short work.
ESTIMATES: dict[str, Callable[[Any, Fields], Cost]] = {}
#: Name → the right that a request takes, where that depends on its fields.
RIGHTS_BY_FIELDS: dict[str, Callable[[Fields], str]] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


def operation(
    estimate: Callable[[Any, Fields], Cost] | None = None,
    right: Callable[[Fields], str] | None = None,
) -> Callable[[Function], Function]:
    """Registers what an operation's row lacks, with the function of its name."""

    def register(function: Function) -> Function:
        if estimate is not None:
            ESTIMATES[function.__name__] = estimate
        if right is not None:
            RIGHTS_BY_FIELDS[function.__name__] = right
        return function

    return register


@dataclass(frozen=True)
class Operation:
    """A row of the table, with what the daemon adds to it."""

    name: str
    socket: str
    right: str
    carried_out_by: str
    required: tuple[str, ...]  # fields
    optional: tuple[str, ...]  # those of laws among them
    reply: tuple[str, ...]
    run: Callable[..., Any]
    right_by_fields: Callable[[Fields], str] | None = None
    cost: Callable[[Any, Fields], Cost] | None = None

    def right_for(self, message: Fields) -> str:
        """The right that a request takes."""
        return self.right_by_fields(message) if self.right_by_fields else self.right

    def compute(self, robot: Any, fields: Fields, *report: Any) -> Mapping[str, Any]:
        """Results of an operation of KERNEL or WORKER, in the worker; all of them are finite."""
        with np.errstate(all="ignore"):  # overflow shows in the results
            return self.run(robot, fields, *report)  # type: ignore[no-any-return]

    def fields_of(self, message: Fields) -> dict[str, Any]:
        """A request's own fields; refused where one is missing, unknown or of another type.

        A field that is nil counts as absent.
        """
        for key in self.required:
            if message.get(key) is None:
                raise missing_field(self.name, key)
        allowed = self.required + self.optional
        fields = {}
        for key, value in message.items():
            if key in allowed:
                if value is not None:
                    fields[key] = value
            elif key not in REQUEST_HEADER:
                raise unknown_field(self.name, key, allowed)
        return {key: typed(key, value) for key, value in fields.items()}


def missing_field(what: str, key: str) -> errors.RequestError:
    """The refusal of an operation without a field that it needs."""
    message = f"{what}: field {key!r} is missing"
    return errors.error("missing_field", message, field=key, expected="present")


def unknown_field(what: str, key: str, allowed: Collection[str]) -> errors.RequestError:
    """The refusal of an operation with a field that it does not take."""
    message = f"{what}: field {key!r} is unknown, allowed: {', '.join(allowed) or 'none'}"
    expected = f"one of {', '.join(allowed)}" if allowed else "no fields"
    return errors.error("unknown_field", message, field=key, expected=expected)


def checked_name(message: Fields, allowed: Collection[str]) -> str:
    """The name of a request's operation; refused where the version or the name is another."""
    version = message.get("protocol")
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise errors.error(
            "wrong_version",
            f"protocol version {version!r}, this daemon speaks {PROTOCOL_VERSION}",
            field="protocol",
            value=version,
            expected=str(PROTOCOL_VERSION),
        )
    name = message.get("op")
    if not isinstance(name, str) or name not in allowed:
        raise errors.error(
            "unknown_operation",
            f"operation {name!r} is unknown here, allowed: {', '.join(allowed)}",
            field="op",
            value=name,
            expected=f"one of {', '.join(allowed)}",
        )
    return name
