"""Which requests of a client go through shared memory, and the channel that they go through."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from torqued.client.endpoints import reachable
from torqued.client.operations import COMPUTATIONS
from torqued.client.page_layout import MAX_REQUEST
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client.client import Client
    from torqued.client.repeated import Repeated
    from torqued.client.request_channel import RequestChannel

TRANSPORTS = ("socket", "memory")


class RequestMemory:
    """Begun with the first request that it is for, and anew after a silence."""

    def __init__(
        self, client: Client, repeated: Repeated, transport: str, spin: float | None
    ) -> None:
        if transport not in TRANSPORTS:
            known = " or ".join(map(repr, TRANSPORTS))
            raise ValueError(f"transport is {transport!r}, expected {known}")
        self.is_used = transport == "memory"
        if self.is_used and not client.endpoint.startswith("ipc://"):
            raise TorquedError(
                f"transport 'memory' is for a daemon on this machine, not at {client.endpoint}"
            )
        self._client, self._repeated, self._spin = client, repeated, spin
        self._channel: RequestChannel | None = None

    def exchange(
        self, operation: str, fields: dict[str, Any], timeout: float
    ) -> dict[str, Any] | None:
        """One request and what its reply holds; None where it has to go over the socket."""
        if not self.is_used or operation not in COMPUTATIONS:
            return None
        identity = self._client.next_identity()
        request = self._repeated.request(identity, operation, fields)
        if len(request) > MAX_REQUEST:
            return None
        channel = self._channel or self._attach()
        channel.ask(request)
        self._repeated.rehearse(operation, channel.glance())
        deadline = time.monotonic() + timeout
        while (data := channel.receive(deadline - time.monotonic())) is not None:
            if not data:  # its reply does not fit
                return None
            result = self._repeated.result(operation, identity, data, self._client.endpoint)
            if result is not None:
                return result
        self.close()
        return None

    def _attach(self) -> RequestChannel:
        from torqued.client.memory_page import MemoryPage
        from torqued.client.request_channel import LOOK, request_channel

        given = {} if self._spin is None else {"spin": self._spin}
        attached = self._client.call("attach", **given)
        endpoint = reachable(attached.endpoint, self._client.endpoint)
        self._channel = request_channel(endpoint, attached.as_dict())
        if self._client.calls is not None and not isinstance(self._channel.page, MemoryPage):
            self._client.calls.use_page(self._channel.page, LOOK)
        return self._channel

    def close(self) -> None:
        """Leave; another request begins anew."""
        if self._channel is not None:
            if self._client.calls is not None:
                self._client.calls.leave()
            self._channel.close()
            self._channel = None
