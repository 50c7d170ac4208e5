"""How much one client may ask for."""

from __future__ import annotations

import time
from dataclasses import dataclass

from torqued.client import errors

#: Clients that are remembered before those at rest are forgotten.
MANY = 4096


@dataclass(frozen=True)
class Limits:
    """Per client: a key over TCP, a connection over local sockets."""

    request_rate: float = 20000.0  # per second; bursts of as many
    sessions: int = 8


class RequestRate:
    """A token bucket per client that holds the requests of one second.

    One number per client is enough: the time at which its bucket is full again. A client whose
    time has passed is at rest, and the same as one that was never seen.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._each = 1.0 / rate
        self._full_at: dict[bytes, float] = {}

    def count(self, client: bytes) -> None:
        """Count a request; refused where the bucket is empty."""
        now = time.monotonic()
        full_at = self._full_at.get(client, 0.0)
        if full_at <= now:
            if len(self._full_at) > MANY:
                self._forget(now)
            full_at = now
        elif full_at - now > 1.0 - self._each:
            raise errors.error(
                "rate_limited",
                f"more than {self.rate:g} requests per second from one client",
                expected=f"at most {self.rate:g} per second",
            )
        self._full_at[client] = full_at + self._each

    def _forget(self, now: float) -> None:
        self._full_at = {key: time for key, time in list(self._full_at.items()) if time > now}
