"""Words to systemd, over a real datagram socket."""

import secrets
import socket

import pytest

from support.eventually import PATIENCE
from torqued.server.notify import notify

pytestmark = pytest.mark.slow


@pytest.fixture(params=["file", "abstract"])
def manager(request, tmp_path):
    """The socket that systemd listens on, and its name as systemd gives it."""
    name = str(tmp_path / "notify")
    if request.param == "abstract":
        name = f"@torqued-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(PATIENCE)
        listening.bind(name.replace("@", "\0"))
        yield listening, name


def test_word_is_one_datagram(manager, monkeypatch):
    listening, name = manager
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    notify("READY=1")
    assert listening.recv(100) == b"READY=1"


def test_nothing_is_said_where_nobody_asks(monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setattr(socket, "socket", None)
    notify("READY=1")


def test_manager_that_is_gone_is_a_warning_and_no_more(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify("READY=1")
    assert "sd_notify(READY=1) failed: No such file" in caplog.text


def test_daemon_says_when_it_is_ready_and_when_it_stops(manager, another):
    listening, name = manager
    daemon = another("--robot", "chain2", NOTIFY_SOCKET=name).start()
    assert listening.recv(100) == b"READY=1"
    with daemon.client() as client:
        assert client.ping().ready
    assert daemon.stop() == 0
    assert listening.recv(100) == b"STOPPING=1"
