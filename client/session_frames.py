"""State frames to bytes, bytes to output frames: what all kinds of sessions share. No sockets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.errors import MessageError
from torqued.client.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix, status_names

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Output:
    """One output frame. Values by name as attributes: `output.tau`, `output.M`."""

    tick: int
    sequence: int  # of the state that was used; -1 before the first
    status: int  # bits; 0 is good
    age: float  # s, of that state
    compute: float  # s
    time: float  # s, the daemon's monotonic clock at the tick
    values: Mapping[str, Array] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Array:
        values = self.__dict__.get("values", {})
        if name in values:
            value: Array = values[name]
            return value
        raise AttributeError(f"no {name!r} in this output; there are {', '.join(values)}")

    @property
    def status_names(self) -> list[str]:
        """Status bits by name; empty is good."""
        return status_names(self.status)


class SessionFrames:
    """The frames of one session, as the reply of `open` describes them."""

    def __init__(self, opened: Mapping[str, Any], nq: int, nv: int) -> None:
        self.number: int = opened["session"]
        self.period: float = opened["period"]
        self.outputs = {name: tuple(shape) for name, shape in opened["outputs"].items()}
        self._sizes = (nq, nv, int(opened["references"]))
        self._sequence = 0
        self._frame = bytearray(opened["state_bytes"])
        payload = len(self._frame) - PAYLOAD
        self._frame[:PAYLOAD] = prefix(payload)
        self._numbers = np.frombuffer(self._frame, np.float64, offset=PAYLOAD + STATE_HEAD.size)
        self._output_bytes = int(opened["output_bytes"])

    def _pack(self, parts: tuple[Any, ...]) -> bytearray:
        """The frame of the next state; valid until the one after it."""
        flat = [np.asarray(x, np.float64).reshape(-1) for x in parts]
        sizes = (len(flat[0]), len(flat[1]), sum(len(part) for part in flat[2:]))
        if sizes != self._sizes:
            raise ValueError(f"state with (q, v, references) of sizes {sizes}, not {self._sizes}")
        self._sequence += 1
        STATE_HEAD.pack_into(self._frame, PAYLOAD, self._sequence, time.monotonic())
        np.concatenate(flat, out=self._numbers)
        return self._frame

    def _parse(self, data: bytes) -> Output:
        if len(data) != self._output_bytes:
            raise MessageError(
                "bad_message", f"output frame of {len(data)} bytes, expected {self._output_bytes}"
            )
        tick, sequence, status, age, compute, at = OUTPUT_HEAD.unpack_from(data, PAYLOAD)
        numbers = np.frombuffer(data, np.float64, offset=PAYLOAD + OUTPUT_HEAD.size)
        values = {}
        start = 0
        for name, shape in self.outputs.items():
            size = int(np.prod(shape))
            values[name] = numbers[start : start + size].reshape(shape)
            start += size
        return Output(tick, sequence, status, age, compute, at, values)
