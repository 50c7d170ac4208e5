"""A daemon's dispatch without its sockets: messages in, replies out, in one thread."""

from types import SimpleNamespace

import numpy as np

from torqued.client import codec
from torqued.client.requests.operation_table import CONTROL, REQUEST, WORKER
from torqued.server.access.rate_limits import RequestRate
from torqued.server.access.rights import ADMINISTRATE, Caller
from torqued.server.observation.observation import Observation
from torqued.server.requests.dispatch import Dispatcher
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.replies import as_request_error, refusal, success
from torqued.server.transport.sockets import Arrival


class Collected:
    """In place of an outbox."""

    unsent = 0
    full = False

    def __init__(self):
        self.replies = []

    def is_full(self, connection):
        return self.full

    def send(self, route, reply):
        self.replies.append(bytes(reply))


class Servo:
    """A loop that is not run: sessions are refused as a daemon without places does."""

    def __init__(self):
        self.granted = {}
        stopped = {"stopped": False}
        self.orders = SimpleNamespace(stop=lambda *_: stopped, recover=lambda *_: stopped)

    def statistics(self):
        return {"rate": 1000.0, "deadline": 0.0}

    def describe(self):
        return []


class InlineWorker:
    """Computes at once what a worker process would."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.jobs = []

    def statistics(self):
        return {}

    def submit(self, job):
        self.jobs.append(job.operation)
        message = codec.decode(job.body)
        operation = OPERATIONS[message["op"]]
        arguments = (lambda done, total: None,) if operation.carried_out_by == WORKER else ()
        try:
            fields = operation.fields_of(message)
            reply = success(job.identity, operation.compute(self.daemon.robot, fields, *arguments))
        except Exception as error:
            refused = as_request_error(error)
            head = {"ok": False, "code": refused.code}
            job.finish(head, refusal(job.identity, refused))
        else:
            job.finish({"ok": True}, reply)


class InProcess:
    """Everything of a daemon that answers messages."""

    def __init__(self, robot, servo=None):
        self.robot, self.ready, self.source = robot, True, None
        self.started, self.kernels = 0.0, {"kernel": "", "done": 0, "total": 0}
        self.background = SimpleNamespace(left=0)
        self.endpoints = SimpleNamespace(name="me")
        self.servo = servo or Servo()
        self.observation = Observation()
        self.worker = InlineWorker(self)
        self.memories = SimpleNamespace(of=lambda fields: None)  # the worker knows none
        self.events = SimpleNamespace(hand_over=lambda task: task(), do=lambda task: task())
        self.outbox = Collected()
        self.outboxes = {None: self.outbox}
        rate = RequestRate(1e9)
        arguments = (self.events, rate, self.outboxes)
        self.request_dispatch = Dispatcher(self, REQUEST, *arguments)
        self.control_dispatch = Dispatcher(self, CONTROL, *arguments)
        transport = SimpleNamespace(reached_by=dict)
        self.caller = Caller(b"me", "me", ADMINISTRATE, transport)
        self.stopped = False

    def stop(self):
        self.stopped = True

    def answer(self, data, socket=REQUEST, caller=None):
        """The decoded reply to some bytes."""
        dispatch = self.request_dispatch if socket == REQUEST else self.control_dispatch
        with np.errstate(all="ignore"):
            dispatch.answer(Arrival(None, [b"me"], data, caller or self.caller))
        (reply,) = self.outbox.replies
        self.outbox.replies.clear()
        return codec.decode(reply)

    def ask(self, name, **fields):
        """The decoded reply to a request."""
        return self.answer(codec.request(1, name, fields), OPERATIONS[name].socket)
