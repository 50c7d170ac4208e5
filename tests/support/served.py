"""Sessions of a loop in this process, with every tick of theirs out of its ring."""

from contextlib import contextmanager

import numpy as np
import zmq

from support.eventually import PATIENCE
from torqued.client.sessions.session import Session
from torqued.server.access.rights import Caller
from torqued.server.loop.servo import Servo
from torqued.server.loop.session import Safety
from torqued.server.observation.observation import Observation
from torqued.server.transport.endpoints import Endpoints
from torqued.server.transport.listeners import Listeners
from torqued.server.transport.sockets import LocalTransport, Transport
from torqued.tools.recording.reader import Reader
from torqued.tools.recording.recording import RecordedSession


class Inside(LocalTransport):
    """A transport to this process alone."""

    def __init__(self):
        Transport.__init__(self, "inproc://requests")
        self.listeners = Listeners()

    def _bind_session(self, socket, number, caller):
        socket.bind(f"inproc://{number}")
        return {"endpoint": f"inproc://{number}"}

    def end_session(self, number):
        pass


class Served:
    """A loop that runs."""

    def __init__(self, robot, folder, context, size=64):
        folder.chmod(0o700)
        self.context = context
        self.observation = Observation(Endpoints(folder, "robot"), size, 1000.0)
        self.observation.describe_robot(robot, {})
        self.servo = Servo(
            robot, context, 1000.0, Safety(stale_after=60.0), observation=self.observation
        )
        self.servo.start()
        self.reader = Reader("robot", folder)
        self.caller = Caller(b"me", "me", "administrate", Inside())
        self.batches = []

    def call(self, operation, **fields):
        """What sessions ask of a daemon."""
        servo = self.servo
        run = {
            "tune": servo.tune,
            "payload": servo.payload,
            "close": servo.close,
            "resume": servo.orders.resume,
            "hold": servo.orders.hold,
            "stop": servo.orders.stop,
        }[operation]
        return run(fields, self.caller)

    @contextmanager
    def session(self, law, **fields):
        opened = self.servo.open({"law": law, **fields}, self.caller)

        def call(operation, *_, **given):
            return self.call(operation, **given)

        with Session(self.context, opened, call, "inproc:", timeout=PATIENCE) as session:
            yield session

    def take(self):
        """Poll until there is nothing more."""
        while batch := self.reader.poll():
            self.batches.append(batch)

    def recorded(self, number):
        """What a recording of that session would have."""
        self.take()
        batches = self.batches
        ticks = [batch.ticks[number] for batch in batches if number in batch.ticks]
        session = RecordedSession(self.reader.sessions[number], np.concatenate(ticks))
        session.gains = [v for b in batches for v in b.gains if v.session == number]
        session.loads = [v for b in batches for v in b.loads if v.session == number]
        return session

    def close(self):
        self.servo.stop(0)
        self.reader.close()
        self.observation.close()


@contextmanager
def serving(robot, folder):
    with zmq.Context() as context:
        served = Served(robot, folder, context)
        try:
            yield served
        finally:
            served.close()
