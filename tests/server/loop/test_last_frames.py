"""Last frames for clients that do not read: nobody waits for them."""

import struct
import threading
import time
from types import SimpleNamespace

import pytest
import zmq

from support.eventually import PATIENCE, eventually
from support.in_thread import InThread
from torqued.client.sessions.frames import PAYLOAD
from torqued.common.status import LAST
from torqued.kernels import Robot
from torqued.server.loop import last_frames, servo


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


GONE = zmq.ZMQError(zmq.EHOSTUNREACH)


def test_frame_is_sent_as_soon_as_its_client_takes_it(clock):
    waiting, socket = last_frames.LastFrames(), Socket(zmq.Again(), zmq.Again(), None)
    waiting.add(socket, b"owner", b"frame", 200)
    assert waiting.flush() and not socket.sent
    assert waiting.flush()
    assert socket.sent == [[b"owner", b"frame"]]


def test_frame_is_repeated_until_its_client_leaves(clock):
    waiting, socket = last_frames.LastFrames(), Socket(None, None, None, GONE)
    waiting.add(socket, b"owner", b"frame", 200)
    waiting.finish()
    assert socket.sent == 3 * [[b"owner", b"frame"]]
    assert clock.now == pytest.approx(100.0 + 3 * last_frames.REPEAT, abs=0.01)
    assert socket.linger == 200


def test_frame_that_the_loop_has_sent_is_repeated_later(clock):
    waiting, socket = last_frames.LastFrames(), Socket(None, GONE)
    waiting.add(socket, b"owner", b"frame", 200, sent=True)
    assert not socket.sent
    clock.sleep(last_frames.REPEAT)
    assert waiting.flush()
    assert socket.sent == [[b"owner", b"frame"]]


def test_client_that_stays_keeps_its_socket_open_for_no_longer(clock):
    waiting, socket = last_frames.LastFrames(), Socket(None)
    waiting.add(socket, b"owner", b"frame", 200)
    waiting.finish()
    assert clock.now == pytest.approx(100.2, abs=2 * last_frames.RETRY_DELAY)
    assert socket.linger == 200


def test_client_that_is_gone_is_not_waited_for(clock):
    waiting, socket = last_frames.LastFrames(), Socket(GONE)
    waiting.add(socket, b"owner", b"frame", 200)
    assert (socket.sent, socket.linger) == ([], 200)
    assert not waiting.flush()


def test_client_that_is_still_connecting_gets_its_frame(clock):
    """It was never there, so that it cannot have left."""
    waiting, socket = last_frames.LastFrames(), Socket(GONE, GONE, None, GONE)
    waiting.add(socket, b"owner", b"frame", 200, reached=False)
    waiting.finish()
    assert socket.sent == [[b"owner", b"frame"]]
    assert clock.now < 100.2


def test_session_ended_before_its_client_has_connected_tells_it_so(folder, monkeypatch):
    monkeypatch.setattr(servo, "LAST_FRAME", 60_000)
    with (
        InThread(Robot.family("chain", 3), folder) as daemon,
        daemon.client() as client,
        zmq.Context() as context,
        context.socket(zmq.DEALER) as late,
    ):
        opened = client.call("open", law="gravity")
        client.call("close", session=opened.session)
        late.linger, late.routing_id = 0, opened.owner.encode()
        late.connect(opened.endpoint)
        assert late.poll(1000 * PATIENCE)
        (status,) = struct.unpack_from("<Q", late.recv(), PAYLOAD + 24)
        assert status & LAST


def test_time_of_all_passes_at_once(clock):
    waiting, sockets = last_frames.LastFrames(), [Socket(zmq.Again()) for _ in range(16)]
    for socket in sockets:
        waiting.add(socket, b"owner", b"frame", 200)
    waiting.finish()
    assert all(socket.linger == 200 for socket in sockets)
    assert clock.now == pytest.approx(100.2, abs=2 * last_frames.RETRY_DELAY)


def wait_until_full(record):
    """Until a hundred frames in a row did not fit."""
    deadline = time.monotonic() + PATIENCE
    outputs, dropped = 0, 0
    while outputs == 0 or record.dropped < dropped + 100:
        assert time.monotonic() < deadline
        if record.outputs != outputs:
            outputs, dropped = int(record.outputs), int(record.dropped)
        time.sleep(0.01)


def test_closing_a_session_whose_client_stands_still_keeps_nobody_waiting(folder, monkeypatch):
    """Its last frame has a minute here, and leaves when the client reads again."""
    monkeypatch.setattr(servo, "LAST_FRAME", 60_000)
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
        status = 0
        while not status & LAST:
            assert time.monotonic() < deadline
            if late.poll(10):
                (status,) = struct.unpack_from("<Q", late.recv(), PAYLOAD + 24)
        late.close()
        eventually(lambda: not waiting.is_waiting)


def test_session_leaves_with_its_last_frame(folder, monkeypatch):
    """The daemon would go on with it for a minute here."""
    monkeypatch.setattr(servo, "LAST_FRAME", 60_000)
    with InThread(Robot.family("chain", 3), folder) as daemon, daemon.client() as client:
        session = client.session("gravity")
        sequence = session.send([0.0] * 3, [0.0] * 3)
        with daemon.client() as other:
            other.call("close", session=session.number)
        while not (last := session.receive()).is_last:
            pass
        eventually(lambda: not daemon.daemon.servo.last_frames.is_waiting)
        assert session.step([0.0] * 3, [0.0] * 3) is session.receive() is last
        assert session.send([0.0] * 3, [0.0] * 3) == sequence  # nothing is sent any more
        assert session.latest() is last
        session.close()


@pytest.mark.slow
def test_conflating_reader_gets_every_last_frame(tmp_path):
    """Each behind as many others as wait for a client that has stood still.

    Sent once, some in a thousand are lost: what proves the repetition are the tests above.
    """
    endpoint = f"ipc://{tmp_path}/socket"
    lost = []
    for trial in range(100):
        with zmq.Context() as here, zmq.Context() as there:
            router, reader = here.socket(zmq.ROUTER), there.socket(zmq.DEALER)
            router.router_mandatory, router.sndhwm = True, 2000
            reader.conflate, reader.linger, reader.routing_id = True, 0, b"owner"
            router.bind(endpoint)
            reader.connect(endpoint)
            reader.send(b"")
            router.recv_multipart()
            waiting = last_frames.LastFrames()

            def end(router=router, waiting=waiting):
                for _ in range(800):
                    router.send_multipart([b"owner", bytes(200)])
                waiting.add(router, b"owner", b"last", 1000 * PATIENCE)
                waiting.finish()

            sender = threading.Thread(target=end)
            sender.start()
            arrived = b""
            while arrived != b"last" and reader.poll(1000 * PATIENCE):
                arrived = reader.recv()
            if arrived != b"last":
                lost.append(trial)
            reader.close()
            sender.join()
    assert not lost
