"""Sessions: opened and closed from Python, served by the compiled loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

from torqued.client import errors
from torqued.client.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix, status_names
from torqued.kernels import InputError, Robot
from torqued.kernels.frames import REPRESENTATIONS
from torqued.kernels.inputs import choice, numbers
from torqued.kernels.jit import bind
from torqued.server import records
from torqued.server.laws import LAWS
from torqued.server.laws.stream import flags, shapes
from torqued.server.numbers import Numbers, Sizes, allocate
from torqued.server.records import CLOSED, CLOSING, FREE, MOST_SESSIONS, OPEN
from torqued.server.servo import run_servo

#: Outputs that wait for a slow reader before new ones are dropped.
QUEUE = 8


@dataclass
class Safety:
    """What happens when states stop coming, in seconds."""

    stale_after: float = 0.003
    hold: float = 0.02
    fade: float = 0.1


@dataclass
class Session:
    """Python's side of a session: what keeps its memory alive."""

    slot: int
    law: str
    endpoint: str
    socket: zmq.Socket[bytes]
    memory: NDArray[np.float64]
    data: Numbers
    receive: NDArray[np.uint8]
    send: NDArray[np.uint8]
    frames: NDArray[np.void]
    outputs: dict[str, tuple[int, ...]]


class Servo:
    """The loop's thread and its sessions."""

    def __init__(
        self, robot: Robot, context: zmq.Context[Any], endpoints: str, rate: float, safety: Safety
    ) -> None:
        self.robot = robot.copy()  # the loop has a workspace of its own
        self.context = context
        self.endpoints = endpoints  # with {} for the slot
        self.safety = safety
        self.shared = records.shared_memory(round(1e9 / rate))
        self.sessions: dict[int, Session] = {}
        self.thread: threading.Thread | None = None
        #: Asks for realtime settings, in the loop's own thread; and what was granted.
        self.settings: Callable[[], dict[str, str]] = dict
        self.granted: dict[str, str] = {}

    def start(self) -> None:
        """Enter the loop; compiles it first where the cache has no copy."""
        loop = bind(run_servo)
        self.shared.loop["running"] = 1

        def enter() -> None:
            self.granted = self.settings()
            loop(self.robot.work.handle, self.shared)

        self.thread = threading.Thread(target=enter, name="servo", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Leave the loop. Every open session gets a last frame with zero torque."""
        self.shared.loop["running"] = 0
        if self.thread is not None:
            self.thread.join()
        for session in self.sessions.values():
            session.socket.close(linger=200)
        self.sessions.clear()

    def open(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Open a session: law, want, frames, representation, gains."""
        law_name = choice("law", fields.get("law", "stream"), LAWS)
        slot = self._free_slot()
        robot = self.robot
        law = LAWS[law_name]
        given = fields.get("gains") or {}
        if not isinstance(given, dict):
            raise InputError("gains: expected a map", "gains", None, "a map")
        gains = law.gains(robot, given)
        names = tuple(fields.get("frames") or ())
        frames = robot._frames(names)
        representation = choice(
            "representation", fields.get("representation", "hybrid"), REPRESENTATIONS
        )
        want = flags(fields.get("want") or ("M", "C", "g")) if law_name == "stream" else 0
        if law_name == "stream" and robot.model.mimics.present:
            raise InputError(
                "law: streams of robots with mimic joints are not served; load with mimic = 'free'"
            )
        outputs = (
            shapes(want, robot.nv, len(names)) if law_name == "stream" else {"tau": (robot.nv,)}
        )
        sizes = Sizes(
            robot.nq,
            robot.nv,
            robot.nq_free,
            robot.nv_free,
            law.references(robot),
            len(gains),
            int(sum(np.prod(shape) for shape in outputs.values())),
            int(law_name != "stream"),
        )
        memory, data = allocate(sizes)
        self._fill(data, gains, fields)
        receive = frame_buffer(STATE_HEAD.size + 8 * len(data.state))
        send = frame_buffer(OUTPUT_HEAD.size + 8 * sizes.outputs)
        endpoint = self.endpoints.format(slot)
        socket = self.context.socket(zmq.PAIR)
        socket.set_hwm(QUEUE)
        socket.linger = 0
        socket.bind(endpoint)
        session = Session(
            slot, law_name, endpoint, socket, memory, data, receive, send, frames, outputs
        )
        self.sessions[slot] = session
        self._hand_over(session, law.number, want, REPRESENTATIONS[representation])
        return {
            "session": slot,
            "endpoint": endpoint,
            "state_bytes": len(receive),
            "output_bytes": len(send),
            "references": sizes.references,
            "outputs": {name: list(shape) for name, shape in outputs.items()},
            "period": float(self.shared.loop["period"][0]) * 1e-9,
        }

    def _free_slot(self) -> int:
        for slot in range(MOST_SESSIONS):
            if slot not in self.sessions and self.shared.sessions[slot].state == FREE:
                return slot
        raise errors.error("busy", f"all {MOST_SESSIONS} sessions are open; close one first")

    def _fill(self, data: Numbers, gains: Any, fields: Mapping[str, Any]) -> None:
        mimics, robot = self.robot.model.mimics, self.robot
        data.gains[:] = gains
        data.q_multiplier[:], data.q_offset[:] = mimics.q_multiplier, mimics.offset
        data.q_index[:], data.v_index[:] = mimics.q_index, mimics.v_index
        data.v_multiplier[:] = mimics.multiplier
        if len(data.effort):
            limits = robot.limits.effort.copy()
            if fields.get("effort_limit") is not None:
                asked = numbers("effort_limit", fields["effort_limit"], (robot.nv,))
                limits = np.minimum(limits, np.abs(asked))
            data.effort[:] = limits
            rate = fields.get("rate_limit")
            data.rate[:] = np.inf if rate is None else numbers("rate_limit", rate, (robot.nv,))

    def _hand_over(self, session: Session, law: int, want: int, representation: int) -> None:
        record = self.shared.sessions[session.slot]
        for name in record.dtype.names or ():
            record[name] = 0
        record.sequence = -1
        record.law, record.want, record.representation = law, want, representation
        record.socket = session.socket.underlying
        record.frames, record.frame_count = session.frames.ctypes.data, len(session.frames)
        record.receive, record.receive_size = session.receive.ctypes.data, len(session.receive)
        record.prefix = session.receive[:PAYLOAD].view(np.int64)[0]
        record.send, record.send_size = session.send.ctypes.data, len(session.send)
        record.data = session.memory.ctypes.data
        record.stale_after = round(self.safety.stale_after * 1e9)
        record.hold, record.fade = round(self.safety.hold * 1e9), round(self.safety.fade * 1e9)
        record.state = OPEN  # from here on the loop owns record and socket

    def close(self, slot: Any) -> dict[str, Any]:
        """Close a session; its last frame has zero torque."""
        session = self.sessions.get(slot) if isinstance(slot, int) else None
        if session is None:
            opened = ", ".join(map(str, self.sessions)) or "none"
            raise InputError(
                f"session: {slot!r} is not open, open are: {opened}", "session", slot, opened
            )
        record = self.shared.sessions[slot]
        record.state = CLOSING
        # The loop answers at its next tick.
        while record.state != CLOSED and self.thread is not None and self.thread.is_alive():
            time.sleep(1e-4)
        session.socket.close(linger=200)
        del self.sessions[slot]
        record.state = FREE
        return {"session": slot}

    def describe(self) -> list[dict[str, Any]]:
        """Every open session and its counters."""
        counters = ("states", "bad_states", "outputs", "dropped", "stale", "clamped")
        out = []
        for slot, session in list(self.sessions.items()):
            record = self.shared.sessions[slot]
            out.append(
                {
                    "session": slot,
                    "law": session.law,
                    "endpoint": session.endpoint,
                    "status": status_names(int(record.status)),
                    "sequence": int(record.sequence),
                    **{name: int(record[name]) for name in counters},
                }
            )
        return out

    def statistics(self) -> dict[str, Any]:
        """Ticks, misses and percentiles of lateness, compute time and age, µs."""
        loop = self.shared.loop[0]
        out: dict[str, Any] = {
            "tick": int(loop.tick),
            "missed": int(loop.missed),
            "rate": 1e9 / float(loop.period),
        }
        for name in ("lateness", "compute", "age"):
            histogram = np.array(loop[name])
            out[name] = {
                "p50_us": records.percentile(histogram, 0.5),
                "p99_us": records.percentile(histogram, 0.99),
                "count": int(histogram.sum()),
            }
        out["lateness"]["max_us"] = float(loop.latest) * 1e-3
        out["compute"]["max_us"] = float(loop.longest) * 1e-3
        return out


def frame_buffer(payload: int) -> NDArray[np.uint8]:
    """A whole frame with its prefix, aligned for 8-byte access."""
    words = np.zeros(-(-(PAYLOAD + payload) // 8))
    buffer = words.view(np.uint8)[: PAYLOAD + payload]
    buffer[:PAYLOAD] = np.frombuffer(prefix(payload), np.uint8)
    return buffer
