"""Sessions: opened and closed from Python, served by the compiled loop."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import zmq
from numpy.typing import NDArray

from torqued.client import errors
from torqued.client.sessions.frames import OUTPUT_HEAD, STATE_HEAD
from torqued.kernels import InputError, Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import address_of
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.options import SESSION_OPTIONS
from torqued.kernels.control.stability import DEFAULT_DELAY
from torqued.kernels.input_checks import numbers, text
from torqued.kernels.primitives.workspace import LoopWorkspace
from torqued.server.access.rights import Caller, check_owner
from torqued.server.loop import loop_records
from torqued.server.loop.arrival_loop import LIGHT
from torqued.server.loop.arrivals import ArrivalThread
from torqued.server.loop.budget import (
    PER_BYTE,
    check_budget,
    check_frame,
    measured_cost,
    share_of,
    time_left,
)
from torqued.server.loop.frame_layout import described, frame_buffer, opened_reply
from torqued.server.loop.last_frames import LastFrames
from torqued.server.loop.links import (
    LINK_OPTIONS,
    LOCK_STEP,
    LOOP,
    MEMORY,
    chosen_link,
    end_memory_link,
    memory_link,
    session_socket,
)
from torqued.server.loop.loop_records import MAX_SESSIONS
from torqued.server.loop.orders import Orders
from torqued.server.loop.realtime import name_thread
from torqued.server.loop.servo_loop import run_servo  # noqa: F401  (compiled by its name)
from torqued.server.loop.session import Safety, Session, chosen_safety, fill_record
from torqued.server.loop.session_states import CLOSED, CLOSING, FREE, OPEN, move
from torqued.server.loop.session_tick import serve_session  # noqa: F401  (likewise)
from torqued.server.loop.statistics import describe_sessions, loop_statistics
from torqued.server.loop.tuning import change_gains, change_payload, warn_of_override
from torqued.server.observation.observation import Observation

log = logging.getLogger("torqued")

#: ms for the last frame of a session to leave.
LAST_FRAME = 200
#: s without states after which a session in lock step is closed: a simulation may pause.
MAX_PAUSE = 600.0
#: Random bytes in a session's routing id, which is a secret.
OWNER_BYTES = 12


class Servo:
    """The loop's thread and its sessions."""

    def __init__(
        self,
        robot: Robot,
        context: zmq.Context[Any],
        rate: float,
        safety: Safety,
        max_per_client: int = MAX_SESSIONS,
        observation: Observation | None = None,
        spin: float = 0.0,
    ) -> None:
        self.robot = robot.copy()  # prepares sessions, in the requests' thread
        self.context = context
        self.safety = safety
        self.max_per_client = max_per_client
        self.shared = loop_records.shared_memory(round(1e9 / rate))
        self.observation = observation or Observation()
        self.shared.loop["ring"] = self.observation.address
        self.spin = spin  # s, before a deadline; and before a session in memory sleeps
        self.shared.loop["spin"] = round(1e9 * self.spin)
        self._ages = np.zeros(loop_records.BINS, np.int64)  # of states answered on arrival, so far
        self.sessions: dict[int, Session] = {}  # by number
        self.last_frames = LastFrames()
        self.orders = Orders(self)
        self.thread: threading.Thread | None = None
        #: Requests realtime settings, in the loop's thread; `granted` is its report.
        self.settings: Callable[[], dict[str, str]] = dict
        #: The same for threads that answer states as they arrive.
        self.arrival_settings: Callable[[], object] = dict
        self.is_realtime = False  # whether they are asked to come before all others
        self.granted: dict[str, str] = {}
        self._asked = threading.Event()

    def start(self) -> None:
        """Enter the loop; compiles it first if the cache has no copy."""
        loop = COMPILED.run_servo
        self.shared.loop["serve"] = address_of("serve_session")
        self.shared.loop["running"] = 1
        first = self.thread is None
        # The loop's own memory: only its thread can claim it.
        model = self.robot.model
        workspace = LoopWorkspace(model.world, model.bodies.copy())  # payloads change bodies

        def enter() -> None:
            name_thread()
            self.granted = self.settings()
            self._asked.set()
            if first:  # from here on deadlines are a period apart
                self.shared.loop["deadline"] = time.monotonic_ns()
            loop(workspace.claim(), self.shared)

        self.thread = threading.Thread(target=enter, name="servo", daemon=True)
        self.thread.start()

    def wait_for_settings(self) -> dict[str, str]:
        """The requested realtime settings, and whether they were granted."""
        self._asked.wait(1.0)
        return self.granted

    def stop(self, linger: int) -> None:
        """Leave the loop. Every open session gets a last frame with zero torque.

        Slow clients get `linger` ms to receive it.
        """
        self.shared.loop["running"] = 0
        if self.thread is not None:
            self.thread.join()
        for session in self.sessions.values():
            record = self.shared.sessions[session.slot]
            if record.state == OPEN:  # no loop has run since it was opened
                move(record, CLOSING)
            self._close_socket(session, linger)
            self.shared.sessions[session.slot] = np.zeros((), loop_records.SESSION)
        self.observation.closed(*self.sessions)
        self.sessions.clear()
        self.last_frames.finish()

    def require_unused(self) -> None:
        """Refuse as `in_use` while sessions are open; abandoned ones are ended."""
        self.end_abandoned()
        if self.sessions:
            opened = ", ".join(map(str, self.sessions))
            raise errors.error("in_use", f"sessions are open: {opened}; close them first")

    def swap(self, robot: Robot) -> None:
        """Continue with another robot. The ticks that this takes are counted as missed."""
        self.require_unused()
        self.shared.loop["running"] = 0
        if self.thread is not None:
            self.thread.join()
        self.robot = robot.copy()
        self.start()

    def open(self, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Open a session: a law with its gains and options, limits, an observer."""
        others = ("law", *SESSION_OPTIONS, *LINK_OPTIONS)
        settings = {name: value for name, value in fields.items() if name not in others}
        link = chosen_link(fields, caller, self.spin)
        law = text(fields, "law", "")
        controller = Controller(self.robot, law, **settings)
        delay = float(numbers("delay", fields.get("delay", DEFAULT_DELAY), ()))
        check = text(fields, "check", "refuse")
        stability = controller.stabilize(self.period, delay, check)
        safety = chosen_safety(self.safety, fields, controller)
        receive = frame_buffer(STATE_HEAD.size + 8 * controller.state_numbers)
        send = frame_buffer(OUTPUT_HEAD.size + 8 * len(controller.data.out))
        check_frame("state", len(receive))
        check_frame("output", len(send))
        slot = self._free_slot(caller)
        transfer = PER_BYTE * (len(receive) + len(send))
        trial = Controller(self.robot, law, **settings)
        compute = self._checked_cost(trial, transfer)
        number = self._unused_number()
        owner = f"torqued-{secrets.token_hex(OWNER_BYTES)}"
        self.last_frames.flush(at_once=True)  # frees the ports of clients that have left
        socket = page = arrivals = None
        ring = 0
        if link.transport == MEMORY:
            page, reached_by = memory_link(owner, len(receive), len(send), caller)
            if link.clock != LOOP:
                ring = self.observation.arrival_address(slot)
                model, realtime = self.robot.model, self.arrival_settings
                if link.clock == LOCK_STEP:
                    realtime = dict
                arrivals = ArrivalThread(model, self.shared, slot, page, realtime)
        else:
            socket = session_socket(self.context, len(receive))
            reached_by = caller.transport.bind_session(socket, number, caller)
        session = Session(
            number=number,
            slot=slot,
            opened=time.monotonic_ns(),
            endpoint=reached_by["endpoint"],
            caller=caller,
            socket=socket,
            page=page,
            link=link,
            arrivals=arrivals,
            controller=controller,
            safety=safety,
            delay=delay,
            cost=compute + transfer,
            share=share_of(compute),
            owner=np.frombuffer(owner.encode(), np.uint8),
            receive=receive,
            send=send,
        )
        self.sessions[number] = session
        warn_of_override(session)
        self.observation.opened(number, described(session, settings))
        self._hand_over(session, ring)
        return opened_reply(session, reached_by, stability, self.period)

    def _checked_cost(self, trial: Controller, transfer: float) -> float:
        """s for computing a tick; refused if the loop has no time for it and its frames.

        `transfer` is the time of its frames, s.
        """
        others = [other.cost for other in self.sessions.values()]
        compute = measured_cost(trial, enough=time_left(others, self.period) - transfer)
        check_budget(compute + transfer, others, self.period)
        return compute

    @property
    def period(self) -> float:
        """Seconds between ticks."""
        return float(self.shared.loop["period"][0]) * 1e-9

    def end_abandoned(self) -> None:
        """End sessions without states for `abandon_after`: their clients have died or given up."""
        for session in list(self.sessions.values()):
            patience = max(self.safety.abandon_after, session.safety.stale_after)
            if session.link.clock == LOCK_STEP:
                patience = max(patience, MAX_PAUSE)
            if (silence := self.idle(session)) > patience:
                log.warning("session %d closed: no state for %.3g s", session.number, silence)
                self._end(session)

    def _free_slot(self, caller: Caller) -> int:
        """A free slot; abandoned sessions make room."""
        self.end_abandoned()
        own = sum(session.caller.key == caller.key for session in self.sessions.values())
        if own >= self.max_per_client:
            raise errors.error("busy", f"this client has {own} sessions, the maximum; close one")
        taken = {session.slot for session in self.sessions.values()}
        for slot in range(MAX_SESSIONS):
            if slot not in taken:
                return slot
        raise errors.error("busy", f"all {MAX_SESSIONS} sessions are open; close one first")

    def idle(self, session: Session) -> float:
        """Seconds since a session's last state, or since it was opened."""
        last = max(session.opened, int(self.shared.sessions[session.slot].received))
        return (time.monotonic_ns() - last) * 1e-9

    def _unused_number(self) -> int:
        """A random number, so that no client of an earlier daemon names another's session."""
        while (number := secrets.randbits(31)) in self.sessions:
            pass
        return number

    def _hand_over(self, session: Session, ring: int) -> None:
        """Fill a session's record, which then belongs to the loop.

        `ring` is the address of the session's own ring, 0: its ticks go to the loop's.
        """
        self.shared.sessions[session.slot] = np.zeros((), loop_records.SESSION)
        record = self.shared.sessions[session.slot]
        fill_record(record, session, ring)
        record.light = int(self.shared.loop["period"][0]) // (LIGHT if self.is_realtime else 1)
        move(record, OPEN)
        if session.arrivals is not None:
            session.arrivals.start()

    def tune(self, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Change gains of an open session, gradually over `over` seconds."""
        session = self.orders.commanded(fields, caller, "gains")
        record = self.shared.sessions[session.slot]
        reply = change_gains(session, record, fields, self.period, self.runs)
        warn_of_override(session)
        changed = {name: reply[name] for name in ("gains", "overridden")}
        self.observation.changed(session.number, **changed)
        return reply

    def payload(self, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Change what an open session's robot carries, gradually over `over` seconds."""
        session = self.orders.commanded(fields, caller)
        reply = change_payload(session, fields, self.period, self.runs)
        self.observation.changed(session.number, payload=reply["payload"])
        return reply

    def runs(self) -> bool:
        """Whether the loop is running."""
        return self.thread is not None and self.thread.is_alive()

    def named_session(self, fields: Mapping[str, Any]) -> Session:
        """The open session that a request names."""
        number = fields["session"]
        session = self.sessions.get(number) if type(number) is int else None
        if session is None:
            opened = ", ".join(map(str, self.sessions)) or "none"
            raise InputError(
                f"session: {number!r} is not open (open: {opened})", "session", number, opened
            )
        return session

    def close(self, fields: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Close a session, of the caller or for administrators; its last frame has zero torque."""
        session = self.named_session(fields)
        check_owner(caller, session.caller, session.number)
        self._end(session)
        return {"session": session.number}

    def end_where(self, unwanted: Callable[[Session], bool]) -> None:
        """End all unwanted sessions; their last frames have zero torque."""
        for session in [s for s in self.sessions.values() if unwanted(s)]:
            self._end(session)

    def _end(self, session: Session) -> None:
        record = self.shared.sessions[session.slot]
        if record.state == OPEN:  # a loop that has stopped has closed it
            move(record, CLOSING)
        # The loop answers at its next tick.
        while record.state != CLOSED and self.runs():
            time.sleep(1e-4)
        self._close_socket(session, LAST_FRAME)
        self.observation.closed(session.number)
        del self.sessions[session.number]
        move(record, FREE)

    def _close_socket(self, session: Session, milliseconds: int) -> None:
        """Close a session's socket; its last frame has that long to arrive.

        In shared memory it has arrived, and stays there while the client has the page mapped.
        """
        if session.arrivals is not None:
            session.arrivals.join()
            self._ages += session.arrivals.ages
        if session.page is not None:
            end_memory_link(session.page, session.owner.tobytes(), session.caller)
        if session.socket is None:
            return
        record = self.shared.sessions[session.slot]
        owner, frame = session.owner.tobytes(), session.send.tobytes()
        self.last_frames.add(
            session.socket,
            owner,
            frame,
            milliseconds,
            sent=bool(record.last_sent),
            reached=bool(record.outputs),
            closed=partial(session.caller.transport.end_session, session.number),
        )

    def describe(self) -> list[dict[str, Any]]:
        """Every open session and its counters."""
        return describe_sessions(self)

    def ages_on_arrival(self) -> NDArray[np.int64]:
        """Histogram of the ages of states that were answered on arrival."""
        threads = [s.arrivals for s in list(self.sessions.values()) if s.arrivals is not None]
        return sum((thread.ages for thread in threads), self._ages)

    def statistics(self) -> dict[str, Any]:
        """Ticks, misses and percentiles of lateness, compute time and age, µs."""
        return loop_statistics(self.shared.loop[0], self.ages_on_arrival())
