"""Things that are closed at the end of a `with` or an `async with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import Self


class ContextManager(ABC):
    """Closes itself when its `with` block ends, whatever ends it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""


class AsyncContextManager(ABC):
    """Closes itself when its `async with` block ends, whatever ends it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        closing = self.close()
        if closing is not None:
            await closing

    @abstractmethod
    def close(self) -> Awaitable[None] | None:
        """Release all resources; awaitable if that takes a request."""
