"""State frames to bytes, bytes to output frames: what all kinds of sessions share. No sockets."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.errors import MessageError
from torqued.client.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix
from torqued.common.status import status_names

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
        #: Names of what follows q and v in a state, in order, with their shapes.
        self.references = {name: tuple(shape) for name, shape in opened["references"].items()}
        self._sequence = 0
        self._frame = bytearray(opened["state_bytes"])
        payload = len(self._frame) - PAYLOAD
        self._frame[:PAYLOAD] = prefix(payload)
        numbers = np.frombuffer(self._frame, np.float64, offset=PAYLOAD + STATE_HEAD.size)
        self._places = dict(split(numbers, {"q": (nq,), "v": (nv,), **self.references}))
        for name, value in opened["defaults"].items():
            self._put(name, value)
        self._output_bytes = int(opened["output_bytes"])

    def _put(self, name: str, value: Any) -> None:
        place, given = self._places[name], np.asarray(value, np.float64)
        if given.shape != place.shape:
            raise ValueError(f"{name} has shape {given.shape}, expected {place.shape}")
        place[...] = given

    def _pack(
        self,
        q: Any,
        v: Any,
        references: Sequence[Any],
        named: Mapping[str, Any],
        at: float | None,
    ) -> bytearray:
        """The frame of the next state; valid until the one after it.

        References come in their order, or by name; those that are not given stay as they are.
        """
        self._put("q", q)
        self._put("v", v)
        if len(references) > len(self.references):
            known = ", ".join(self.references) or "none"
            raise ValueError(f"{len(references)} references, this session has: {known}")
        for name, value in zip(self.references, references, strict=False):
            self._put(name, value)
        for name, value in named.items():
            if name not in self.references:
                known = ", ".join(self.references) or "none"
                raise ValueError(f"no reference {name!r}, this session has: {known}")
            self._put(name, value)
        self._sequence += 1
        STATE_HEAD.pack_into(
            self._frame, PAYLOAD, self._sequence, time.monotonic() if at is None else at
        )
        return self._frame

    def _parse(self, data: bytes) -> Output:
        if len(data) != self._output_bytes:
            raise MessageError(
                "bad_message", f"output frame of {len(data)} bytes, expected {self._output_bytes}"
            )
        tick, sequence, status, age, compute, at = OUTPUT_HEAD.unpack_from(data, PAYLOAD)
        numbers = np.frombuffer(data, np.float64, offset=PAYLOAD + OUTPUT_HEAD.size)
        values = dict(split(numbers, self.outputs))
        return Output(tick, sequence, status, age, compute, at, values)


def split(numbers: Array, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, Array]]:
    """Arrays that lie one behind the other, by name: views, not copies."""
    start = 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        yield name, numbers[start : start + size].reshape(shape)
        start += size
