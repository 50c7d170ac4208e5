"""What a batch and its daemon on this machine share: the states on the way there, the results back.

A client has one of these from its first batch on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torqued.client.request_parts import Request
from torqued.client.shared_memory import NotSharedError, SharedMemory
from torqued.client.shared_states import SharedStates, Told
from torqued.common.errors import RequestError

__all__ = ["BatchMemory", "NotSharedError"]


class BatchMemory:
    """The memory of one client's batches."""

    def __init__(self, endpoint: str) -> None:
        self.results = SharedMemory(endpoint)
        self.states = SharedStates()

    @contextlib.contextmanager
    def told(self, request: Request[Any], *, direct: bool = False) -> Iterator[Told]:
        """What to send, good until the reply; `NotSharedError` where that cannot be read.

        `direct`: whether the reply may come by a pipe in place of the socket.
        """
        fields = request.fields
        if self.results.wanted:
            fields = {"memory": self.results.offer(), **fields}
        try:
            with self.states.told(fields, direct) as told:
                yield told
        except RequestError:
            self.results.take_back(fields.get("memory"))
            raise

    def taken(self, reply: dict[str, Any], told: Told) -> dict[str, Any]:
        """A reply with its arrays, wherever they are; `told` is what was sent."""
        reply.pop("direct", None)
        try:
            return self.results.taken(reply, told.fields.get("memory"))
        except NotSharedError:
            self.results.wanted = False
            raise

    def once_more(self, request: Request[Any]) -> Request[Any]:
        """The request, after what could not be shared: through the sockets, as all that follow."""
        plain = {key: value for key, value in request.fields.items() if key != "memory"}
        return request._replace(fields=plain)

    def close(self) -> None:
        self.states.close()
