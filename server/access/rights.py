"""Who may do what: one table decides.

Each right holds those before it. Whoever can open a local socket has all of them: the mode of the
file decides. Over TCP a client has the right that the allow-list gives its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from torqued.client import errors

if TYPE_CHECKING:
    from torqued.server.transport.sockets import Transport

READ, COMMAND, ADMINISTRATE = RIGHTS = ("read", "command", "administrate")

#: Operation → the right that it needs. `open` is for the laws that give torques; a stream, which
#: gives none, needs only to read. What is not listed needs the highest right.
NEEDED = {
    "hello": READ,
    "dynamics": READ,
    "inverse_dynamics": READ,
    "forward_dynamics": READ,
    "solve_mass": READ,
    "coriolis_product": READ,
    "kinematics": READ,
    "contact_dynamics": READ,
    "impact": READ,
    "integrate": READ,
    "batch": READ,  # of operations that need no more
    "close": READ,  # of one's own session; `check_owner` looks at others'
    "ping": READ,
    "stats": READ,
    "sessions": READ,
    "open": COMMAND,
    "tune": COMMAND,
    "control": COMMAND,
    "log_level": ADMINISTRATE,
    "reload": ADMINISTRATE,
    "shutdown": ADMINISTRATE,
}


class Caller(NamedTuple):
    """Who sent a message."""

    key: bytes  # what limits count by: a public key, or the connection's routing id
    name: str  # for people
    right: str | None  # None: no longer on the allow-list
    transport: Transport  # through which the message came


def needed_right(message: Mapping[str, Any]) -> str:
    """The right that a request needs."""
    name, law = message.get("op"), message.get("law")
    if not isinstance(name, str):
        return ADMINISTRATE
    if name == "open" and isinstance(law, str) and law == "stream":
        return READ
    inner = message.get("operation") if name == "batch" else None
    if isinstance(inner, str):
        return NEEDED.get(inner, ADMINISTRATE)
    return NEEDED.get(name, ADMINISTRATE)


def holds(right: str | None, needed: str) -> bool:
    """Whether a right is enough."""
    return right is not None and RIGHTS.index(right) >= RIGHTS.index(needed)


def check(caller: Caller, message: Mapping[str, Any]) -> None:
    """Refuse what the caller has no right to."""
    if caller.right == ADMINISTRATE:
        return
    needed = needed_right(message)
    if not holds(caller.right, needed):
        name = message.get("op")
        known = isinstance(name, str) and name in NEEDED
        unknown = "" if known else ", which is in no table of rights,"
        raise denied(caller, f"{name}{unknown}", needed)


def check_owner(caller: Caller, owner: Caller, number: int) -> None:
    """Refuse to end or change a session of another client: that would change its torque."""
    if caller.key != owner.key and not holds(caller.right, ADMINISTRATE):
        raise denied(caller, f"session {number} is another client's; this", ADMINISTRATE)


def may_keep(caller: Caller, law: str) -> bool:
    """Whether the client that opened a session still has the right to it."""
    needed = needed_right({"op": "open", "law": law})
    return holds(caller.transport.right_of(caller), needed)


def denied(caller: Caller, what: str, needed: str) -> errors.RequestError:
    """The error for a right that is missing."""
    has = f"has {caller.right!r}" if caller.right else "is not on the allow-list (any more)"
    return errors.error(
        "denied",
        f"{what} needs the right {needed!r}, the key {caller.name!r} {has}",
        value=caller.right,
        expected=needed,
    )
