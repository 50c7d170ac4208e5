"""One row of the table of operations, and the checks that hold for each of them.

The table itself is in operations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.client.codec import PROTOCOL_VERSION
from torqued.common import errors
from torqued.server.requests.fields import typed
from torqued.server.requests.limits import Work

Fields = Mapping[str, Any]

#: Keys of every request; not fields of its operation.
REQUEST_HEADER = ("protocol", "id", "op")

#: Sockets.
REQUEST, CONTROL = "request", "control"

#: Who carries an operation out, which decides what its function is called with:
#: KERNEL  (robot, fields)           in the main thread, or in the worker where it may take long
#: WORKER  (robot, fields, report)   in the worker process
#: LOOP    (servo, fields, caller)   in the main thread
#: DAEMON  (daemon, fields, caller)  in the thread of the operation's socket
KERNEL, WORKER, LOOP, DAEMON = "kernel", "worker", "loop", "daemon"


@dataclass(frozen=True)
class Operation:
    """What an operation takes and gives, who may ask for it and who carries it out."""

    name: str
    socket: str  # REQUEST or CONTROL
    right: str  # that it takes, of server/access/rights.py
    required: tuple[str, ...]  # fields
    optional: tuple[str, ...]
    reply: tuple[str, ...]  # fields, for the document; a sentence where they depend on the request
    carried_out_by: str  # KERNEL, WORKER, LOOP or DAEMON
    run: Callable[..., Any]
    #: The right that a request takes where that depends on its fields.
    right_by_fields: Callable[[Fields], str] | None = None
    #: Size of the reply and time, estimated before anything is computed; refuses what is too large.
    work: Callable[[Any, Fields], Work] | None = None

    @property
    def is_of_a_state(self) -> bool:
        """Whether it computes something for a configuration: what `batch` does for many."""
        return "q" in self.required and self.carried_out_by == KERNEL

    def right_for(self, message: Fields) -> str:
        """The right that a request takes."""
        return self.right_by_fields(message) if self.right_by_fields else self.right

    def compute(self, robot: Any, fields: Fields, *report: Any) -> Mapping[str, Any]:
        """Results of an operation of KERNEL or WORKER, in the worker; all of them are finite."""
        with np.errstate(all="ignore"):  # what overflows is found in the results
            return self.run(robot, fields, *report)  # type: ignore[no-any-return]

    def fields_of(self, message: Fields) -> dict[str, Any]:
        """A request's own fields; refused where one is missing, unknown or of another type.

        Nil is no value: such a field is as good as absent.
        """
        for key in self.required:
            if message.get(key) is None:
                raise errors.error(
                    "missing_field",
                    f"{self.name}: field {key!r} is missing",
                    field=key,
                    expected="present",
                )
        allowed = self.required + self.optional
        fields = {}
        for key, value in message.items():
            if key in allowed:
                if value is not None:
                    fields[key] = value
            elif key not in REQUEST_HEADER:
                raise errors.error(
                    "unknown_field",
                    f"{self.name}: field {key!r} is unknown, allowed: "
                    f"{', '.join(allowed) or 'none'}",
                    field=key,
                    expected=f"one of {', '.join(allowed)}" if allowed else "no fields",
                )
        return {key: typed(key, value) for key, value in fields.items()}


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
