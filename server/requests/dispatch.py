"""From a message to its reply: rights, operation, fields, limits, and where it is carried out.

    bytes → codec.decode → operation → rights → fields → limits → run → codec.encode → bytes

Every message gets a reply, whatever it holds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import zmq

from torqued.client import codec
from torqued.client.requests.operation_table import DAEMON, KERNEL, LOOP, REQUEST
from torqued.common import errors
from torqued.kernels.compilation.jit import MissingKernelError, without_compiling
from torqued.server.access.rate_limits import RequestRate
from torqued.server.access.rights import READ, Caller, check
from torqued.server.requests.limits import MAX_INLINE, check_counts, fits_into_a_reply
from torqued.server.requests.operation import Operation, checked_name
from torqued.server.requests.operations import OPERATIONS, names_on
from torqued.server.requests.outbox import Outbox
from torqued.server.requests.outcomes import OK, UNKNOWN, Outcomes, known_name
from torqued.server.requests.replies import (
    Deferred,
    Identity,
    PendingReply,
    Result,
    as_request_error,
    checked_identity,
    refusal,
    success,
)
from torqued.server.transport.event_loop import EventLoop
from torqued.server.transport.sockets import Arrival
from torqued.server.worker.jobs import Job

if TYPE_CHECKING:
    from torqued.server.daemon import Daemon

log = logging.getLogger("torqued")


class Dispatcher:
    """Answers what comes over one kind of socket. Belongs to the thread of `events`."""

    def __init__(
        self,
        daemon: Daemon,
        socket: str,  # REQUEST or CONTROL
        events: EventLoop,
        rate: RequestRate,
        outboxes: Mapping[Any, Outbox],
    ) -> None:
        self.daemon = daemon
        self.socket = socket
        self.names = names_on(socket)
        self.events = events
        self.rate = rate
        self.outboxes = outboxes
        self.requests = 0
        self.outcomes = Outcomes()

    def answer(self, arrival: Arrival) -> None:
        """Answer one message."""
        identity: Identity = None
        name, outcome = UNKNOWN, OK
        outbox = self.outboxes[arrival.socket]
        try:
            within_rate = self.rate.try_consume(arrival.caller.key)  # garbage counts too
            message = self._decoded(arrival)
            name = known_name(message, self.names)
            identity = checked_identity(message)
            if not within_rate:
                raise self.rate.refusal()
            if outbox.is_full(arrival.route[0]):
                raise errors.error("busy", "replies are waiting to be taken; read them first")
            result = self._result(message, arrival)
            if isinstance(result, Deferred):
                result.begin(self._pending(arrival, identity, name))
                return
            reply = success(identity, result)
        except Exception as error:
            refused = as_request_error(error)
            reply, outcome = refusal(identity, refused), refused.code
        self.outcomes.count(name, outcome)
        outbox.send(arrival.route, reply)

    def _decoded(self, arrival: Arrival) -> dict[str, Any]:
        if arrival.data is None:
            raise errors.error(
                "bad_message",
                "message of too many frames, expected its body, or an empty frame and its body",
            )
        return codec.decode(arrival.data, codec.MAX_MEMBERS)

    def _result(self, message: Mapping[str, Any], arrival: Arrival) -> Result | Deferred:
        caller = arrival.caller
        check(caller, "any request", READ)
        operation = OPERATIONS[checked_name(message, self.names)]
        check(caller, operation.name, operation.right_for(message))
        if self.socket == REQUEST:
            self.requests += 1
            if not self.daemon.ready:
                raise errors.error(
                    "not_ready", "kernels are still being compiled; `ping` says when ready"
                )
        fields = operation.fields_of(message)
        if not self.daemon.background.left:
            return self._carried_out(operation, fields, caller)
        try:
            with without_compiling():
                return self._carried_out(operation, fields, caller)
        except MissingKernelError as error:
            self.daemon.background.ask_for(error.kernel)
            known = self.daemon.kernels
            raise errors.error(
                "not_ready",
                f"{error}, {known['done']} of {known['total']} are; it comes next: ask again",
            ) from error

    def _carried_out(
        self, operation: Operation, fields: Mapping[str, Any], caller: Caller
    ) -> Result | Deferred:
        """The result of an operation; `Deferred` if another process computes it."""
        if operation.carried_out_by == DAEMON:
            return operation.run(self.daemon, fields, caller)  # type: ignore[no-any-return]
        check_counts(fields)
        if operation.carried_out_by == LOOP:
            return operation.run(self.daemon.servo, fields, caller)  # type: ignore[no-any-return]
        if self._is_short(operation, fields):
            return operation.run(self.daemon.robot, fields)  # type: ignore[no-any-return]
        return Deferred(lambda pending: self._submit(operation, fields, pending))

    def _is_short(self, operation: Operation, fields: Mapping[str, Any]) -> bool:
        """Whether the main thread carries it out; refuses results that are too large to send."""
        if operation.cost is None:
            return operation.carried_out_by == KERNEL
        cost = operation.cost(self.daemon.robot, fields)
        fits_into_a_reply(cost.reply)
        return cost.seconds <= MAX_INLINE

    def _submit(
        self, operation: Operation, fields: Mapping[str, Any], pending: PendingReply
    ) -> None:
        """Submit to the worker, whose reply is passed on unchanged."""

        def finish(head: Mapping[str, Any], reply: zmq.Frame) -> None:
            pending.send(reply, OK if head["ok"] else head["code"])

        inner = fields.get("operation")  # of a batch
        title = f"{operation.name} of {inner}" if inner else operation.name
        self.daemon.worker.submit(
            Job(
                *(title, "compute", pending.client, pending.identity, pending.data),
                finish=finish,
                fail=pending.refuse,
                memory=self.daemon.memories.of(fields),
            )
        )

    def _pending(self, arrival: Arrival, identity: Identity, name: str) -> PendingReply:
        outbox, route = self.outboxes[arrival.socket], arrival.route

        def deliver(reply: bytes | zmq.Frame, outcome: str) -> None:
            def send() -> None:
                self.outcomes.count(name, outcome)
                outbox.send(route, reply)

            self.events.do(send)

        assert arrival.data is not None  # it has been read
        return PendingReply(identity, (id(outbox), *route), arrival.data, deliver)
