"""Readers of a daemon's ring: sessions come and go, readers are stopped and killed, and the daemon
itself is."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from support.daemons import daemon_of
from support.eventually import PATIENCE, eventually
from torqued.client import Client
from torqued.common.status import LAST
from torqued.tools.recording.reader import Reader, ReaderError

daemon = daemon_of("chain4", ring_size=8)


def all_ticks(reader, number, until):
    """Ticks of a session up to the first that `until` accepts, as one array."""
    found = []

    def come():
        batch = reader.poll()
        if number in batch.ticks:
            found.append(batch.ticks[number])
        return bool(found) and any(until(tick) for tick in found[-1])

    eventually(come)
    return np.concatenate(found)


def test_ring_has_what_the_session_sent_and_got(daemon, client):
    reader = Reader("chain4", daemon.folder)
    rng = np.random.default_rng(0)
    # States that no robot has: encoders like that are frozen.
    with client.session("pd_plus", reference_limits=False, frozen_after=0.0) as session:
        outputs = []
        for _ in range(20):
            q, v, q_ref = rng.uniform(-0.5, 0.5, (3, 4))
            outputs.append((q, v, q_ref, session.step(q, v, q_ref, np.zeros(4), np.zeros(4))))
    ticks = all_ticks(reader, session.number, lambda tick: tick["status"] & LAST)
    assert np.array_equal(ticks["index"], np.arange(len(ticks)))
    by_tick = {int(tick["tick"]): tick for tick in ticks}
    for q, v, q_ref, output in outputs:
        tick = by_tick[output.tick]
        assert np.array_equal(tick["tau"], output.tau)
        assert np.array_equal(tick["q"], q) and np.array_equal(tick["v"], v)
        assert np.array_equal(tick["q_ref"], q_ref)
        assert (tick["sequence"], tick["status"]) == (output.sequence, output.status)
        assert 1e-9 * tick["age"] == pytest.approx(output.age)
        assert 1e-9 * tick["compute"] == pytest.approx(output.compute)
        assert 1e-9 * (tick["time"] - tick["deadline"]) == pytest.approx(
            output.time - output.deadline, abs=1e-6
        )
    info = reader.sessions[session.number]
    assert (info.law, info.closed is None) == ("pd_plus", False)
    assert [part.unit for part in info.state] == ["rad", "rad/s"]
    assert reader.lost == {}


def test_gains_and_loads_are_written_when_they_change(daemon, client):
    reader = Reader("chain4", daemon.folder)
    frame = client.hello().frames[-1]
    with client.session("pd", gains={"stiffness": 5.0, "damping": 1.0}) as session:
        session.step(np.zeros(4), np.zeros(4))
        session.tune({"stiffness": 7.0}, over=0.05)
        client.call("payload", session=session.number, frame=frame, mass=1.0, over=0.0)
        batches = []

        def done():
            session.step(np.zeros(4), np.zeros(4))  # gains change with states
            batches.append(reader.poll())
            gains = [item.values for batch in batches for item in batch.gains]
            return gains and np.allclose(gains[-1][:16].reshape(4, 4), 7.0 * np.eye(4))

        eventually(done)
    gains = [item for batch in batches for item in batch.gains if item.session == session.number]
    loads = [item for batch in batches for item in batch.loads if item.session == session.number]
    assert gains[0].index == 0 and np.allclose(gains[0].values[:16].reshape(4, 4), 5 * np.eye(4))
    # At the beginning, and in each tick of change: how many that are is the machine's matter.
    stiffness = [item.values[0] for item in gains]
    assert len(gains) > 1 and min(np.diff(stiffness)) > 0.0 and stiffness[-1] == 7.0
    assert [item.index == 0 for item in loads] == [True, False]
    assert not loads[0].values.any() and loads[1].values.sum() > 0.9
    eventually(lambda: (reader.poll(), reader.sessions[session.number].closed)[1] is not None)
    assert reader.sessions[session.number].raw["payload"][0]["mass"] == 1.0


def test_loop_is_there_without_sessions(daemon):
    reader = Reader("chain4", daemon.folder)
    ticks = []
    eventually(lambda: ticks.extend(reader.poll().loop) or len(ticks) > 20)
    numbers = [int(tick["tick"]) for tick in ticks]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert all(tick["served"] == 0 for tick in ticks)


def test_reader_that_is_stopped_or_killed_harms_nobody(daemon, client):
    program = (
        "import sys; from pathlib import Path; from torqued.tools.recording.reader import Reader"
        "\nreader = Reader('chain4', Path(sys.argv[1])); print('reads', flush=True)"
        "\nwhile True: reader.poll()"
    )
    readers = [
        subprocess.Popen([sys.executable, "-c", program, daemon.folder], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        for process in readers:
            assert process.stdout is not None and process.stdout.readline() == b"reads\n"
        os.kill(readers[0].pid, signal.SIGSTOP)
        readers[1].kill()
        with client.session("gravity") as session:
            first = session.step(np.zeros(4), np.zeros(4)).tick
            eventually(lambda: session.step(np.zeros(4), np.zeros(4)).tick > first + 100)
        assert client.stats().observation["records"] > 100
    finally:
        for process in readers:
            process.kill()
            process.wait()
            process.stdout.close()


def test_reading_needs_neither_numba_nor_zmq():
    program = "import torqued.tools.recording.reader, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "numpy" in loaded.stdout.split()
    assert {"numba", "llvmlite", "pydantic"}.isdisjoint(loaded.stdout.split())


def test_daemon_without_a_ring_says_so_and_serves(another):
    daemon = another("--robot", "chain4", name="blind", ring_size=0).start()
    with daemon.client() as client, client.session("gravity") as session:
        assert session.step(np.zeros(4), np.zeros(4)).status == 0
        assert client.stats().observation == {
            "size": 0,
            "why_not": "disabled: ring_size is 0",
            "recorders": [],
        }
    with pytest.raises(ReaderError, match=r"'blind'.*has no ring of ticks: disabled: ring_size is"):
        Reader("blind", daemon.folder)
    assert daemon.stop() == 0
    assert daemon.files() == []


def test_reader_follows_a_daemon_that_was_killed_and_started_anew(another):
    daemon = another("--robot", "chain4", name="again", ring_size=8).start()
    reader = Reader("again", daemon.folder)
    ring = daemon.folder / reader.directory["ring"]
    assert ring.stat().st_mode & 0o777 == 0o600
    with Client(daemon.endpoint, timeout=PATIENCE) as client:
        session = client.session("gravity")
        all_ticks(reader, session.number, lambda tick: tick["index"] > 3)
    daemon.kill()  # its ring stays until any daemon of this user starts
    daemon.start()
    eventually(lambda: bool(reader.poll()) and reader.restarts == 1)
    assert not ring.exists()
    with daemon.client() as client, client.session("gravity") as session:
        session.step(np.zeros(4), np.zeros(4))
        all_ticks(reader, session.number, lambda tick: tick["sequence"] >= 0)
    assert reader.lost == {}
    assert daemon.stop() == 0
    assert daemon.files() == []
