"""The daemon: a request socket, a control socket, a telemetry publisher and the servo.

    bytes → codec.decode → operations.run_operation → codec.encode → bytes

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
from torqued.server.operations import ENVELOPE, run_operation
from torqued.server.runtime import Endpoints, private_folder, realtime
from torqued.server.sessions import Safety, Servo

log = logging.getLogger("torqued")

#: Seconds between telemetry messages.
TELEMETRY_PERIOD = 0.1

Handler = Callable[[Mapping[str, Any]], dict[str, Any]]


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
        self.context: zmq.Context[Any] = zmq.Context()
        self.servo = Servo(robot, self.context, endpoints.sessions, rate, safety or Safety())
        self.servo.settings = lambda: realtime(priority, lock_memory, cpu)
        self.started = time.monotonic()
        self.ready = False
        self.requests = 0
        self.refused = 0
        self.stopping = threading.Event()
        self.request_socket = self._bind(zmq.ROUTER, endpoints.request)
        self.control_socket = self._bind(zmq.ROUTER, endpoints.control)
        self.telemetry_socket = self._bind(zmq.PUB, endpoints.telemetry)

    def _bind(self, kind: int, endpoint: str) -> zmq.Socket[bytes]:
        socket = self.context.socket(kind)
        socket.linger = 0
        socket.maxmsgsize = LARGEST_MESSAGE
        socket.bind(endpoint)
        return socket

    def prepare(self, report: Callable[[str, int, int], None] | None = None) -> CompileSummary:
        """Compile every kernel and enter the loop; ready afterwards."""
        summary = compile_all(report)
        self.servo.start()
        self.ready = True
        return summary

    def run(self) -> None:
        """Serve until told to stop; then every session gets a last frame and files go away."""
        for number in (signal.SIGTERM, signal.SIGINT):
            if threading.current_thread() is threading.main_thread():
                signal.signal(number, lambda *_: self.stopping.set())
        control = threading.Thread(target=self._control_loop, name="control", daemon=True)
        control.start()
        try:
            while not self.stopping.is_set():
                if self.request_socket.poll(100):
                    self._serve(self.request_socket, self._request)
        finally:
            self.stopping.set()
            control.join()
            self.servo.stop()
            for socket in (self.request_socket, self.control_socket, self.telemetry_socket):
                socket.close()
            self.context.term()
            self.endpoints.remove()
            self.lock.close()

    def _serve(self, socket: zmq.Socket[bytes], handle: Handler) -> None:
        """Answer one message. Whatever its bytes are, the daemon goes on."""
        *route, data = socket.recv_multipart()
        identity: Any = None
        try:
            message = codec.decode(data)
            identity = message.get("id")
            reply = {"ok": True, **handle(message)}
        except errors.RequestError as error:
            self.refused += 1
            reply = {"ok": False, "error": error.to_map()}
        except InputError as error:
            self.refused += 1
            refused = errors.error(
                "bad_field",
                str(error),
                field=error.field,
                value=error.value,
                expected=error.expected,
            )
            reply = {"ok": False, "error": refused.to_map()}
        except Exception as error:
            log.exception("request failed")
            refused = errors.error("internal", f"{type(error).__name__}: {error}")
            reply = {"ok": False, "error": refused.to_map()}
        socket.send_multipart(
            [*route, codec.encode({"protocol": PROTOCOL_VERSION, "id": identity, **reply})]
        )

    def _request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self.requests += 1
        fields = {key: value for key, value in message.items() if key not in ENVELOPE}
        if message.get("op") == "open":
            return self.servo.open(fields)
        if message.get("op") == "close":
            return self.servo.close(fields.get("session"))
        result = run_operation(self.robot, message)
        if message.get("op") == "hello":
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
        operation = message.get("op")
        handlers: dict[str, Callable[[], dict[str, Any]]] = {
            "ping": lambda: {"ready": self.ready, "name": self.robot.name},
            "stats": self._stats,
            "sessions": lambda: {"sessions": self.servo.describe()},
            "log_level": lambda: self._log_level(message.get("level")),
            "shutdown": self._shutdown,
        }
        if message.get("protocol") != PROTOCOL_VERSION:
            raise errors.error(
                "wrong_version",
                f"protocol version {message.get('v')!r}, this daemon speaks {PROTOCOL_VERSION}",
            )
        if operation not in handlers:
            raise errors.error(
                "unknown_operation",
                f"operation {operation!r} is unknown here, allowed: {', '.join(handlers)}",
            )
        return handlers[operation]()

    def _stats(self) -> dict[str, Any]:
        return {
            "uptime": time.monotonic() - self.started,
            "requests": self.requests,
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
