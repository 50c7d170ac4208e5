"""Replies as bytes, and those that come later than their turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import zmq

from torqued.client import codec, errors
from torqued.client.codec import LARGEST_MESSAGE, PROTOCOL_VERSION
from torqued.server.requests.operations import Refusals
from torqued.server.transport.event_loop import Waiting

log = logging.getLogger("torqued")

#: Longest id that a request may have where it is a text.
LONGEST_ID = 64

Identity = int | str | None


def checked_identity(message: Mapping[str, Any]) -> Identity:
    """The id of a request: a whole number or a short text, which its reply brings back."""
    identity = message.get("id")
    if identity is None or type(identity) is int:
        return identity
    if isinstance(identity, str) and len(identity) <= LONGEST_ID:
        return identity
    raise errors.error(
        "bad_message",
        f"id is {type(identity).__name__}, expected a whole number or at most {LONGEST_ID} "
        "characters",
        field="id",
    )


def success(identity: Identity, result: Mapping[str, Any]) -> bytes:
    """The reply with a result; refused where it is too large to be sent."""
    reply = codec.encode({"protocol": PROTOCOL_VERSION, "id": identity, "ok": True, **result})
    if len(reply) > LARGEST_MESSAGE:
        raise errors.error(
            "too_large",
            f"reply of {len(reply)} bytes, at most {LARGEST_MESSAGE} are allowed: "
            "ask for less at a time",
        )
    return reply


def refusal(identity: Identity, error: errors.RequestError) -> bytes:
    """An error reply."""
    return codec.encode(
        {"protocol": PROTOCOL_VERSION, "id": identity, "ok": False, "error": error.to_map()}
    )


def as_request_error(error: Exception) -> errors.RequestError:
    """Whatever was raised as an error of the wire; a fault of the daemon's own is logged."""
    if isinstance(error, errors.RequestError):
        return error
    log.error("request failed", exc_info=error)
    return errors.error("internal", f"{type(error).__name__}: {error}")


def answer(identity: Identity, compute: Callable[[], Mapping[str, Any]]) -> tuple[bool, bytes]:
    """Whether a computation succeeded, and the reply to it, whatever it raises."""
    try:
        with Refusals():
            return True, success(identity, compute())
    except Exception as error:
        return False, refusal(identity, as_request_error(error))


@dataclass(frozen=True)
class Envelope:
    """A request whose reply comes later, and the way back to whoever sent it."""

    socket: zmq.Socket[bytes]
    thread: Waiting  # of the thread that owns the socket
    route: list[bytes]
    identity: Identity
    data: bytes  # the request as it came

    def send(self, reply: bytes | zmq.Frame) -> None:
        """Send the reply, from any thread."""

        def send() -> None:
            self.socket.send_multipart([*self.route, reply], copy=False)

        self.thread.hand_over(send)

    def refuse(self, error: errors.RequestError) -> None:
        """Send an error reply, from any thread."""
        self.send(refusal(self.identity, error))


@dataclass(frozen=True)
class Later:
    """In place of a result: begins what will answer the envelope in its own time."""

    begin: Callable[[Envelope], None]
