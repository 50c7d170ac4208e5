"""Sessions: opened and closed from Python, served by the compiled loop."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

from torqued.client import errors
from torqued.client.codec import LARGEST_MESSAGE
from torqued.client.frames import OUTPUT_HEAD, PAYLOAD, STATE_HEAD, prefix, status_names
from torqued.kernels import InputError, Robot
from torqued.kernels.compiled import COMPILED
from torqued.kernels.frames import REPRESENTATIONS
from torqued.kernels.inputs import choice, numbers
from torqued.server import (
    records,
    servo,  # noqa: F401  (registers the loop among the compiled functions)
)
from torqued.server.access import Caller, check_owner
from torqued.server.laws import LAWS
from torqued.server.laws.stream import flags, shapes
from torqued.server.numbers import Numbers, Sizes, allocate
from torqued.server.operations import text, texts
from torqued.server.records import CLOSED, CLOSING, FREE, MOST_SESSIONS, OPEN

#: Outputs that wait for a slow reader before new ones are dropped.
QUEUE = 8


@dataclass
class Safety:
    """What happens when states stop coming, in seconds."""

    stale_after: float = 0.003
    hold: float = 0.02  # the last torque is held
    fade: float = 0.1  # and fades out
    abandoned: float = 10.0  # from then on another client may have the session's place


@dataclass
class Session:
    """Python's side of a session: what keeps its memory alive."""

    number: int  # how clients name it
    slot: int  # where the servo has it
    opened: int  # ns, monotonic
    law: str
    endpoint: str
    caller: Caller  # who opened it
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
        self,
        robot: Robot,
        context: zmq.Context[Any],
        rate: float,
        safety: Safety,
        most_per_client: int = MOST_SESSIONS,
    ) -> None:
        self.robot = robot.copy()  # the loop has a workspace of its own
        self.context = context
        self.safety = safety
        self.most_per_client = most_per_client
        self.shared = records.shared_memory(round(1e9 / rate))
        self.sessions: dict[int, Session] = {}  # by number
        self.thread: threading.Thread | None = None
        #: Asks for realtime settings, in the loop's own thread; and what was granted.
        self.settings: Callable[[], dict[str, str]] = dict
        self.granted: dict[str, str] = {}
        self._asked = threading.Event()

    def start(self) -> None:
        """Enter the loop; compiles it first where the cache has no copy."""
        loop = COMPILED.run_servo
        self.shared.loop["running"] = 1

        def enter() -> None:
            self.granted = self.settings()
            self._asked.set()
            loop(self.robot.work.handle, self.shared)

        self.thread = threading.Thread(target=enter, name="servo", daemon=True)
        self.thread.start()

    def wait_for_settings(self) -> dict[str, str]:
        """The realtime settings that were asked for, and whether they were granted."""
        self._asked.wait(1.0)
        return self.granted

    def stop(self, linger: int) -> None:
        """Leave the loop. Every open session gets a last frame with zero torque.

        `linger` ms are given to clients that are slow to take it.
        """
        self.shared.loop["running"] = 0
        if self.thread is not None:
            self.thread.join()
        for session in self.sessions.values():
            session.socket.close(linger=linger)
        self.sessions.clear()

    def open(self, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Open a session: law, want, frames, representation, gains, limits."""
        robot = self.robot
        law_name = choice("law", fields["law"], LAWS)
        law = LAWS[law_name]
        gains = law.gains(robot, mapping(fields, "gains"))
        names = texts(fields, "frames", ())
        frames = robot._frames(names)
        representation = choice(
            "representation", text(fields, "representation", "hybrid"), REPRESENTATIONS
        )
        want = 0
        outputs: dict[str, tuple[int, ...]] = {"tau": (robot.nv,)}
        if law_name == "stream":
            if robot.model.mimics.present:
                raise InputError(
                    "law: streams of robots with mimic joints are not served; "
                    "load with mimic = 'free'",
                    "law",
                )
            want = flags(texts(fields, "want", ("M", "C", "g")))
            outputs = shapes(want, robot.nv, len(names))
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
        slot = self._free_slot(caller)
        number = self._unused_number()
        socket = self.context.socket(zmq.PAIR)
        socket.set_hwm(QUEUE)
        socket.maxmsgsize = LARGEST_MESSAGE
        socket.linger = 0
        reached_by = caller.door.bind_session(socket, number, caller)
        session = Session(
            number=number,
            slot=slot,
            opened=time.monotonic_ns(),
            law=law_name,
            endpoint=reached_by["endpoint"],
            caller=caller,
            socket=socket,
            memory=memory,
            data=data,
            receive=receive,
            send=send,
            frames=frames,
            outputs=outputs,
        )
        self.sessions[number] = session
        self._hand_over(session, law.number, want, REPRESENTATIONS[representation])
        return {
            "session": number,
            **reached_by,
            "state_bytes": len(receive),
            "output_bytes": len(send),
            "references": sizes.references,
            "outputs": {name: list(shape) for name, shape in outputs.items()},
            "period": float(self.shared.loop["period"][0]) * 1e-9,
        }

    def _free_slot(self, caller: Caller) -> int:
        """A slot that nobody has, or that its owner has abandoned the longest."""
        own = [s for s in self.sessions.values() if s.caller.key == caller.key]
        if len(own) >= self.most_per_client:
            return self._abandoned(own, f"this client has {len(own)} sessions, the most allowed")
        taken = {session.slot for session in self.sessions.values()}
        for slot in range(MOST_SESSIONS):
            if slot not in taken:
                return slot
        return self._abandoned(self.sessions.values(), f"all {MOST_SESSIONS} sessions are open")

    def _abandoned(self, sessions: Iterable[Session], refusal: str) -> int:
        """The slot of the session that was abandoned the longest; that session is ended."""
        idlest = max(sessions, key=self._idle)
        if self._idle(idlest) <= self.safety.abandoned:
            raise errors.error("busy", f"{refusal}; close one first")
        self._end(idlest)
        return idlest.slot

    def _idle(self, session: Session) -> float:
        """Seconds since a session's last state, or since it was opened."""
        last = max(session.opened, int(self.shared.sessions[session.slot].received))
        return (time.monotonic_ns() - last) * 1e-9

    def _unused_number(self) -> int:
        """Drawn at random, so that no client of an earlier daemon names another's session."""
        while (number := secrets.randbits(31)) in self.sessions:
            pass
        return number

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
                limits = np.minimum(limits, not_negative("effort_limit", asked))
            data.effort[:] = limits
            data.rate[:] = np.inf
            if fields.get("rate_limit") is not None:
                asked = numbers("rate_limit", fields["rate_limit"], (robot.nv,))
                data.rate[:] = not_negative("rate_limit", asked)

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

    def close(self, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Close a session; its last frame has zero torque."""
        number = fields["session"]
        session = self.sessions.get(number) if type(number) is int else None
        if session is None:
            opened = ", ".join(map(str, self.sessions)) or "none"
            raise InputError(
                f"session: {number!r} is not open, open are: {opened}", "session", number, opened
            )
        check_owner(caller, session.caller, session.number)
        self._end(session)
        return {"session": number}

    def end_where(self, unwanted: Callable[[Session], bool]) -> None:
        """End all sessions of a kind; their last frames have zero torque."""
        for session in [s for s in self.sessions.values() if unwanted(s)]:
            self._end(session)

    def _end(self, session: Session) -> None:
        record = self.shared.sessions[session.slot]
        record.state = CLOSING
        # The loop answers at its next tick.
        while record.state != CLOSED and self.thread is not None and self.thread.is_alive():
            time.sleep(1e-4)
        session.socket.close(linger=200)
        del self.sessions[session.number]
        record.state = FREE
        session.caller.door.end_session(session.number)

    def describe(self) -> list[dict[str, Any]]:
        """Every open session and its counters."""
        counters = ("states", "bad_states", "outputs", "dropped", "stale", "clamped")
        out = []
        for session in list(self.sessions.values()):
            record = self.shared.sessions[session.slot]
            out.append(
                {
                    "session": session.number,
                    "law": session.law,
                    "endpoint": session.endpoint,
                    "client": session.caller.name,
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


def mapping(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A field that is a map, empty where it is absent."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name}: {value!r}, expected a map", name, None, "a map")
    return value


def not_negative(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Limits: zero or positive."""
    if (values < 0.0).any():
        worst = float(values.min())
        message = f"{name} has {worst}, expected zero or a positive number"
        raise InputError(message, name, worst, "zero or a positive number")
    return values


def frame_buffer(payload: int) -> NDArray[np.uint8]:
    """A whole frame with its prefix, aligned for 8-byte access."""
    words = np.zeros(-(-(PAYLOAD + payload) // 8))
    buffer = words.view(np.uint8)[: PAYLOAD + payload]
    buffer[:PAYLOAD] = np.frombuffer(prefix(payload), np.uint8)
    return buffer
