"""`torqued stream` packs what somebody listens to, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import msgpack
import numpy as np
import pytest
import zmq

from support.eventually import eventually
from torqued.server.observation.layout import TICK_HEAD
from torqued.tools.recording.reader import Batch
from torqued.tools.recording.session_layout import session_info
from torqued.tools.viewers.stream import Stream

#: Ends a stream while its subscribers leave, with messages under way to each.
ENDS_AS_ALL_LEAVE = """
import zmq
from test_stream import Ticks, reader_of_two_sessions
from torqued.tools.viewers.stream import Stream

for _ in range(50):
    reader = reader_of_two_sessions()
    stream, ticks = Stream(reader, "tcp://127.0.0.1:*", 1000.0), Ticks(reader)
    with zmq.Context() as context:
        subscribers = [context.socket(zmq.SUB) for _ in range(10)]
        for socket in subscribers:
            socket.linger = 0
            socket.connect(stream.endpoint)
            socket.subscribe(b"")
        while not all(socket.poll(0) for socket in subscribers):
            stream.publish(ticks())
        for _ in range(500):
            stream.publish(ticks())
        for socket in subscribers:
            socket.close()
        stream.close()
"""


def info(number, law):
    part = {"name": "tau", "shape": [2], "offset": TICK_HEAD.itemsize, "unit": "N m"}
    return session_info(
        {
            **{"session": number, "law": law, "client": "me", "opened": 0.0, "closed": None},
            **{"gains": {}, "state": [], "references": [], "outputs": [part]},
            "record_bytes": TICK_HEAD.itemsize + 16,
        }
    )


def reader_of_two_sessions():
    sessions = {1: info(1, "pd"), 2: info(2, "gravity")}
    robot = {"joints": ["a", "b"], "base": "fixed", "nq": 2, "nv": 2}
    return SimpleNamespace(name="arm", sessions=sessions, robot=robot)


@pytest.fixture
def reader():
    return reader_of_two_sessions()


@pytest.fixture
def stream(reader):
    found = Stream(reader, "tcp://127.0.0.1:*", 1000.0)
    yield found
    found.close()


class Ticks:
    """Batches with one tick of each session, a period later each time."""

    def __init__(self, reader):
        self.reader, self.time = reader, 0

    def __call__(self):
        self.time += 2_000_000
        found = Batch()
        for number, session in self.reader.sessions.items():
            tick = np.zeros(1, session.dtype)
            tick["time"], tick["tau"] = self.time, (1.0, 2.0)
            found.ticks[number] = tick
        return found


def test_nothing_is_packed_while_nobody_listens(stream, reader):
    ticks = Ticks(reader)
    for _ in range(10):
        stream.publish(ticks())
    assert stream.sent == 0


def test_only_topics_that_were_asked_for_are_packed_and_only_while_they_are(stream, reader):
    ticks = Ticks(reader)

    def publish():
        before = stream.sent
        stream.publish(ticks())
        return stream.sent - before

    with zmq.Context() as context:
        with context.socket(zmq.SUB) as socket:
            socket.linger, socket.rcvtimeo = 0, 60_000
            socket.connect(stream.endpoint)
            socket.subscribe(b"arm/pd/")
            assert eventually(publish) == 1
            topic, body, _ = socket.recv_multipart()
            assert topic == b"arm/pd/1" and msgpack.unpackb(body)["tau"] == {"a": 1.0, "b": 2.0}
            socket.subscribe(b"")
            eventually(lambda: publish() == 2)
            socket.unsubscribe(b"")
            eventually(lambda: publish() == 1)
        eventually(lambda: publish() == 0)


def test_stream_ends_in_order_while_its_subscribers_leave():
    """libzmq aborted the process where it was to drop the rest of a message just then."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_AS_ALL_LEAVE],
        cwd=Path(__file__).parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
