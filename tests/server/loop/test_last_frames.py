"""Last frames for clients that do not read: nobody waits for them."""

import time
from types import SimpleNamespace

import pytest
import zmq
from in_thread import InThread

from torqued.kernels import Robot
from torqued.server.loop import last_frames, servo

PATIENCE = 20.0


class Socket:
    """A peer that raises what it is told, until it takes a frame."""

    def __init__(self, *errors):
        self.errors, self.sent, self.linger = list(errors), [], None

    def send_multipart(self, parts, flags):
        assert flags == zmq.DONTWAIT
        if self.errors:
            error = self.errors[0] if len(self.errors) == 1 else self.errors.pop(0)
            if error:
                raise error
        self.sent.append(parts)

    def close(self, linger):
        self.linger = linger


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only while somebody sleeps."""
    clock = SimpleNamespace(now=100.0)
    clock.monotonic = lambda: clock.now
    clock.sleep = lambda seconds: setattr(clock, "now", clock.now + seconds)
    monkeypatch.setattr(last_frames, "time", clock)
    return clock


def test_frame_is_sent_as_soon_as_its_client_takes_it(clock):
    waiting, socket = last_frames.LastFrames(), Socket(zmq.Again(), zmq.Again(), None)
    waiting.add(socket, b"owner", b"frame", 200)
    assert waiting.flush()
    assert not waiting.flush()
    assert (socket.sent, socket.linger) == ([[b"owner", b"frame"]], 200)


def test_client_that_is_gone_is_not_waited_for(clock):
    waiting, socket = last_frames.LastFrames(), Socket(zmq.ZMQError(zmq.EHOSTUNREACH))
    waiting.add(socket, b"owner", b"frame", 200)
    assert (socket.sent, socket.linger) == ([], 200)
    assert not waiting.flush()


def test_time_of_all_passes_at_once(clock):
    waiting, sockets = last_frames.LastFrames(), [Socket(zmq.Again()) for _ in range(16)]
    for socket in sockets:
        waiting.add(socket, b"owner", b"frame", 200)
    waiting.finish()
    assert all(socket.linger == 200 for socket in sockets)
    assert clock.now == pytest.approx(100.2, abs=2 * last_frames.TRY_AGAIN)


def wait_until_full(record):
    """Until a hundred frames in a row did not fit."""
    deadline = time.monotonic() + PATIENCE
    outputs, dropped = 0, 0
    while outputs == 0 or record.dropped < dropped + 100:
        assert time.monotonic() < deadline
        if record.outputs != outputs:
            outputs, dropped = int(record.outputs), int(record.dropped)
        time.sleep(0.01)


def test_closing_a_session_whose_client_stands_still_keeps_nobody_waiting(tmp_path, monkeypatch):
    """Its last frame has a minute here, and leaves when the client reads again."""
    monkeypatch.setattr(servo, "LAST_FRAME", 60_000)
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    robot = Robot.family("chain", 50)
    with (
        InThread(robot, folder) as daemon,
        daemon.client() as client,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as late,
    ):
        opened = client.call("open", law="stream", want=["M"])
        late.linger, late.rcvhwm, late.routing_id = 0, 1, opened.owner.encode()
        late.connect(opened.endpoint)
        record = daemon.daemon.servo.shared.sessions[0]
        wait_until_full(record)
        client.call("close", session=opened.session)
        assert client.hello().nv == 50
        waiting = daemon.daemon.servo.last_frames
        assert waiting.is_waiting
        deadline = time.monotonic() + PATIENCE
        while waiting.is_waiting:  # until it has been handed to ZeroMQ
            assert time.monotonic() < deadline
            if late.poll(10):
                late.recv()
