"""How much one client may ask for."""

from __future__ import annotations

import time
from dataclasses import dataclass

from torqued.common import errors

#: Callers that are remembered.
MAX_CALLERS = 4096


@dataclass(frozen=True)
class Limits:
    """Per client: a key over TCP, a connection over local sockets."""

    request_rate: float = 20000.0  # per second; bursts of as many
    sessions: int = 8


class RequestRate:
    """A token bucket per client that holds the requests of one second."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._each = 1.0 / rate
        #: When each client's bucket is full again, s. A missing one is full.
        self._full_at: dict[bytes, float] = {}

    def try_consume(self, client: bytes) -> bool:
        """Count a request; False if the client's bucket is empty. From any thread."""
        now = time.monotonic()
        full = max(self._full_at.get(client, now), now)
        if full - now > 1.0 - self._each:
            return False
        self._full_at[client] = full + self._each
        if len(self._full_at) > MAX_CALLERS:
            self._forget()
        return True

    def _forget(self) -> None:
        """Keep the half of the clients whose buckets take the longest to fill."""
        known = self._full_at.copy()
        self._full_at = dict(sorted(known.items(), key=lambda item: item[1])[-MAX_CALLERS // 2 :])

    def refusal(self) -> errors.RequestError:
        """The error of a request that exceeds the rate."""
        return errors.error(
            "rate_limited",
            f"more than {self.rate:g} requests per second from one client",
            expected=f"at most {self.rate:g} per second",
        )
