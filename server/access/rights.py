"""Rights of clients. The table of operations has the right that each operation needs.

Each right includes those before it. A client that can open a local socket has all of them: the mode
of the file decides. Over TCP a client has the right that the allow-list gives its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from torqued.client.requests.operation_table import ADMINISTRATE as ADMINISTRATE
from torqued.client.requests.operation_table import COMMAND as COMMAND
from torqued.client.requests.operation_table import READ as READ
from torqued.client.requests.operation_table import RIGHTS as RIGHTS
from torqued.common import errors

if TYPE_CHECKING:
    from torqued.server.transport.sockets import Transport


class Caller(NamedTuple):
    """The sender of a message."""

    key: bytes  # what limits count by: a public key, or the connection's routing id
    name: str  # for people
    right: str | None  # None: no longer on the allow-list
    transport: Transport  # of the message


def right_to_open(message: Mapping[str, Any]) -> str:
    """The right that `open` needs: a stream gives no torques and needs only `read`."""
    law = message.get("law")
    return READ if isinstance(law, str) and law == "stream" else COMMAND


def holds(right: str | None, needed: str) -> bool:
    """Whether a right is enough."""
    return right is not None and RIGHTS.index(right) >= RIGHTS.index(needed)


def check(caller: Caller, what: str, needed: str) -> None:
    """Refuse an operation that the caller has no right to."""
    if not holds(caller.right, needed):
        raise denied(caller, what, needed)


def check_owner(caller: Caller, owner: Caller, number: int) -> None:
    """Refuse to end or change a session of another client: that would change its torque."""
    if caller.key != owner.key and not holds(caller.right, ADMINISTRATE):
        raise denied(caller, f"session {number} is another client's; this", ADMINISTRATE)


def may_keep(caller: Caller, law: str) -> bool:
    """Whether the client that opened a session still has the right to it."""
    return holds(caller.transport.right_of(caller), right_to_open({"law": law}))


def denied(caller: Caller, what: str, needed: str) -> errors.RequestError:
    """The error for a missing right."""
    has = f"has {caller.right!r}" if caller.right else "is not on the allow-list"
    return errors.error(
        "denied",
        f"{what} needs the right {needed!r}, the key {caller.name!r} {has}",
        value=caller.right,
        expected=needed,
    )
