"""Replies as bytes, deferred replies, and errors on the wire."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import zmq

from torqued.client import codec
from torqued.client.codec import PROTOCOL_VERSION
from torqued.common import errors
from torqued.common.errors import InputError, NumericalError, RequestError
from torqued.server.requests.limits import fits_into_a_reply
from torqued.server.requests.outcomes import OK

log = logging.getLogger("torqued")

#: Longest id that a request may have where it is a text.
MAX_ID = 64

Identity = int | str | None
Result = Mapping[str, Any]


def checked_identity(message: Mapping[str, Any]) -> Identity:
    """The id of a request, a whole number or a short text; the reply repeats it."""
    identity = message.get("id")
    if identity is None or type(identity) is int:
        return identity
    if isinstance(identity, str) and len(identity) <= MAX_ID:
        return identity
    is_text = isinstance(identity, str)
    what = f"text of {len(identity)} characters" if is_text else type(identity).__name__
    raise errors.error(
        "bad_message",
        f"id is {what}, expected a whole number or a text of at most {MAX_ID} characters",
        field="id",
        expected=f"a whole number or at most {MAX_ID} characters",
    )


def as_request_error(error: Exception) -> RequestError:
    """Any exception as an error of the wire; a fault of the daemon is logged.

    The one place where errors of the kernels become errors of the wire.
    """
    if isinstance(error, RequestError):
        return error
    if isinstance(error, InputError):
        return errors.error(
            "bad_field",
            str(error),
            field=error.field,
            value=error.value,
            expected=error.expected,
            state=error.state,
        )
    if isinstance(error, NumericalError):
        return errors.error("singular", str(error), state=error.state)
    log.error("request failed", exc_info=error)
    return errors.error("internal", f"{type(error).__name__}: {error}")


def success(identity: Identity, result: Result) -> bytes:
    """The reply with a result; refused where it is too large to be sent."""
    header = {"protocol": PROTOCOL_VERSION, "id": identity, "ok": True}
    reply = codec.encode({**header, **result})
    fits_into_a_reply(len(reply))
    return reply


def refusal(identity: Identity, error: RequestError) -> bytes:
    """An error reply."""
    return codec.encode(
        {"protocol": PROTOCOL_VERSION, "id": identity, "ok": False, "error": error.to_map()}
    )


@dataclass(frozen=True)
class PendingReply:
    """A request whose reply comes later, and the way back to its client."""

    identity: Identity
    client: Hashable  # who asked
    data: bytes  # the request as it came
    deliver: Callable[[bytes | zmq.Frame, str], None]

    def send(self, reply: bytes | zmq.Frame, outcome: str = OK) -> None:
        """Send a reply, from any thread; `outcome` is the code of an error reply."""
        self.deliver(reply, outcome)

    def refuse(self, error: Exception) -> None:
        """Send an error reply, from any thread."""
        refused = as_request_error(error)
        self.send(refusal(self.identity, refused), refused.code)


@dataclass(frozen=True)
class Deferred:
    """In place of a result: begins work that replies later."""

    begin: Callable[[PendingReply], None]
