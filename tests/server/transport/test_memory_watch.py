"""Messages that never end: memory that they take is bounded, and nobody else notices."""

import socket as plain
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import zmtp
from daemons import DaemonProcess, free_port
from eventually import eventually

from torqued.client.codec import MAX_MESSAGE
from torqued.server.transport import memory_watch
from torqued.server.transport.allocation import allocated
from torqued.server.transport.connections import address_of, connections
from torqued.server.transport.memory_watch import MIB, MemoryWatch, divide, doubling


class Peer:
    """A connection that can be looked at and cut; what it holds goes with it."""

    def __init__(self, address, busy=0, memory=None, holds=0):
        self.address, self.busy = address, busy
        self.memory, self.holds = memory, holds
        self.closed = False

    def look(self):
        pass

    def cut(self):
        self.memory.used -= self.holds
        self.holds = 0

    def close(self):
        self.closed = True


class TestSuspects:
    def test_those_that_send_come_first_and_sessions_last(self):
        idle, session, sender = Peer("requests"), Peer("session"), Peer("session", busy=3)
        suspects, proven = divide([session, idle, sender], {}, {"session": 0})
        assert suspects == [sender, idle, session]
        assert proven == []

    def test_session_whose_states_come_is_not_suspected(self):
        session, other = Peer("one", busy=10), Peer("two", busy=1)
        suspects, proven = divide([session, other], {"one": 7, "two": 7}, {"one": 8, "two": 7})
        assert (suspects, proven) == ([other], [session])

    def test_unless_somebody_else_is_connected_to_it(self):
        both = [Peer("one"), Peer("one", busy=2)]
        suspects, _ = divide(both, {"one": 7}, {"one": 8})
        assert suspects == both[::-1]

    def test_groups_double_and_leave_nobody_out(self):
        assert [len(group) for group in doubling(list(range(10)))] == [1, 2, 4, 3]
        assert [k for group in doubling(list(range(10))) for k in group] == list(range(10))


class Memory:
    """Of a process: its own and what connections hold, and what the C library keeps."""

    used, kept = 1000 * MIB, 0


@pytest.fixture
def watch(monkeypatch):
    """One whose thread does not run, of a process whose memory is what the test says."""
    memory = Memory()
    monkeypatch.setattr(MemoryWatch, "_watch", lambda self: None)
    monkeypatch.setattr(memory_watch, "resident", lambda: memory.used + memory.kept)
    monkeypatch.setattr(memory_watch, "allocated", lambda: memory.used)
    monkeypatch.setattr(memory_watch, "SETTLE", 0.02)
    watch = MemoryWatch(64, lambda: (), dict)
    watch.ready()
    watch.memory = memory
    yield watch
    watch.close()


def relieve(watch, peers, monkeypatch):
    monkeypatch.setattr(watch, "_suspects", lambda: divide(peers, {}, {})[0])
    watch._relieve()
    assert all(peer.closed for peer in peers)


def test_no_more_are_cut_than_it_takes(watch, monkeypatch, caplog):
    peers = [Peer("a", busy, watch.memory, 70 * MIB if busy == 9 else 0) for busy in range(10)]
    watch.memory.used += 70 * MIB
    relieve(watch, peers, monkeypatch)
    assert watch.statistics() == {"resident": 1000 * MIB, "most": 1064 * MIB, "cut": 1}
    assert "1070 MiB of memory, at most 1064: 1 of 10 connections cut" in caplog.text


def test_memory_that_is_free_but_kept_is_nobodys_fault(watch):
    watch.memory.kept = 500 * MIB
    assert not watch._is_too_much()
    watch.memory.used += 65 * MIB
    assert watch._is_too_much()


def test_memory_that_many_hold_together_is_found(watch, monkeypatch):
    peers = [Peer("a", 0, watch.memory, 7 * MIB) for _ in range(10)]
    watch.memory.used += 70 * MIB
    relieve(watch, peers, monkeypatch)
    assert watch.memory.used == 1063 * MIB


def test_memory_that_no_connection_holds_counts_as_the_daemons_own(watch, monkeypatch, caplog):
    watch.memory.used += 70 * MIB
    relieve(watch, [Peer("a", 0, watch.memory) for _ in range(3)], monkeypatch)
    assert watch.most == (1070 + 64) * MIB
    assert "no connection holds that memory" in caplog.text


def test_what_is_allocated_is_counted_and_what_is_freed_is_not():
    before = allocated()
    data = np.empty(40 * MIB, np.uint8)
    assert 40 * MIB <= allocated() - before < 60 * MIB
    del data
    assert allocated() - before < 20 * MIB


@pytest.mark.parametrize("family", [plain.AF_UNIX, plain.AF_INET, plain.AF_INET6])
def test_connections_are_found_by_where_they_were_accepted_and_end_when_cut(family):
    with (
        tempfile.TemporaryDirectory() as folder,
        plain.socket(family) as listening,
        plain.socket(family) as other,
        plain.socket(family) as peer,
    ):
        local = family == plain.AF_UNIX
        host = "127.0.0.1" if family == plain.AF_INET else "::1"
        listening.bind(f"{folder}/one" if local else (host, 0))
        other.bind(f"{folder}/two" if local else (host, 0))
        for each in (listening, other):
            each.listen()
        peer.connect(listening.getsockname())
        accepted, _ = listening.accept()
        assert connections({address_of(other)}) == []
        (found,) = connections({address_of(listening)})
        found.look()
        assert found.busy == 0
        peer.sendall(b"x")
        eventually(lambda: found.look() or found.busy)
        found.cut()
        found.close()
        assert (accepted.recv(10), accepted.recv(10)) == (b"x", b"")
        accepted.close()


def test_peer_that_waits_to_send_hears_at_once_that_it_was_cut():
    with plain.create_server(("127.0.0.1", 0)) as listening:
        peer = plain.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
        with peer:
            peer.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    peer.send(bytes(MIB))
            (found,) = connections({address_of(listening)})
            found.cut()
            found.close()
            with accepted:
                while accepted.recv(MIB):
                    pass
            # By itself it would hear of it when the system forgets the connection, after a minute.
            eventually(lambda: peer.getsockopt(plain.SOL_SOCKET, plain.SO_ERROR), patience=20.0)


#: MiB that connections may make the daemon hold, and that a client sends without an end.
BOUND, SENT = 64, 300
#: MiB beyond the bound that may come in until the watch has looked, and the daemon's own.
MARGIN = 100
#: Bytes that are sent before the daemon has had time to look.
STEP = 4 * MIB


def memory_of(daemon, field):
    """MiB by /proc: VmRSS in use, VmHWM the most that has been."""
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    (found,) = [line.split() for line in lines if line.startswith(f"{field}:")]
    return int(found[1]) / 1024


def flood(daemon, address, size, beside):
    """Send frames of a message that does not end, on a new connection each time one is cut.

    `beside` is called in between; how many connections were cut.
    """
    part = zmtp.frame(bytes(size), zmtp.MORE)
    sent = cut = 0
    while sent < SENT * MIB:
        since = 0
        with zmtp.connect(address) as peer, suppress(BrokenPipeError, ConnectionResetError):
            while sent < SENT * MIB:
                sent += len(part)
                since += len(part)
                peer.sendall(part)
                if since >= STEP:
                    since = 0
                    beside()
                    time.sleep(2 * memory_watch.LOOK)
            return cut
        cut += 1
    return cut


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o700)
    port = free_port()
    listen = ("--listen", f"tcp://127.0.0.1:{port}", "--plain-tcp")
    settings = {"TORQUED_CONNECTION_MEMORY": str(BOUND)}
    process = DaemonProcess(folder, "arm", "--robot", "chain2", *listen, **settings)
    process.port = port
    yield process.start()
    assert process.stop() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "size"),
    [
        ("request", MAX_MESSAGE // 4),
        ("request", 4000),
        ("tcp", 60_000),
        ("control", 60_000),
        ("session", 300),
    ],
)
def test_message_without_an_end_is_cut_and_nobody_else_notices(daemon, target, size):
    q, v = np.array([0.3, 0.2]), np.zeros(2)
    with daemon.client() as client, client.session("gravity") as session:
        address = {
            "request": str(daemon.folder / "arm.sock"),
            "tcp": ("127.0.0.1", daemon.port),
            "control": str(daemon.folder / "arm.control.sock"),
            "session": client.stats().sessions[0]["endpoint"].removeprefix("ipc://"),
        }[target]
        expected = session.step(q, v, timeout=60.0).tau
        assert expected.any()
        before, cut_before = memory_of(daemon, "VmRSS"), client.stats().memory["cut"]

        def beside():
            np.testing.assert_array_equal(session.step(q, v, timeout=60.0).tau, expected)
            assert client.hello().nq == 2

        cut = flood(daemon, address, size, beside)
        most = memory_of(daemon, "VmHWM")
        assert cut >= 2
        assert most < before + BOUND + MARGIN
        after = client.stats().memory
        assert after["cut"] - cut_before >= cut  # and some that had nothing to say, in vain
        assert "connections cut" in daemon.log.read_text()
