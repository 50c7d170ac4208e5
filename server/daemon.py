"""The daemon: its sockets, the servo and the worker; started, run and stopped.

The main thread answers requests (server/requests/dispatch.py). Another thread answers control
requests, so that introspection never queues behind work. The servo needs neither. Long work goes to
a worker process and is answered when it is done.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import zmq

from torqued.client import codec
from torqued.client.codec import PROTOCOL_VERSION
from torqued.client.requests.operation_table import CONTROL, REQUEST
from torqued.kernels import Robot
from torqued.kernels.compilation.background import Background
from torqued.kernels.compilation.entries import (
    CompileSummary,
    Report,
    can_be_handed_on,
    compile_all,
)
from torqued.kernels.compilation.jit import is_cached
from torqued.server import kernels_needed
from torqued.server.access.rate_limits import Limits, RequestRate
from torqued.server.access.rights import may_keep
from torqued.server.loop.libzmq_check import require_libzmq
from torqued.server.loop.links import MAX_SPINNING, checked_spin
from torqued.server.loop.realtime import realtime
from torqued.server.loop.servo import Servo
from torqued.server.loop.session import Safety
from torqued.server.observation.flight import FlightRecorder
from torqued.server.observation.observation import Observation
from torqued.server.observation.ring import DEFAULT_SIZE
from torqued.server.requests.administration import statistics
from torqued.server.requests.dispatch import Dispatcher
from torqued.server.requests.outbox import Outbox
from torqued.server.session_events import SessionEvents, write
from torqued.server.transport.endpoints import EndpointError, Endpoints, private_folder
from torqued.server.transport.event_loop import EventLoop
from torqued.server.transport.framing import Inbox
from torqued.server.transport.listeners import Listeners
from torqued.server.transport.memory_pages import MemoryPages
from torqued.server.transport.session_context import SessionContext
from torqued.server.transport.sockets import LocalTransport, TcpTransport, Transport
from torqued.server.worker.memories import ClientMemories
from torqued.server.worker.source import Source
from torqued.server.worker.worker import Worker

log = logging.getLogger("torqued")

#: Seconds between telemetry messages.
TELEMETRY_PERIOD = 0.1
#: Milliseconds for last replies and frames to leave when the daemon stops.
LINGER = 200
#: Milliseconds between checks of things that wake no thread; and while replies or last frames wait
#: that did not fit into their connections.
POLL_INTERVAL, RETRY_DELAY = 100, 5


class Stopped(Exception):
    """The daemon was asked to stop before it was ready."""


class Daemon:
    """One robot, served."""

    def __init__(
        self,
        robot: Robot,
        endpoints: Endpoints,
        rate: float = 1000.0,
        safety: Safety | None = None,
        priority: int = 0,
        lock_memory: bool = False,
        cpu: int | None = None,
        source: Source | None = None,
        tcp: TcpTransport | None = None,
        limits: Limits | None = None,
        ring_size: int = DEFAULT_SIZE,
        flight: FlightRecorder | None = None,
        spin: float = 0.0,
        laws: Sequence[str] = (),
    ) -> None:
        checked_spin(spin, MAX_SPINNING / rate)  # before there is anything to undo
        self.robot = robot
        self.source = source  # to load the robot again
        self.newest_reload: object = None  # worker/reload.py
        self.endpoints = endpoints
        self.cpu = cpu  # the loop's, where it has one
        self.laws = laws  # compiled before it is ready
        self.listeners = Listeners()
        private_folder(endpoints.folder, endpoints.group)
        limits = limits or Limits()
        self.lock = endpoints.lock()
        endpoints.remove_sockets()  # of a dead daemon: the lock is ours
        self.context: zmq.Context[Any] = zmq.Context()
        self.session_context = SessionContext()
        self.observation = Observation(endpoints, ring_size, rate, cpu)
        self.describe_robot()
        self.flight = flight  # a recorder beside the daemon
        self.servo = Servo(
            robot,
            self.session_context.context,
            rate,
            safety or Safety(),
            limits.sessions,
            self.observation,
            spin,
        )
        io_thread = self.session_context.io_thread
        self.servo.settings = lambda: realtime(priority, lock_memory, cpu, io_thread)
        # One below the loop, as the I/O thread, and on any processor: the loop's may be busy.
        below = max(1, priority - 1) if priority else 0
        self.servo.arrival_settings = lambda: realtime(below, False, None)
        self.servo.is_realtime = priority > 0
        self.started = time.monotonic()
        self.ready = False
        self.preparing: dict[str, Any] = {"kernel": "", "done": 0, "total": 0}
        self.background = Background([])  # kernels that follow when it is ready
        self.stopping = False
        self.access_changed = threading.Event()
        self.events, self.control_events = EventLoop(), EventLoop()
        self.transports: list[Transport] = [LocalTransport(endpoints), *([tcp] if tcp else [])]
        self._bind()
        self.transports[0].pages = self.pages
        self.outboxes: dict[Any, Outbox] = {
            socket: Outbox(socket)
            for transport in self.transports
            for socket in (transport.request, transport.control)
        }
        self.worker = Worker(self.events, robot.model, cpu)
        self.memories = ClientMemories(self.events, self.worker.forget)
        self.pages.take_memory = self.memories.take
        request_rate = RequestRate(limits.request_rate)
        self.request_dispatch = Dispatcher(self, REQUEST, self.events, request_rate, self.outboxes)
        self.control_dispatch = Dispatcher(
            self, CONTROL, self.control_events, request_rate, self.outboxes
        )
        for transport in self.transports:
            answer_messages(transport, transport.request, self.request_dispatch)
            answer_messages(transport, transport.control, self.control_dispatch)
        self.control = threading.Thread(target=self._control_loop, name="control", daemon=True)
        self.control.start()

    def describe_robot(self) -> None:
        """Describe the robot to observers."""
        source = self.source.description() if self.source else {}
        self.observation.describe_robot(self.robot, source)

    def _bind(self) -> None:
        try:
            for transport in self.transports:
                transport.bind(self.context, self.session_context.context, self.listeners)
            self.pages = MemoryPages(self.endpoints, self.events, self.listeners.is_crowded)
        except EndpointError:
            self.listeners.close()
            self.context.destroy(linger=0)
            self.session_context.close()
            self.observation.close()
            self.endpoints.remove()
            self.lock.close()
            raise

    def stop_on_signals(self) -> None:
        """SIGTERM, SIGINT and SIGHUP stop the daemon from now on; for the main thread to call.

        Under `nohup`, which has SIGHUP ignored, it stays so.
        """
        numbers = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        for number in numbers:
            signal.signal(number, lambda *_: self.stop())

    def stop(self) -> None:
        """Ask the daemon to stop, without a lock: from any thread, and from a signal handler."""
        self.stopping = True
        self.events.wake()

    def prepare(self, report: Report | None = None) -> CompileSummary:
        """Compile what is needed first and enter the loop; ready afterwards.

        Meanwhile requests are refused as `not_ready`. Another process compiles all other kernels
        into the cache; without a cache they are compiled first as well. Raises `Stopped` when
        asked to stop.
        """
        needed, others = kernels_needed.needed(self.laws), kernels_needed.others(self.laws)
        if not can_be_handed_on():
            needed += [name for name in others if not is_cached(name)]
            others = [name for name in others if name not in needed]
        total = len(needed) + len(others)
        prepared = threading.Event()
        refusing = threading.Thread(target=self._refuse_until, args=(prepared,), name="refusing")

        def go_on(name: str, done: int, of_needed: int, left: float) -> None:
            if self.stopping:
                raise Stopped
            self.preparing = {"kernel": name, "done": done, "total": total}
            if report:
                report(name, done, of_needed, left)

        refusing.start()
        try:
            summary = compile_all(go_on, needed)
            require_libzmq()
            self.servo.start()
        except BaseException:
            prepared.set()
            refusing.join()
            self.close()
            raise
        prepared.set()
        refusing.join()  # from here on the request sockets belong to `run`
        self.servo.wait_for_settings()  # memory that is locked is all there from then on
        self.ready = True
        self.background = Background(others, self.cpu)
        self.background.start()
        if self.flight and self.observation.ring:
            self.flight.start()
        return summary

    @property
    def kernels(self) -> dict[str, Any]:
        """How many kernels are ready, of how many, and which is next."""
        if not self.ready:
            return self.preparing
        total, left = self.preparing["total"], self.background.left
        return {"kernel": self.background.next, "done": total - left, "total": total}

    def _refuse_until(self, prepared: threading.Event) -> None:
        while not prepared.is_set():
            self.events.wait(20)
            self._flush()

    @np.errstate(all="ignore")  # what overflows in an operation is found in its results
    def run(self) -> None:
        """Serve until asked to stop."""
        try:
            while not self.stopping:
                waiting = [self._flush(), self.servo.last_frames.flush()]
                self.events.wait(RETRY_DELAY if any(waiting) else POLL_INTERVAL)
                if self.access_changed.is_set():
                    self._end_revoked()
                self.servo.end_abandoned()
                if self.flight and self.observation.ring:
                    self.flight.check()
        finally:
            self.close()

    def _flush(self) -> bool:
        """Send waiting replies for which there is room now; whether some are left."""
        return flush([self.outboxes[transport.request] for transport in self.transports])

    def _end_revoked(self) -> None:
        """End the sessions whose clients have lost their right."""
        self.access_changed.clear()
        self.servo.end_where(lambda session: not may_keep(session.caller, session.controller.name))

    def close(self) -> None:
        """Stop: every session gets a last frame, files go away."""
        self.stopping = True
        self.control_events.wake()
        self.control.join()
        self.background.close()
        self.servo.stop(LINGER)
        if self.flight:
            self.flight.close()  # after the loop's last record
        self.pages.close()
        self.worker.close()
        self.memories.close()
        for events in (self.events, self.control_events):
            events.finish()  # sends replies that were handed over
            events.close()
        for transport in self.transports:
            transport.close(LINGER)
        self.listeners.close()
        self.session_context.close()
        self.context.term()
        self.observation.close()
        self.endpoints.remove()
        self.lock.close()

    def _control_loop(self) -> None:
        next_telemetry = time.monotonic()
        session_events = SessionEvents()
        outboxes = [self.outboxes[transport.control] for transport in self.transports]
        while not self.stopping:
            self.control_events.wait(RETRY_DELAY if flush(outboxes) else 20)
            if time.monotonic() >= next_telemetry:
                next_telemetry = time.monotonic() + TELEMETRY_PERIOD
                stats = statistics(self)
                write(session_events.update(stats["sessions"]))
                message = codec.encode({"protocol": PROTOCOL_VERSION, **stats})
                for transport in self.transports:
                    transport.publish(message)
            if any([transport.refresh() for transport in self.transports]):
                self.access_changed.set()


def answer_messages(transport: Transport, socket: zmq.Socket[bytes], dispatch: Dispatcher) -> None:
    """Have a dispatcher answer what comes over a socket, in the thread of its event loop."""
    inbox = Inbox(socket)

    def answer() -> None:
        message = inbox.receive()
        if message is not None:
            dispatch.answer(transport.arrival(socket, message))

    dispatch.events.add(socket, answer)


def flush(outboxes: list[Outbox]) -> bool:
    """Send waiting replies for which there is room now; whether some are left."""
    for outbox in outboxes:
        outbox.flush()
    return any(outbox.is_waiting for outbox in outboxes)
