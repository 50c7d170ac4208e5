"""What a daemon asks for before it listens on TCP, and plain TCP."""

import socket as plain
import subprocess

import numpy as np
import pytest

from support.daemons import DaemonProcess, free_port
from support.eventually import PATIENCE
from torqued.client import Client

pytestmark = pytest.mark.slow

STATE = (np.zeros(2), np.zeros(2))


def run_serve(tmp_path, *options, **environment):
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    process = DaemonProcess(folder, "arm", "--robot", "chain2", *options, **environment)
    return subprocess.run(
        process.command, capture_output=True, text=True, timeout=600, env=process.environment
    )


def test_tcp_without_keys_is_refused_and_says_what_to_do(tmp_path):
    done = run_serve(
        tmp_path, "--listen", f"tcp://127.0.0.1:{free_port()}", TORQUED_KEYS=str(tmp_path / "keys")
    )
    assert done.returncode == 2
    assert "torqued keys new NAME --rights command" in done.stderr
    assert "--plain-tcp" in done.stderr


def test_taken_port_is_refused_and_nothing_stays_behind(tmp_path):
    with plain.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        done = run_serve(tmp_path, "--listen", listen, "--plain-tcp")
    assert done.returncode == 2
    assert f"cannot bind {listen}: Address already in use" in done.stderr
    assert list((tmp_path / "sockets").iterdir()) == []


def test_plain_tcp_works_with_its_flag_and_a_warning(tmp_path):
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    port = free_port(6)
    options = ("--robot", "chain2", "--listen", f"tcp://127.0.0.1:{port}", "--plain-tcp")
    ports = f"{port + 3}-{port + 5}"
    daemon = DaemonProcess(folder, "arm", *options, TORQUED_SESSION_PORTS=ports).start()
    try:
        assert "whoever reaches this port can command the robot" in daemon.log.read_text()
        with Client(f"tcp://127.0.0.1:{port}", timeout=PATIENCE) as client:
            assert client.hello().rights == "administrate"
            used = []
            for _ in range(3):  # a port that was just given back is used again last
                with client.session("gravity") as session:
                    assert session.step(*STATE).sequence == 1
                    used.append(client.sessions()[0]["endpoint"])
            assert used == [f"tcp://*:{port + k}" for k in (3, 4, 5)]
            with client.telemetry() as telemetry:
                assert telemetry.receive(PATIENCE)["ready"]
    finally:
        assert daemon.stop() == 0
