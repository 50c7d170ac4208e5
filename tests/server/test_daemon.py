"""A daemon in a process of its own, over real sockets: requests, faults, restarts."""

import asyncio
import os
import random
import socket as plain
import subprocess
import sys

import numpy as np
import pytest
import zmq

from support.daemons import DaemonProcess
from support.eventually import PATIENCE, eventually
from torqued.client import AsyncClient, TimeoutError, codec, errors
from torqued.client.endpoints import memory_endpoint
from torqued.kernels import Robot
from torqued.tools.recording.reader import Reader

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def daemon(folder):
    """The program itself, not a fork of the template."""
    process = DaemonProcess(folder, "chain20", "--robot", "chain20").start(from_scratch=True)
    yield process
    process.end()


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", 20)


@pytest.fixture(scope="module")
def state(robot):
    return robot.random_state(np.random.default_rng(0))


@pytest.fixture
def raw(daemon):
    """Sends bytes as they are and returns the decoded reply, or None in silence."""
    with zmq.Context() as context:

        def send(data, endpoint=daemon.endpoint, kind=zmq.DEALER, patience=1000 * PATIENCE):
            with context.socket(kind) as socket:
                socket.linger = 0
                socket.connect(endpoint)
                frames = data if isinstance(data, list) else [data]
                socket.send_multipart(frames)
                return socket.recv_multipart() if socket.poll(patience) else None

        yield send


def test_hello_is_about_the_robot_and_the_daemon(client, robot, daemon):
    hello = client.hello()
    assert (hello.name, hello.nq, hello.nv) == (robot.name, robot.nq, robot.nv)
    assert hello.endpoints["request"] == daemon.endpoint
    assert hello.endpoints["control"] == client.control_endpoint
    assert hello.rate == 1000.0


def test_dynamics_equal_the_robot_in_process(client, robot, state):
    r = client.dynamics(*state, want=("M", "C", "g"))
    here = robot.dynamics(*state, want=("M", "C", "g"))
    assert all(np.array_equal(r[name], here[name]) for name in here)
    tau = client.inverse_dynamics(*state, np.ones(20))
    assert np.array_equal(tau, robot.inverse_dynamics(*state, np.ones(20)))
    assert np.allclose(client.forward_dynamics(*state, tau), 1.0)


def test_start_tells_what_a_person_wants_to_know(daemon, client):
    client.hello()
    text = daemon.log.read_text()
    for words in ("chain20, fixed base, 20 degrees", daemon.endpoint, "kernels", "cache", "ready"):
        assert words in text


def test_asking_for_realtime_is_answered_with_what_was_granted(another):
    process = another("--robot", "chain2", "--priority", "1", "--cpu", "0").start()
    with process.client() as client, Reader(process.name, process.folder) as reader:
        settings = client.hello().realtime
        assert reader.processor == 0  # which readers leave to the loop
    assert settings["priority"].startswith(("SCHED_FIFO 1", "not granted"))
    assert settings["io_thread"].startswith(("SCHED_FIFO 1", "not granted"))
    assert settings["cpu"].startswith(("pinned to 0", "not pinned"))
    assert f"priority   {settings['priority']}" in process.log.read_text()
    assert process.stop() == 0


@pytest.mark.parametrize("kind, frames", [(zmq.REQ, []), (zmq.DEALER, []), (zmq.DEALER, [b""])])
def test_both_kinds_of_client_sockets_are_answered(raw, kind, frames):
    *before, reply = raw([*frames, codec.request("a", "hello", {})], kind=kind)
    assert before == frames
    assert codec.decode(reply)["id"] == "a"


def error_of(reply):
    message = codec.decode(reply[-1])
    assert message["protocol"] == codec.PROTOCOL_VERSION
    assert message["ok"] is False
    return message["id"], message["error"]["code"]


@pytest.mark.parametrize(
    "data, identity, code",
    [
        (b"", None, "bad_message"),
        (b"\xc1\xff", None, "bad_message"),
        (codec.encode({"protocol": 1, "id": [1], "op": "hello"}), None, "bad_message"),
        (codec.encode({"protocol": 1, "id": "x" * 65, "op": "hello"}), None, "bad_message"),
        (codec.encode({"protocol": 2, "id": 5, "op": "hello"}), 5, "wrong_version"),
        (codec.encode({"protocol": 2, "id": 5, "op": "open"}), 5, "wrong_version"),
        (codec.encode({"id": 5}), 5, "wrong_version"),
        (codec.request(5, "dance", {}), 5, "unknown_operation"),
        (codec.request(5, "ping", {}), 5, "unknown_operation"),
        (codec.request(5, "dynamics", {}), 5, "missing_field"),
        (codec.request(5, "open", {}), 5, "missing_field"),
        (codec.request(5, "hello", {"x": 1}), 5, "unknown_field"),
        (codec.request(5, "open", {"law": "stream", "x": 1}), 5, "unknown_field"),
        (codec.request(5, "dynamics", {"q": [1.0]}), 5, "bad_field"),
        (codec.request(5, "dynamics", {"q": [float("nan")] * 20}), 5, "bad_field"),
        (codec.request(5, "batch", {"operation": "dynamics"}), 5, "missing_field"),
        (codec.request(5, "batch", {"operation": "hello", "q": [[0.0] * 20]}), 5, "bad_field"),
        (codec.request(5, "batch", {"operation": "dynamics", "q": [[0.0]]}), 5, "bad_field"),
        (codec.request(5, "reload", {}), 5, "unknown_operation"),
        (codec.request(5, "open", {"law": "dance"}), 5, "bad_field"),
        (codec.request(5, "open", {"law": ["stream"]}), 5, "bad_field"),
        (codec.request(5, "open", {"law": "stream", "want": [["M"]]}), 5, "bad_field"),
        (codec.request(5, "open", {"law": "stream", "frames": 3}), 5, "bad_field"),
        (codec.request(5, "open", {"law": "gravity", "gains": {"stiffness": 1}}), 5, "bad_field"),
        (codec.request(5, "open", {"law": "gravity", "rate_limit": [-1.0] * 20}), 5, "bad_field"),
        (codec.request(5, "close", {"session": 1}), 5, "bad_field"),
        (codec.request(5, "close", {"session": {}}), 5, "bad_field"),
    ],
)
def test_error_codes_of_requests(raw, data, identity, code):
    assert error_of(raw(data)) == (identity, code)


@pytest.mark.parametrize(
    "data, code",
    [
        (b"\xff", "bad_message"),
        (codec.encode({"protocol": 3, "id": 5, "op": "ping"}), "wrong_version"),
        (codec.request(5, "hello", {}), "unknown_operation"),
        (codec.request(5, ["ping"], {}), "unknown_operation"),
        (codec.request(5, "log_level", {}), "missing_field"),
        (codec.request(5, "ping", {"x": 1}), "unknown_field"),
        (codec.request(5, "reload", {"force": True}), "unknown_field"),
        (codec.request(5, "batch", {"operation": "dynamics"}), "unknown_operation"),
        (codec.request(5, "log_level", {"level": "LOUD"}), "bad_field"),
        (codec.request(5, "log_level", {"level": ["INFO"]}), "bad_field"),
    ],
)
def test_error_codes_of_the_control_socket(raw, client, data, code):
    assert error_of(raw(data, client.control_endpoint))[1] == code


def test_message_beyond_the_largest_is_dropped_and_the_daemon_goes_on(raw, client):
    assert raw(bytes(codec.MAX_MESSAGE + 1), patience=200) is None
    assert client.ping().ready


def test_control_operations_answer(client):
    told = client.ping().as_dict()
    assert told.pop("kernels").keys() == {"kernel", "done", "total"}
    assert told == {"ready": True, "name": "chain20", "robot": "chain20"}
    assert client.call("log_level", client.control_endpoint, level="INFO").level == "INFO"
    assert client.call("sessions", client.control_endpoint).sessions == []
    before, after = client.stats(), client.stats()
    assert after.servo["tick"] >= before.servo["tick"]
    assert after.servo["lateness"]["count"] > 0


def test_telemetry_is_the_statistics(client):
    with client.telemetry() as telemetry:
        published = telemetry.receive(PATIENCE)
        assert published.as_dict().keys() == client.stats().as_dict().keys()
        newer = eventually(telemetry.latest)
        assert newer.servo["tick"] > published.servo["tick"]


def test_two_clients_get_their_own_replies(daemon, robot):
    rng = np.random.default_rng(2)
    with daemon.client() as one, daemon.client() as two:
        for _ in range(20):
            for client in (one, two):
                q, _ = robot.random_state(rng)
                assert np.array_equal(client.dynamics(q, want=["g"]).g, robot.gravity(q))


def test_async_client_has_many_requests_under_way(daemon, robot):
    rng = np.random.default_rng(3)
    states = [robot.random_state(rng)[0] for _ in range(20)]

    async def ask():
        async with AsyncClient(daemon.endpoint, timeout=PATIENCE) as client:
            assert (await client.ping()).ready
            assert (await client.hello()).nv == 20
            async with client.telemetry() as telemetry:
                assert (await telemetry.receive(PATIENCE)).name == "chain20"
                async with asyncio.timeout(PATIENCE):
                    while (latest := telemetry.latest()) is None:
                        await asyncio.sleep(0.01)
                assert latest.ready
            with pytest.raises(errors.FieldError):
                await client.dynamics([0.0])
            return await asyncio.gather(*(client.dynamics(q, want=["g"]) for q in states))

    for q, reply in zip(states, asyncio.run(ask()), strict=True):
        assert np.array_equal(reply.g, robot.gravity(q))


def test_async_client_gives_up_on_silence(tmp_path):
    async def ask():
        async with AsyncClient(f"ipc://{tmp_path}/silent.sock", timeout=0.3, retries=1) as client:
            await client.hello()

    with plain.socket(plain.AF_UNIX) as silent:
        silent.bind(f"{tmp_path}/silent.sock")
        silent.listen(8)
        with pytest.raises(TimeoutError, match="2 times"):
            asyncio.run(ask())


def test_random_bytes_on_all_sockets_leave_it_running(daemon, client, state):
    rng = random.Random(0)
    session = client.session("gravity")
    with zmq.Context() as context:
        context.linger = 0
        telemetry = client.hello().endpoints["telemetry"]
        targets = [
            (zmq.DEALER, daemon.endpoint),
            (zmq.DEALER, client.control_endpoint),
            (zmq.XSUB, telemetry),
        ]
        for kind, endpoint in targets:
            with context.socket(kind) as socket:
                socket.connect(endpoint)
                for _ in range(200):
                    parts = [rng.randbytes(rng.randrange(50)) for _ in range(rng.randrange(1, 4))]
                    socket.send_multipart(parts)
                if kind == zmq.DEALER:  # all that was sent has been read when the last is answered
                    for _ in range(200):
                        assert socket.poll(1000 * PATIENCE)
                        socket.recv_multipart()
        pages = memory_endpoint(daemon.endpoint).removeprefix("ipc://")
        for _ in range(50):
            with plain.socket(plain.AF_UNIX, plain.SOCK_SEQPACKET) as socket:
                socket.connect(pages)
                socket.sendall(rng.randbytes(rng.randrange(1000)))
        for endpoint in (daemon.endpoint, client.control_endpoint, telemetry):
            with plain.socket(plain.AF_UNIX) as socket:
                socket.connect(endpoint.removeprefix("ipc://"))
                socket.sendall(rng.randbytes(500))
    size = len(session._frame)

    def bad_states():
        return client.call("sessions", client.control_endpoint).sessions[0]["bad_states"]

    for count, length in enumerate((0, 1, 8, size - 1, size, size, size + 1, 3 * size), start=1):
        session._transport.socket.send(
            rng.randbytes(length)
        )  # of those that wait, the newest would win
        eventually(lambda count=count: bad_states() == count)
    assert session.step(*state).status == 0
    session.close()
    assert client.ping().ready
    assert client.dynamics(*state).M.shape == (20, 20)


def test_second_daemon_of_a_name_is_refused(daemon, another):
    second = another("--robot", "chain2", name="chain20")
    done = subprocess.run(second.command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert done.stderr == (
        f"torqued: error: a daemon for 'chain20' already runs on {daemon.endpoint} "
        f"(process {daemon.process.pid})\n"
    )
    with daemon.client() as client:
        assert client.hello().nv == 20


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_folder_that_others_may_enter_is_refused(another, tmp_path, mode):
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(mode)
    command = [*another("--robot", "chain2").command, "--folder", str(open_folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "others could command the robot" in done.stderr


def test_reply_beyond_the_largest_is_refused(another):
    process = another("--robot", "chain130").start()
    with process.client() as client:
        with pytest.raises(errors.MessageError) as caught:
            client.dynamics(np.zeros(130), want=["Gamma"])
        assert caught.value.code == "too_large"
        assert client.dynamics(np.zeros(130), want=["M"]).M.shape == (130, 130)
    assert process.stop() == 0


def test_command_line_talks_to_the_daemon(daemon):
    def torqued(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "torqued.tools.cli.main", *arguments],
            capture_output=True,
            text=True,
            timeout=600,
            env=os.environ | {"TORQUED_FOLDER": str(daemon.folder), "COLUMNS": "200"},
        )

    assert "chain20: ready" in torqued("ping", "--robot", "chain20").stdout
    assert "20 × 20" in torqued("call", "dynamics", "--q", "neutral", "--want", "M").stdout
    as_json = torqued("call", "hello", "--json").stdout
    assert as_json.startswith('{"name": "chain20", "base": "fixed", "nq": 20')
    assert "lateness" in torqued("stats").stdout
    assert "1000 Hz" in torqued("top", "--seconds", "0.3").stdout
    wrong = torqued("call", "dynamics", "--q", "1,2", "--want", "g")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "torqued: error: q: shape (2,), expected (20,)\n",
    )
    gone = torqued("ping", "--endpoint", f"ipc://{daemon.folder}/x.sock", "--timeout", "0.05")
    assert gone.returncode == 2
    assert "no daemon at" in gone.stderr
