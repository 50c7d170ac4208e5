"""The client's compiled part (native/)."""

from typing_extensions import Buffer

VERSION: int

class Page:
    def __init__(
        self,
        memory: Buffer,
        layout: tuple[int, int, int, int, int, int],
        state_bytes: int,
        output_bytes: int,
        spin: float,
    ) -> None: ...
    def send(self, frame: Buffer, /) -> None: ...
    def newest(self) -> bytes | None: ...
    def receive(self, seconds: float, /) -> bytes | None: ...
    def wait(self, seconds: float, /) -> None: ...
    def close(self) -> None: ...
