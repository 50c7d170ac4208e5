"""The daemon: a request socket, a control socket, a telemetry publisher and the servo.

    bytes → codec.decode → operations.run_operation → codec.encode → bytes
    bytes → answering.answer_familiar → bytes      where only the id and the numbers are new

Requests run in the main thread. Control requests run in a thread of their own, so that a look at
the daemon never queues behind work. The servo needs neither.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import zmq

from torqued.client import codec, errors
from torqued.client.codec import LARGEST_MESSAGE, PROTOCOL_VERSION
from torqued.kernels import InputError, Robot
from torqued.kernels.compiled import CompileSummary, compile_all
from torqued.server.familiar import Familiar
from torqued.server.operations import (
    CONTROL_OPERATIONS,
    REQUESTS,
    SESSION_OPERATIONS,
    Refusals,
    checked_fields,
    checked_name,
    run_operation,
)
from torqued.server.runtime import EndpointError, Endpoints, private_folder, realtime
from torqued.server.sessions import Safety, Servo

log = logging.getLogger("torqued")

#: Seconds between telemetry messages.
TELEMETRY_PERIOD = 0.1
#: Milliseconds that last replies and frames have to leave when the daemon stops.
LINGER = 200
#: Longest id that a request may have where it is a text.
LONGEST_ID = 64

Handler = Callable[[Mapping[str, Any]], dict[str, Any]]


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
    ) -> None:
        self.robot = robot
        self.endpoints = endpoints
        private_folder(endpoints.folder)
        self.lock = endpoints.lock()
        endpoints.remove_sockets()  # whoever left them there is dead: the lock is ours
        self.context: zmq.Context[Any] = zmq.Context()
        self.servo = Servo(robot, self.context, endpoints.session, rate, safety or Safety())
        self.servo.settings = lambda: realtime(priority, lock_memory, cpu)
        self.started = time.monotonic()
        self.ready = False
        self.requests = 0
        self.refused = 0
        self.stopping = threading.Event()
        self.request_socket = self._bind(zmq.ROUTER, endpoints.request)
        self.control_socket = self._bind(zmq.ROUTER, endpoints.control)
        self.telemetry_socket = self._bind(zmq.PUB, endpoints.telemetry)
        self.familiar = Familiar(robot, self.request_socket)
        self.control = threading.Thread(target=self._control_loop, name="control", daemon=True)
        self.control.start()

    def _bind(self, kind: int, endpoint: str) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self.context.socket(kind)
        socket.linger = 0
        socket.maxmsgsize = LARGEST_MESSAGE
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            self.context.destroy(linger=0)
            self.lock.close()
            raise EndpointError(f"{endpoint} cannot be had: {error.strerror}") from None
        return socket

    def stop_on_signals(self) -> None:
        """SIGTERM and SIGINT stop the daemon from now on; to be called in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopping.set())

    def prepare(self, report: Callable[[str, int, int], None] | None = None) -> CompileSummary:
        """Compile every kernel and enter the loop; ready afterwards.

        Meanwhile requests are refused as `not_ready`. Raises `Stopped` when told to stop.
        """
        prepared = threading.Event()
        refusing = threading.Thread(target=self._refuse_until, args=(prepared,), name="refusing")

        def go_on(name: str, done: int, total: int) -> None:
            if self.stopping.is_set():
                raise Stopped
            if report:
                report(name, done, total)

        refusing.start()
        try:
            summary = compile_all(go_on)
            self.servo.start()
        except BaseException:
            prepared.set()
            refusing.join()
            self.close()
            raise
        prepared.set()
        refusing.join()  # from here on the request socket belongs to `run`
        self.ready = True
        return summary

    def _refuse_until(self, prepared: threading.Event) -> None:
        while not prepared.is_set():
            if self.request_socket.poll(20):
                self._serve(self.request_socket, self._not_ready)

    def _not_ready(self, message: Mapping[str, Any]) -> dict[str, Any]:
        checked_name(message, REQUESTS)
        raise errors.error("not_ready", "kernels are still being compiled; `ping` says when ready")

    def run(self) -> None:
        """Serve until told to stop."""
        try:
            while not self.stopping.is_set():
                unfamiliar = self.familiar.wait(100)
                if unfamiliar:
                    self._answer(*unfamiliar, self._request)
        finally:
            self.close()

    def close(self) -> None:
        """Stop: every session gets a last frame, files go away."""
        self.stopping.set()
        self.control.join()
        self.servo.stop(LINGER)
        for socket in (self.request_socket, self.control_socket, self.telemetry_socket):
            socket.close(linger=LINGER)
        self.context.term()
        self.endpoints.remove()
        self.lock.close()

    def _serve(self, socket: zmq.Socket[bytes], handle: Handler) -> None:
        """Answer one message. Whatever its bytes are, the daemon goes on."""
        self._answer(socket, socket.recv_multipart(), handle)

    def _answer(self, socket: zmq.Socket[bytes], parts: list[bytes], handle: Handler) -> None:
        *route, data = parts
        identity: int | str | None = None
        try:
            message = codec.decode(data)
            identity = checked_identity(message)
            with Refusals():
                reply = codec.encode(
                    {"protocol": PROTOCOL_VERSION, "id": identity, "ok": True, **handle(message)}
                )
                self.familiar.learn(data, message, reply)
            if len(reply) > LARGEST_MESSAGE:
                raise errors.error(
                    "too_large",
                    f"reply of {len(reply)} bytes, at most {LARGEST_MESSAGE} are allowed: "
                    "ask for less at a time",
                )
        except errors.RequestError as error:
            self.refused += 1
            reply = refusal(identity, error)
        except Exception as error:
            self.refused += 1
            log.exception("request failed")
            reply = refusal(identity, errors.error("internal", f"{type(error).__name__}: {error}"))
        socket.send_multipart([*route, reply])

    def _request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self.requests += 1
        name = checked_name(message, REQUESTS)
        if name in SESSION_OPERATIONS:
            fields = checked_fields(message, *SESSION_OPERATIONS[name])
            return self.servo.open(fields) if name == "open" else self.servo.close(fields)
        result = run_operation(self.robot, name, message)
        if name == "hello":
            result |= self._about()
        return result

    def _about(self) -> dict[str, Any]:
        """What `hello` says of the daemon beside the robot."""
        return {
            "endpoints": {
                "request": self.endpoints.request,
                "control": self.endpoints.control,
                "telemetry": self.endpoints.telemetry,
            },
            "rate": self.servo.statistics()["rate"],
            "realtime": self.servo.granted,
        }

    def _control_loop(self) -> None:
        next_telemetry = time.monotonic()
        while not self.stopping.is_set():
            if self.control_socket.poll(20):
                self._serve(self.control_socket, self._control)
            if time.monotonic() >= next_telemetry:
                next_telemetry = time.monotonic() + TELEMETRY_PERIOD
                self.telemetry_socket.send(
                    codec.encode({"protocol": PROTOCOL_VERSION, **self._stats()})
                )

    def _control(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Introspection and administration."""
        name = checked_name(message, CONTROL_OPERATIONS)
        fields = checked_fields(message, *CONTROL_OPERATIONS[name])
        handlers: dict[str, Callable[[], dict[str, Any]]] = {
            "ping": lambda: {"ready": self.ready, "name": self.robot.name},
            "stats": self._stats,
            "sessions": lambda: {"sessions": self.servo.describe()},
            "log_level": lambda: self._log_level(fields["level"]),
            "shutdown": self._shutdown,
        }
        return handlers[name]()

    def _stats(self) -> dict[str, Any]:
        return {
            "name": self.robot.name,
            "ready": self.ready,
            "uptime": time.monotonic() - self.started,
            "requests": self.requests + self.familiar.answered,
            "refused": self.refused,
            "servo": self.servo.statistics(),
            "sessions": self.servo.describe(),
            "realtime": self.servo.granted,
        }

    def _log_level(self, level: Any) -> dict[str, Any]:
        allowed = ("DEBUG", "INFO", "WARNING", "ERROR")
        if level not in allowed:
            raise InputError(
                f"level: {level!r} is unknown, allowed: {', '.join(allowed)}", "level", level
            )
        log.setLevel(level)
        return {"level": level}

    def _shutdown(self) -> dict[str, Any]:
        self.stopping.set()
        return {}


def checked_identity(message: Mapping[str, Any]) -> int | str | None:
    """The id of a request: a whole number or a short text, which its reply brings back."""
    identity = message.get("id")
    if identity is None or type(identity) is int:
        return identity
    if isinstance(identity, str) and len(identity) <= LONGEST_ID:
        return identity
    raise errors.error(
        "bad_message",
        f"id is {type(identity).__name__}, expected a whole number or at most {LONGEST_ID} "
        "characters",
        field="id",
    )


def refusal(identity: int | str | None, error: errors.RequestError) -> bytes:
    """An error reply."""
    return codec.encode(
        {"protocol": PROTOCOL_VERSION, "id": identity, "ok": False, "error": error.to_map()}
    )
