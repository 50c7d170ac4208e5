"""TCP connections without end, against a real daemon: it goes on, and so do its local clients."""

import os
import resource
import socket as plain
import sys
import time

import numpy as np
import pytest

from support.daemons import free_port
from support.eventually import PATIENCE
from torqued.client import Client, TorquedError

pytestmark = pytest.mark.slow

#: Open files that the daemon may have, and connections that strangers try to make.
LIMIT, CONNECTIONS = 1024, 1500
LOWER = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({LIMIT}, {LIMIT}));"
LOWER += "os.execv(sys.argv[1], sys.argv[1:])"


@pytest.fixture
def daemon(another):
    port = free_port()
    listen = ("--listen", f"tcp://127.0.0.1:{port}", "--plain-tcp")
    process = another("--robot", "chain2", *listen)
    process.command = [sys.executable, "-c", LOWER, *process.command]
    process.port = port
    return process.start()


@pytest.fixture
def many_files():
    """This process may open as many files as the test needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * CONNECTIONS:
        pytest.skip(f"this user may open {hard} files, the test needs {2 * CONNECTIONS}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * CONNECTIONS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Flood:
    """Connections that are begun as fast as can be, and never say a word."""

    def __init__(self, addresses):
        self.addresses = addresses
        self.sockets = []

    def rise(self):
        """Try to make as many as there are to be."""
        for k in range(CONNECTIONS - len(self.sockets)):
            socket = plain.socket()
            socket.setblocking(False)
            try:
                socket.connect(self.addresses[k % len(self.addresses)])
            except BlockingIOError:
                pass  # it goes on
            except OSError:
                socket.close()
                continue
            self.sockets.append(socket)

    def close(self):
        for socket in self.sockets:
            socket.close()
        self.sockets.clear()


def open_files(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def serves(daemon):
    """Whether new local clients get answers, each with connections of its own, and sessions."""
    deadline = time.monotonic() + PATIENCE
    while True:
        assert daemon.process.poll() is None, daemon.log.read_text()
        assert open_files(daemon) < LIMIT
        try:
            with daemon.client() as client:
                assert client.ping().ready
                assert client.hello().nq == 2
                with client.session("gravity") as session:
                    session.step(np.zeros(2), np.zeros(2))
            return True
        except TorquedError:
            if time.monotonic() > deadline:
                return False


def test_tcp_connections_without_end_leave_local_clients_alone(daemon, many_files):
    addresses = [("127.0.0.1", daemon.port + k) for k in range(3)]
    with daemon.client() as client, client.session("gravity") as session:
        session.step(np.zeros(2), np.zeros(2))
        flood = Flood(addresses)
        for _ in range(3):
            for _ in range(3):
                flood.rise()
                assert serves(daemon)
                session.step(np.zeros(2), np.zeros(2))
            flood.close()
    assert "no new TCP connections" in daemon.log.read_text()
    with Client(f"tcp://127.0.0.1:{daemon.port}", timeout=PATIENCE) as client:
        assert client.hello().nq == 2
