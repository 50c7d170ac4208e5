"""How large a request may be, and how long it may take in the main thread.

Checked before anything is computed: a client with the right to read must not keep the daemon from
answering other clients, following the allow-list or stopping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from torqued.client.codec import MAX_MESSAGE
from torqued.common import errors


class Limit(NamedTuple):
    """A maximum count, and its reason."""

    most: int
    of: str  # what is counted
    reason: str


#: Field → how many of it one request may have.
LIMITS: dict[str, Limit] = {
    "want": Limit(32, "names", "there are a dozen quantities"),
    "frames": Limit(1024, "names", "robots have tens to hundreds; a Jacobian each"),
    "f_ext": Limit(1024, "frames", "as frames"),
    "contacts": Limit(128, "contacts", "time grows with the square of their rows"),
    "constraints": Limit(128, "constraints", "as contacts"),
    "rows": Limit(768, "rows of all constraints", "as 128 contacts have"),
    "points": Limit(128, "points of all contacts", "each has a force that a solver looks for"),
    "tasks": Limit(64, "tasks", "as many as a humanoid has joints"),
    "targets": Limit(64, "targets", "as tasks"),
    "search": Limit(1_000_000, "steps from all starts", "each takes some microseconds"),
    "steps": Limit(100_000, "steps of a simulation", "each takes a fraction of a millisecond"),
    "b": Limit(4096, "columns", "each is one solve"),
}

#: s of work, by estimate, that the main thread takes on; longer work goes to the worker process.
MAX_INLINE = 0.01


class Cost(NamedTuple):
    """What a request would cost."""

    reply: int  # bytes of its numbers
    seconds: float  # by estimate, on a slow processor


def at_most(field: str, count: int) -> None:
    """Refuse a field that exceeds its limit."""
    limit = LIMITS[field]
    if count > limit.most:
        raise errors.error(
            "bad_field",
            f"{field}: {count} {limit.of}, at most {limit.most} are allowed",
            field=field,
            value=count,
            expected=f"at most {limit.most} {limit.of}",
        )


def check_counts(fields: Mapping[str, Any]) -> None:
    """Refuse lists and maps that are too long."""
    for field in ("want", "frames", "f_ext", "contacts", "constraints", "tasks", "targets"):
        value = fields.get(field)
        if isinstance(value, (list, dict)):
            at_most(field, len(value))
    at_most("points", contact_points(fields))


def contact_points(fields: Mapping[str, Any]) -> int:
    """Points of all contacts of a whole-body law: those given, the corners of a surface, or one."""
    contacts = fields.get("contacts")
    if not isinstance(contacts, list):
        return 0
    return sum(_points(contact) for contact in contacts if isinstance(contact, dict))


def _points(contact: Mapping[Any, Any]) -> int:
    points = contact.get("points")
    if isinstance(points, list) or (isinstance(points, np.ndarray) and points.ndim):
        return len(points)
    return 4 if contact.get("half_size") is not None else 1


def fits_into_a_reply(size: int, advice: str = "ask for less at a time") -> None:
    """Refuse results of so many bytes that they could not be sent."""
    if size > MAX_MESSAGE:
        raise errors.error(
            "too_large",
            f"reply of {size} bytes, at most {MAX_MESSAGE} are allowed: {advice}",
            value=size,
            expected=f"at most {MAX_MESSAGE} bytes",
        )
