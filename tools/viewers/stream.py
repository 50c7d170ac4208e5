"""Ticks as plain msgpack maps on a PUB socket: what PlotJuggler's ZMQ Subscriber takes as it is.

A message has three frames: topic `ROBOT/LAW/SESSION`, a map of numbers by name, and the time in
seconds since 1970 as text. Arrays are maps too, by joint where they have a number for each.
"""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import zmq

from torqued.tools.recording.reader import Batch, Reader
from torqued.tools.recording.session_layout import SessionInfo, joints_of, titles
from torqued.tools.viewers.following import since_1970

#: Messages that wait for a subscriber; those after them are dropped.
QUEUE = 1000
#: ms that messages have to leave at the end. Not 0: libzmq 4.3.5 aborts the process if it is to
#: drop the rest of a message of several frames and its subscriber leaves in that moment
#: (errno_assert in `clean_pipes` of its session_base.cpp).
LINGER = 200
#: Times of a tick, ns, that are sent as µs.
TIMES = ("age", "compute")


class Stream:
    """Publishes what comes out of a ring, at most `rate` times a second for each session."""

    def __init__(self, reader: Reader, endpoint: str, rate: float) -> None:
        self.reader = reader
        self.rate = rate
        self.sent = 0
        self._due: dict[int, int] = {}  # by session: ns before which no tick is sent
        self._topics: set[bytes] = set()  # beginnings of topics that have subscribers
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)  # a PUB that reports subscriptions
        self._socket.sndhwm = QUEUE
        self._socket.linger = LINGER  # before `bind`: listeners keep what they begin with
        self._socket.bind(endpoint)
        self.endpoint = bytes(self._socket.getsockopt(zmq.LAST_ENDPOINT)).rstrip(b"\0").decode()

    def close(self) -> None:
        self._socket.close()
        self._context.term()

    def is_watched(self) -> bool:
        """Whether there is a subscriber."""
        return bool(self._topics)

    def publish(self, batch: Batch) -> None:
        """Send what has a subscriber: packing a tick takes longer than computing it."""
        self._take_subscriptions()
        offset = since_1970()
        period = int(1e9 / self.rate)
        for number, ticks in batch.ticks.items():
            session = self.reader.sessions[number]
            topic = f"{self.reader.name}/{session.law}/{number}".encode()
            if not topic.startswith(tuple(self._topics)):
                continue
            for tick in ticks:
                time = int(tick["time"])
                due = self._due.get(number, 0)
                if time < due:
                    continue
                # In step with the pace, not with ticks: 1 kHz at 400 Hz is 2 or 3 ticks apart.
                self._due[number] = due + period if time - due < period else time + period
                body = msgpack.packb(self.values(session, tick))
                self._socket.send_multipart([topic, body, f"{1e-9 * (time + offset):.6f}".encode()])
                self.sent += 1

    def _take_subscriptions(self) -> None:
        """The first subscriber to a topic comes as a 1 before it, the last to leave as a 0."""
        while self._socket.poll(0):
            message = self._socket.recv()
            if message[:1] == b"\x01":
                self._topics.add(message[1:])
            elif message[:1] == b"\x00":
                self._topics.discard(message[1:])

    def values(self, session: SessionInfo, tick: Any) -> dict[str, Any]:
        """The numbers of a tick by name."""
        robot = self.reader.robot
        joints = joints_of(robot)
        found: dict[str, Any] = {
            "status": int(tick["status"]),
            "lateness_us": 1e-3 * int(tick["time"] - tick["deadline"]),
            **{f"{name}_us": 1e-3 * int(tick[name]) for name in TIMES},
        }
        for part in session.parts:
            flat = np.ravel(tick[part.field])
            if part.shape in ((), (1,)):
                found[part.field] = float(flat[0])
            else:
                names = titles(len(flat), robot, joints)
                found[part.field] = dict(zip(names, flat.tolist(), strict=True))
        return found
