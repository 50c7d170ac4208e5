"""The daemon: a request socket, a control socket, a telemetry publisher and the servo.

    bytes → codec.decode → operations.run_operation → codec.encode → bytes
    bytes → answering.answer_familiar → bytes      where only the id and the numbers are new

Requests run in the main thread. Control requests run in a thread of their own, so that a look at
the daemon never queues behind work. The servo needs neither. What takes long goes to a worker
process, and is answered when it is done.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import zmq

from torqued.client import codec, errors
from torqued.client.codec import PROTOCOL_VERSION
from torqued.kernels import InputError, Robot
from torqued.kernels.compilation.entries import CompileSummary, compile_all
from torqued.server.access.rate_limits import Limits, RequestRate
from torqued.server.access.rights import Caller, check, may_keep
from torqued.server.loop.libzmq_check import require_libzmq
from torqued.server.loop.realtime import realtime
from torqued.server.loop.servo import Safety, Servo
from torqued.server.requests.batch import checked_batch
from torqued.server.requests.fast_path import Familiar
from torqued.server.requests.operations import (
    CONTROL_OPERATIONS,
    REQUESTS,
    SESSION_OPERATIONS,
    WORKER_OPERATIONS,
    Refusals,
    checked_fields,
    checked_name,
    run_operation,
)
from torqued.server.requests.replies import (
    Envelope,
    Later,
    as_request_error,
    checked_identity,
    refusal,
    success,
)
from torqued.server.transport.endpoints import EndpointError, Endpoints, private_folder
from torqued.server.transport.event_loop import Waiting
from torqued.server.transport.listeners import Listeners
from torqued.server.transport.session_context import SessionContext
from torqued.server.transport.sockets import Arrival, LocalTransport, TcpTransport, Transport
from torqued.server.worker.reload import Reload
from torqued.server.worker.source import Source
from torqued.server.worker.worker import Job, Worker

log = logging.getLogger("torqued")

#: Seconds between telemetry messages.
TELEMETRY_PERIOD = 0.1
#: Milliseconds that last replies and frames have to leave when the daemon stops.
LINGER = 200
#: Seconds after which a flood of requests lets other things have their turn.
LOOK_AROUND = 0.002

Handler = Callable[[Mapping[str, Any], Caller], dict[str, Any] | Later]


class Stopped(Exception):
    """The daemon was told to stop before it was ready."""


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
    ) -> None:
        self.robot = robot
        self.source = source  # to load the robot anew
        self.endpoints = endpoints
        self.listeners = Listeners(with_tcp=tcp is not None)
        private_folder(endpoints.folder, endpoints.group)
        limits = limits or Limits()
        self.lock = endpoints.lock()
        endpoints.remove_sockets()  # whoever left them there is dead: the lock is ours
        self.context: zmq.Context[Any] = zmq.Context()
        self.session_context = SessionContext()
        self.servo = Servo(
            robot, self.session_context.context, rate, safety or Safety(), limits.sessions
        )
        io_thread = self.session_context.io_thread
        self.servo.settings = lambda: realtime(priority, lock_memory, cpu, io_thread)
        self.started = time.monotonic()
        self.ready = False
        self.requests = 0
        self.refused = 0
        self.preparing = {"kernel": "", "done": 0, "total": 0}
        self.stopping = threading.Event()
        self.access_changed = threading.Event()
        self.request_rate = RequestRate(limits.request_rate)
        self.answer: Handler = self._not_ready  # what requests are answered by
        self.waiting, self.control_waiting = Waiting(), Waiting()
        self.transports: list[Transport] = [LocalTransport(endpoints), *([tcp] if tcp else [])]
        self._bind()
        self.worker = Worker(self.context, endpoints.worker, self.waiting, robot.model, cpu)
        # Compiled answers know of no rights and count no requests.
        self.familiar_transports = {
            transport.request: transport
            for transport in self.transports
            if transport.all_are_equal and limits.request_rate >= Limits.request_rate
        }
        self.familiar = Familiar(robot)
        self._look_around = 0.0
        self.control = threading.Thread(target=self._control_loop, name="control", daemon=True)
        self.control.start()

    def _bind(self) -> None:
        try:
            for transport in self.transports:
                transport.bind(self.context, self.session_context.context, self.listeners)
        except EndpointError:
            self.listeners.close()
            self.context.destroy(linger=0)
            self.session_context.close()
            self.endpoints.remove()
            self.lock.close()
            raise
        for transport in self.transports:
            self.waiting.add(transport.request, partial(self._answer_request, transport))
            self.control_waiting.add(transport.control, partial(self._answer_control, transport))

    def _answer_request(self, transport: Transport) -> None:
        self._answer(transport.receive(transport.request), self.answer, self.waiting)

    def _answer_control(self, transport: Transport) -> None:
        self._answer(transport.receive(transport.control), self._control, self.control_waiting)

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
        """Have the daemon stop; from any thread."""
        self.stopping.set()
        self.waiting.wake()

    def prepare(self, report: Callable[[str, int, int], None] | None = None) -> CompileSummary:
        """Compile every kernel and enter the loop; ready afterwards.

        Meanwhile requests are refused as `not_ready`. Raises `Stopped` when told to stop.
        """
        prepared = threading.Event()
        refusing = threading.Thread(target=self._refuse_until, args=(prepared,), name="refusing")

        def go_on(name: str, done: int, total: int) -> None:
            if self.stopping.is_set():
                raise Stopped
            self.preparing = {"kernel": name, "done": done, "total": total}
            if report:
                report(name, done, total)

        refusing.start()
        try:
            summary = compile_all(go_on)
            require_libzmq()
            self.servo.start()
        except BaseException:
            prepared.set()
            refusing.join()
            self.close()
            raise
        prepared.set()
        refusing.join()  # from here on the request sockets belong to `run`
        self.answer = self._request
        self.ready = True
        return summary

    def _refuse_until(self, prepared: threading.Event) -> None:
        while not prepared.is_set():
            self.waiting.wait(20)

    def _not_ready(self, message: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        checked_name(message, REQUESTS)
        raise errors.error("not_ready", "kernels are still being compiled; `ping` says when ready")

    def run(self) -> None:
        """Serve until told to stop."""
        try:
            while not self.stopping.is_set():
                self._wait(100)
                if self.access_changed.is_set():
                    self._end_revoked()
        finally:
            self.close()

    def _wait(self, milliseconds: int) -> None:
        """See to whatever comes within that time; familiar requests take the compiled way."""
        if self.waiting.changed:
            self.waiting.changed = False
            others = [
                source for source in self.waiting.sources if source not in self.familiar_transports
            ]
            self.familiar.watch(list(self.familiar_transports), others)
        unfamiliar = self.familiar.wait(milliseconds)
        if unfamiliar:
            socket, parts = unfamiliar
            arrival = self.familiar_transports[socket].arrival(socket, parts)
            self._answer(arrival, self.answer, self.waiting)
        if not unfamiliar or time.monotonic() > self._look_around:
            self._look_around = time.monotonic() + LOOK_AROUND
            self.waiting.wait(0)

    def _end_revoked(self) -> None:
        """End the sessions whose clients have lost the right to them."""
        self.access_changed.clear()
        self.servo.end_where(lambda session: not may_keep(session.caller, session.controller.name))

    def close(self) -> None:
        """Stop: every session gets a last frame, files go away."""
        self.stopping.set()
        self.control_waiting.wake()
        self.control.join()
        self.servo.stop(LINGER)
        self.worker.close()
        for waiting in (self.waiting, self.control_waiting):
            waiting.finish()  # replies that have been handed over
            waiting.close()
        for transport in self.transports:
            transport.close(LINGER)
        self.listeners.close()
        self.session_context.close()
        self.context.term()
        self.endpoints.remove()
        self.lock.close()

    def _answer(self, arrival: Arrival, handle: Handler, waiting: Waiting) -> None:
        """Answer one message. Whatever its bytes are, the daemon goes on."""
        socket, route, data, caller = arrival
        identity: int | str | None = None
        try:
            message = codec.decode(data)
            identity = checked_identity(message)
            self.request_rate.count(caller.key)
            check(caller, message)
            with Refusals():
                result = handle(message, caller)
                if isinstance(result, Later):
                    result.begin(Envelope(socket, waiting, route, identity, data))
                    return
            reply = success(identity, result)
            if socket in self.familiar_transports:
                self.familiar.learn(data, message, reply)
        except Exception as error:
            self.refused += 1
            reply = refusal(identity, as_request_error(error))
        socket.send_multipart([*route, reply])

    def _request(self, message: Mapping[str, Any], caller: Caller) -> dict[str, Any] | Later:
        self.requests += 1
        name = checked_name(message, REQUESTS)
        if name in WORKER_OPERATIONS:
            operation, _ = checked_batch(checked_fields(message, *WORKER_OPERATIONS[name]))
            return Later(lambda envelope: self._batch(operation, envelope))
        if name in SESSION_OPERATIONS:
            fields = checked_fields(message, *SESSION_OPERATIONS[name])
            handlers = {"open": self.servo.open, "tune": self.servo.tune, "close": self.servo.close}
            return handlers[name](fields, caller)
        result = run_operation(self.robot, name, message)
        if name == "hello":
            result |= self._about(caller)
        return result

    def _batch(self, operation: str, envelope: Envelope) -> None:
        """Have the worker compute a batch; its reply is passed on as it comes."""

        def finish(head: Mapping[str, Any], reply: zmq.Frame) -> None:
            self.refused += not head["ok"]
            envelope.send(reply)

        name, data = f"batch of {operation}", envelope.data
        self.worker.submit(Job(name, "batch", envelope.identity, data, finish, envelope.refuse))

    def _about(self, caller: Caller) -> dict[str, Any]:
        """What `hello` says of the daemon beside the robot."""
        return {
            "endpoints": caller.transport.reached_by(),
            "rights": caller.right,
            "rate": self.servo.statistics()["rate"],
            "realtime": self.servo.granted,
        }

    def _control_loop(self) -> None:
        next_telemetry = time.monotonic()
        while not self.stopping.is_set():
            self.control_waiting.wait(20)
            if time.monotonic() >= next_telemetry:
                next_telemetry = time.monotonic() + TELEMETRY_PERIOD
                statistics = codec.encode({"protocol": PROTOCOL_VERSION, **self._stats()})
                for transport in self.transports:
                    transport.publish(statistics)
            if any([transport.refresh() for transport in self.transports]):
                self.access_changed.set()

    def _control(self, message: Mapping[str, Any], caller: Caller) -> dict[str, Any] | Later:
        """Introspection and administration."""
        name = checked_name(message, CONTROL_OPERATIONS)
        fields = checked_fields(message, *CONTROL_OPERATIONS[name])
        handlers: dict[str, Callable[[], dict[str, Any] | Later]] = {
            "ping": lambda: {"ready": self.ready, **self._names()},
            "stats": self._stats,
            "sessions": lambda: {"sessions": self.servo.describe()},
            "reload": self._reload,
            "log_level": lambda: self._log_level(fields["level"]),
            "shutdown": self._shutdown,
        }
        return handlers[name]()

    def _names(self) -> dict[str, str]:
        """What the daemon is called by those who connect to it, and its robot by its makers."""
        return {"name": self.endpoints.name, "robot": self.robot.name}

    def _stats(self) -> dict[str, Any]:
        return {
            **self._names(),
            "ready": self.ready,
            "uptime": time.monotonic() - self.started,
            "requests": self.requests + self.familiar.answered,
            "refused": self.refused,
            "servo": self.servo.statistics(),
            "sessions": self.servo.describe(),
            "realtime": self.servo.granted,
            "kernels": self.preparing,
            "worker": self.worker.statistics(),
        }

    def _reload(self) -> Later:
        """Load the robot anew, in the worker; see reloading.py."""
        if not self.ready:
            raise errors.error("not_ready", "kernels are still being compiled")
        return Later(
            lambda envelope: self.waiting.hand_over(lambda: Reload(self, envelope).begin())
        )

    def _log_level(self, level: Any) -> dict[str, Any]:
        allowed = ("DEBUG", "INFO", "WARNING", "ERROR")
        if level not in allowed:
            raise InputError(
                f"level: {level!r} is unknown, allowed: {', '.join(allowed)}", "level", level
            )
        log.setLevel(level)
        return {"level": level}

    def _shutdown(self) -> dict[str, Any]:
        self.stop()
        return {}
