"""What of the client is compiled (native/); memory_page.py and session.py do the same."""

from typing import Any

VERSION: int

class Page:
    sent: int
    taken: int
    @property
    def address(self) -> int: ...
    def __init__(
        self,
        memory: Any,
        words: tuple[int, int, int, int, int],
        layout: tuple[int, int, int, int, int, int],
        state_bytes: int,
        output_bytes: int,
        spin: float,
        sized: bool,
    ) -> None: ...
    def send(self, frame: bytes | bytearray | memoryview, /) -> None: ...
    def newest(self) -> bytes | None: ...
    def glance(self) -> bytes | None: ...
    def receive(self, seconds: float, /) -> bytes | None: ...
    def wait(self, seconds: float, /) -> None: ...
    def close(self) -> None: ...

class Steps:
    def __init__(
        self,
        page: Page,
        frame: bytearray,
        phase: Any,
        places: tuple[tuple[int, tuple[int, ...]], ...],
        state_head: tuple[int, int, int],
        output_head: tuple[int, int, int, int],
        last: int,
        needs_more: bool,
        kind: type,
        name: str,
        first: tuple[int, tuple[int, ...]],
    ) -> None: ...
    def step(
        self,
        session: Any,
        q: Any,
        v: Any,
        references: tuple[Any, ...],
        named: dict[str, Any],
        at: float | None,
        timeout: float,
        /,
    ) -> Any: ...
