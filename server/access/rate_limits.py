"""How much one client may ask for.

Requests are counted by compiled code, as compiled code answers some of them: a table of token
buckets that both Python and server/requests/fast_path_loop.py count in.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.common import errors
from torqued.kernels.compilation.jit import kernel

#: Callers that are remembered.
MANY = 4096

#: Buckets, a power of two, and places that a client's may be in.
BUCKETS = 8192
PLACES = 8
FNV_PRIME = 0x100000001B3


@dataclass(frozen=True)
class Limits:
    """Per client: a key over TCP, a connection over local sockets."""

    request_rate: float = 20000.0  # per second; bursts of as many
    sessions: int = 8


@kernel
def client_number(seed: Any, name: Any) -> Any:
    """A number made of a client's name: FNV-1a, begun where no client can know."""
    number = np.uint64(seed)
    for k in range(len(name)):
        number = (number ^ np.uint64(name[k])) * np.uint64(FNV_PRIME)
    return number


@kernel
def take_token(clients: Any, full_at: Any, first: Any, client: Any, now: Any, each: Any) -> Any:
    """Count a request; False where the client's bucket, which holds one second's, is empty.

    A client's bucket is in one of some places from `first` on. One that has none takes that which
    is full already, or full the soonest.
    """
    best = first
    for k in range(PLACES):
        place = (first + k) & (BUCKETS - 1)
        if clients[place] == client:
            best = place
            break
        if full_at[place] < full_at[best]:
            best = place
    if clients[best] != client:
        clients[best] = client
        full_at[best] = now
    full = max(full_at[best], now)
    if full - now > 1.0 - each:
        return False
    full_at[best] = full + each
    return True


#: The same as Python runs it: on memory views, and before anything is compiled.
_take_token = getattr(take_token, "py_func", take_token)


class RequestRate:
    """A token bucket per client that holds the requests of one second."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.each = 1.0 / rate
        self.seed = secrets.randbits(64)
        #: Of each bucket: its client, and the time in s at which it is full again. One that is
        #: full belongs to a client at rest, which is the same as one that was never seen.
        self.clients = np.zeros(BUCKETS, np.uint64)
        self.full_at = np.zeros(BUCKETS)
        self._views = self.clients.data, self.full_at.data
        self._numbers: dict[bytes, int] = {}

    def allows(self, client: bytes) -> bool:
        """Count a request; whether it is within the rate."""
        number = self._numbers.get(client)
        if number is None:
            number = self._new_number(client)
        first = number % BUCKETS
        return bool(_take_token(*self._views, first, number, time.monotonic(), self.each))

    def _new_number(self, client: bytes) -> int:
        """As `client_number` makes it."""
        number = self.seed
        for byte in client:
            number = ((number ^ byte) * FNV_PRIME) % 2**64
        if len(self._numbers) >= MANY:
            self._numbers.clear()
        self._numbers[client] = number
        return number

    def refusal(self) -> errors.RequestError:
        """The error of a request that is not."""
        return errors.error(
            "rate_limited",
            f"more than {self.rate:g} requests per second from one client",
            expected=f"at most {self.rate:g} per second",
        )
