"""A session: state frames out, output frames in, at the daemon's rate."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

from torqued.client.closing import Closing
from torqued.client.errors import AccessError, FieldError, MessageError, TimeoutError
from torqued.client.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix, status_names
from torqued.client.keys import Keys, connect
from torqued.client.places import reachable

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


class Session(Closing):
    """An open session; closes itself at the end of a `with` block."""

    def __init__(
        self,
        context: zmq.Context[Any],
        opened: Mapping[str, Any],
        nq: int,
        nv: int,
        close: Callable[[], Any],
        request: str = "",
        keys: Keys | None = None,
    ) -> None:
        self.number: int = opened["session"]
        self.period: float = opened["period"]
        self.outputs = {name: tuple(shape) for name, shape in opened["outputs"].items()}
        self._sizes = (nq, nv, int(opened["references"]))
        self._close = close
        self.closed = False
        self._sequence = 0
        self._frame = bytearray(opened["state_bytes"])
        payload = len(self._frame) - PAYLOAD
        self._frame[:PAYLOAD] = prefix(payload)
        self._numbers = np.frombuffer(self._frame, np.float64, offset=PAYLOAD + STATE_HEAD.size)
        self._output_bytes = int(opened["output_bytes"])
        self._socket = context.socket(zmq.PAIR)
        self._socket.linger = 0
        endpoint = reachable(opened["endpoint"], request)
        connect(self._socket, endpoint, keys, opened.get("server_key"))

    def close(self) -> None:
        """Close the session; the daemon's last frame has zero torque.

        A daemon that is gone, or has been started anew, has no such session, nor has one that has
        revoked this client's key: nothing to do.
        """
        if self.closed:
            return
        self.closed = True
        try:
            with contextlib.suppress(TimeoutError, FieldError, AccessError):
                self._close()
        finally:
            self._socket.close(linger=0)

    def send(self, q: Any, v: Any, *references: Any) -> int:
        """Send a state without waiting; returns its sequence number."""
        parts = [np.asarray(x, np.float64).reshape(-1) for x in (q, v, *references)]
        sizes = (len(parts[0]), len(parts[1]), sum(len(part) for part in parts[2:]))
        if sizes != self._sizes:
            raise ValueError(f"state with (q, v, references) of sizes {sizes}, not {self._sizes}")
        self._sequence += 1
        STATE_HEAD.pack_into(self._frame, PAYLOAD, self._sequence, time.monotonic())
        np.concatenate(parts, out=self._numbers)
        try:
            self._socket.send(self._frame, zmq.DONTWAIT)
        except zmq.Again:
            raise TimeoutError("the daemon does not take states; is it running?") from None
        return self._sequence

    def latest(self) -> Output | None:
        """The newest output that has come, or None."""
        newest = None
        with contextlib.suppress(zmq.Again):
            while True:
                newest = self._socket.recv(zmq.DONTWAIT)
        return self._parse(newest) if newest is not None else None

    def receive(self, timeout: float = 1.0) -> Output:
        """The next output."""
        if not self._socket.poll(max(1, round(timeout * 1000))):
            raise TimeoutError(f"no output within {timeout} s; is the daemon running?")
        return self._parse(self._socket.recv())

    def step(self, q: Any, v: Any, *references: Any, timeout: float = 1.0) -> Output:
        """Send a state and wait for the output that used it (or a newer one)."""
        sequence = self.send(q, v, *references)
        deadline = time.monotonic() + timeout
        while True:
            output = self.receive(max(0.001, deadline - time.monotonic()))
            if output.sequence >= sequence:
                return output
            if time.monotonic() > deadline:
                raise TimeoutError(f"no output for state {sequence} within {timeout} s")

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
