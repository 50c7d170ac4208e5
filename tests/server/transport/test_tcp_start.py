"""What a daemon asks for before it listens on TCP, and plain TCP."""

import socket as plain
import subprocess

import numpy as np
import pytest

from support.daemons import free_port
from support.eventually import PATIENCE
from torqued.client import Client

pytestmark = pytest.mark.slow

STATE = (np.zeros(2), np.zeros(2))


def run_serve(process):
    return subprocess.run(
        process.command, capture_output=True, text=True, timeout=600, env=process.environment
    )


def test_tcp_without_keys_is_refused_and_says_what_to_do(another, tmp_path):
    listen = ("--listen", f"tcp://127.0.0.1:{free_port()}")
    done = run_serve(another("--robot", "chain2", *listen, keys=tmp_path / "keys"))
    assert done.returncode == 2
    assert "torqued keys new NAME --rights command" in done.stderr
    assert "--plain-tcp" in done.stderr


def test_taken_port_is_refused_and_nothing_stays_behind(another):
    with plain.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        process = another("--robot", "chain2", "--listen", listen, "--plain-tcp")
        done = run_serve(process)
    assert done.returncode == 2
    assert f"cannot bind {listen}: Address already in use" in done.stderr
    assert process.files() == []


def test_plain_tcp_works_with_its_flag_and_a_warning(another):
    port = free_port(6)
    options = ("--robot", "chain2", "--listen", f"tcp://127.0.0.1:{port}", "--plain-tcp")
    daemon = another(*options, session_ports=f"{port + 3}-{port + 5}").start()
    assert "any program that reaches this port can command the robot" in daemon.log.read_text()
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
