"""State frames to bytes, bytes to output frames, for all kinds of sessions. No sockets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from torqued.client.errors import MessageError
from torqued.client.sessions.frames import (
    OUTPUT_FIELDS,
    OUTPUT_HEAD,
    PAYLOAD,
    STATE_HEAD,
    OutputHead,
    prefix,
)
from torqued.client.sessions.freshness import Freshness
from torqued.common.masked import check_unmasked
from torqued.common.results import OF_FRAMES
from torqued.common.status import LAST, UNUSABLE, status_names

Array = NDArray[np.float64]

#: Of an output's head, in order.
HEAD_NAMES = tuple(name for name, _, _ in OUTPUT_FIELDS)
SEEN, STATUS, TIME, DEADLINE = map(HEAD_NAMES.index, ("seen", "status", "time", "deadline"))

#: s: outputs that are older when they are read are skipped. With `clock="state"`, where each state
#: is answered once, it is at least `stale_after`.
MAX_OUTPUT_AGE = 0.02
#: `seen` before the first state: every output has seen it.
NO_STATE = -1

#: Where a value is in an output frame: its first byte, and its shape.
Place = tuple[int, tuple[int, ...]]
FLOAT = np.dtype(np.float64)


class Output(OutputHead):
    """One output frame. Values by name as attributes: `output.tau`, `output.M`.

    Values are read from the frame on access: a controller that waits for its torque does not pay
    for the rest.
    """

    __slots__ = ("_data", "_head")
    _places: ClassVar[Mapping[str, Place]] = {}
    _frames: ClassVar[Sequence[str]] = ()

    def __init__(self, head: tuple[Any, ...], data: bytes) -> None:
        self._head, self._data = head, data

    def __getattr__(self, name: str) -> Any:
        if name in self._places:
            return _reader(*self._places[name])(self)
        known = ", ".join(self._places)
        raise AttributeError(f"no {name!r} in this output, which has {known}")

    def __reduce__(self) -> tuple[Any, ...]:
        return copy_of_output, (dict(self._places), self._head, self._data, list(self._frames))

    def __repr__(self) -> str:
        numbers = zip(HEAD_NAMES, self._head, strict=True)
        shown = [f"{name}={value!r}" for name, value in (*numbers, *self.values.items())]
        return f"Output({', '.join(shown)})"

    @property
    def values(self) -> Mapping[str, Any]:
        """All of them by name."""
        return {name: getattr(self, name) for name in self._places}

    @property
    def ok(self) -> bool:
        """Whether no status bit is set."""
        return not self._head[STATUS]

    @property
    def usable(self) -> bool:
        """Whether values are the law's, of a fresh state; a torque may be cut to its limits.

        Otherwise the torque is the daemon's own: held, fading, or the fallback's.
        """
        return not self._head[STATUS] & UNUSABLE

    @property
    def status_names(self) -> list[str]:
        """Status bits by name; empty is good."""
        return status_names(self.status)

    @property
    def reason_names(self) -> list[str]:
        """Why the torque is not the law's, as names of status bits, until `resume`."""
        return status_names(self.reason)

    @property
    def is_last(self) -> bool:
        """Whether the session has ended with this output."""
        return bool(self._head[STATUS] & LAST)


def _number(k: int) -> Callable[[Output], Any]:
    return lambda output: output._head[k]


for _k, _name in enumerate(HEAD_NAMES):
    setattr(Output, _name, property(_number(_k)))


def kind_of_output(places: Mapping[str, Place], frames: Sequence[str] = ()) -> type[Output]:
    """The class of a session's outputs, with values at these places. Properties take half the time
    of `__getattr__`.

    With `frames`, quantities of frames are maps by their names, as in replies.
    """
    of_frames = OF_FRAMES if frames else ()
    values = {
        name: property(_by_name(frames, *place) if name in of_frames else _reader(*place))
        for name, place in places.items()
        if not hasattr(Output, name)
    }
    fixed = {"__slots__": (), "_places": places, "_frames": frames}
    return type("Output", (Output,), {**fixed, **values})


def _reader(offset: int, shape: tuple[int, ...]) -> Callable[[Output], Array]:
    return lambda output: np.ndarray(shape, FLOAT, output._data, offset)


def _by_name(
    frames: Sequence[str], offset: int, shape: tuple[int, ...]
) -> Callable[[Output], dict[str, Array]]:
    read = _reader(offset, shape)
    return lambda output: dict(zip(frames, read(output), strict=True))


def copy_of_output(
    places: Mapping[str, Place], head: tuple[Any, ...], data: bytes, frames: Sequence[str] = ()
) -> Output:
    """An output from its copy or pickle."""
    return kind_of_output(places, frames)(head, data)


class SessionFrames:
    """The frames of one session, as the reply of `open` describes them.

    law, gains    what was opened, with the gains in effect by name
    overridden    why unstable gains would be refused that `check="warn"` keeps; else ""
    payloads      what the robot carries in this session; `set_payload` changes it
    friction      of joints that is compensated: viscous, coulomb, smoothing, share; or nothing
    measured      what a state has beside q and v, by name: motors of elastic joints
    axes          of the frame that `impedance` controls: all, position or orientation; else ""
    references    name → shape of the references in a state, in order
    outputs       name → shape of the values of an output
    late          outputs that were skipped because they were too old
    """

    def __init__(self, opened: Mapping[str, Any], same_clock: bool = True) -> None:
        self.number: int = opened["session"]
        self.law: str = opened["law"]
        self.gains: dict[str, Array] = dict(opened["gains"])
        self.overridden: str = opened.get("stability", {}).get("overridden", "")
        self.payloads: list[dict[str, Any]] = list(opened.get("payload", ()))
        self.friction: dict[str, Any] = dict(opened.get("friction", {}))
        self.axes: str = opened.get("axes", "")
        self.period: float = opened["period"]
        self.measured = [part["name"] for part in opened["state"] if part["name"] not in ("q", "v")]
        self.references = {part["name"]: tuple(part["shape"]) for part in opened["references"]}
        self.outputs = {part["name"]: tuple(part["shape"]) for part in opened["outputs"]}
        self.max_output_age = MAX_OUTPUT_AGE
        clock = opened.get("clock")
        if clock == "state":
            self.max_output_age = max(MAX_OUTPUT_AGE, opened["stale_after"])
        elif clock == "lockstep":
            self.max_output_age = math.inf
        self.late = 0
        self._frame = bytearray(opened["state_bytes"])
        self._frame[:PAYLOAD] = prefix(len(self._frame) - PAYLOAD)
        self._sequence = 0  # of the newest state
        parts = {part["name"]: part for part in (*opened["state"], *opened["references"])}
        self._places = {name: part_of(self._frame, part) for name, part in parts.items()}
        for part in opened["references"]:
            # A reference that is held until it is given is NaN on the wire.
            self._places[part["name"]][...] = part.get("default", math.nan)
        self._momentary = [
            self._places[part["name"]] for part in opened["references"] if part.get("momentary")
        ]
        self._held = [part["name"] for part in opened["references"] if part.get("held")]
        self._output = kind_of_output(
            {part["name"]: (part["offset"], tuple(part["shape"])) for part in opened["outputs"]},
            opened.get("frames", ()),
        )
        self._output_bytes = int(opened["output_bytes"])
        self._q, self._v = (self._places[name].data for name in ("q", "v"))
        self._freshness = Freshness(same_clock)
        self._deadline = math.nan  # s, of a tick of the loop
        self._last: Output | None = None  # the output that the session has ended with

    def __repr__(self) -> str:
        gains = ", ".join(self.gains) or "none"
        return (
            f"<{type(self).__name__} {self.number}: {self.law} at {1 / self.period:g} Hz, "
            f"gains: {gains}; references: {', '.join(self.references) or 'none'}; "
            f"outputs: {', '.join(self.outputs)}>"
        )

    def _put(self, name: str, value: Any) -> None:
        check_unmasked(name, value)
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

        References come in their order, or by name; those that are not given stay as they are,
        but for torques, which end. Other measured values are required.
        """
        if v is None:
            v = self._at_rest()
        for place in self._momentary:
            place.fill(math.nan)
        try:
            self._q[:], self._v[:] = q, v
            plain = type(q) is type(v) is np.ndarray
        except (TypeError, ValueError):  # not arrays of float64, or of other shapes
            plain = False
        if not plain:
            self._put("q", q)
            self._put("v", v)
        if references or named or self.measured:
            self._put_others(references, named)
        stamp = time.monotonic()
        at = stamp if at is None else float(at)
        self._sequence += 1
        STATE_HEAD.pack_into(self._frame, PAYLOAD, self._sequence, stamp, at)
        return self._frame

    def _at_rest(self) -> Array:
        """The velocity of a stream's state without one; a torque law needs a measured one."""
        if self.law != "stream":
            raise ValueError(f"v is missing, law {self.law!r} needs it with every state")
        return np.zeros_like(self._places["v"])

    def _put_others(self, references: Sequence[Any], named: Mapping[str, Any]) -> None:
        for name in self.measured:
            if name not in named:
                raise ValueError(f"{name} is missing, law {self.law!r} needs it with every state")
        if len(references) > len(self.references):
            known = ", ".join(self.references) or "none"
            raise ValueError(f"{len(references)} references, this session has: {known}")
        for name, value in zip(self.references, references, strict=False):
            self._put(name, value)
        for name, value in named.items():
            if name not in self.references and name not in self.measured:
                known = ", ".join([*self.measured, *self.references]) or "none"
                raise ValueError(f"no reference {name!r}, this session has: {known}")
            self._put(name, value)

    def _forget_references(self) -> None:
        """From the next state on no reference is given: the session holds."""
        for name in self._held:
            self._places[name][...] = math.nan

    def _accept(self, data: bytes, sequence: int = NO_STATE) -> Output | None:
        """The output in a frame, if it is fresh and has seen that state, or ends the session."""
        if len(data) != self._output_bytes:
            raise MessageError(
                "bad_message", f"output frame of {len(data)} bytes, expected {self._output_bytes}"
            )
        head = OUTPUT_HEAD.unpack_from(data, PAYLOAD)
        self._deadline = head[DEADLINE]
        if head[STATUS] & LAST:
            self._last = self._output(head, data)
            self._leave()
            return self._last
        if self._freshness.age(head[TIME], time.monotonic()) <= self.max_output_age:
            return self._output(head, data) if head[SEEN] >= sequence else None
        self.late += 1
        return None

    def _leave(self) -> None:
        """Called once the last output has come."""
        raise NotImplementedError


def part_of(frame: bytes | bytearray, part: Mapping[str, Any]) -> Array:
    """One array of a frame: a view, not a copy."""
    shape = tuple(part["shape"])
    numbers = np.frombuffer(frame, np.float64, count=math.prod(shape), offset=part["offset"])
    return numbers.reshape(shape)
