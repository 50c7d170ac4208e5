"""A recorder beside as many sessions of a humanoid as a daemon has."""

import signal
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest
from mcap.reader import make_reader

from support.eventually import PATIENCE, eventually
from torqued.common.status import LAST
from torqued.server.loop.loop_records import MAX_SESSIONS
from torqued.tools.recording.recording import read_recording

STEPS = 150
#: On its hooks, so that every law may have it.
OPTIONS = ("--base", "fixed", "--rate", "250")


@pytest.mark.slow
def test_sixteen_sessions_of_a_humanoid_are_recorded_without_a_loss(another, tmp_path):
    """In lock step, each as fast as the loop answers. Slower than 1 kHz where that is much for the
    machine: it is about what is in the file."""
    options = ("--robot", "talos", *OPTIONS)
    daemon = another(*options, name="talos", sessions_per_client=MAX_SESSIONS).start()
    command = ["record", "--robot", "talos", "--folder", str(daemon.folder), "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "torqued.tools.cli.main", *command],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        (path,) = eventually(lambda: list(tmp_path.glob("*.mcap")))
        sent = driven(daemon)
        eventually(lambda: is_whole(path, sent), patience=PATIENCE)
    finally:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and " 0 lost" in said
    recording = read_recording(path)
    assert recording.lost == {}
    for number, outputs in sent.items():
        session = recording.sessions[number]
        assert session.from_start and session.has_all
        ticks = {int(tick["tick"]): tick for tick in session.ticks}
        for output in outputs:
            tick = ticks[output.tick]
            assert tick["sequence"] == output.sequence and tick["status"] == output.status
            assert np.array_equal(tick["tau"], output.tau)
    with path.open("rb") as file:  # by an index that the package's own reader goes by
        summary = make_reader(file).get_summary()
    counts = summary.statistics.channel_message_counts
    by_topic = {channel.topic: counts[n] for n, channel in summary.channels.items()}
    for number, session in recording.sessions.items():
        assert by_topic[f"/sessions/{number}"] == len(session.ticks)


def driven(daemon):
    """Sixteen sessions in lock step; all outputs, by session."""
    rng = np.random.default_rng(0)
    with ExitStack() as stack:
        client = stack.enter_context(daemon.client())
        robot = client.hello()
        sessions = [stack.enter_context(client.session("pd_plus")) for _ in range(MAX_SESSIONS)]
        outputs = {session.number: [] for session in sessions}
        for _ in range(STEPS):
            v = 0.01 * rng.normal(size=robot.nv)
            sent = [session.send(robot.neutral, v) for session in sessions]
            for session, sequence in zip(sessions, sent, strict=True):
                answered = False
                while not answered:
                    output = session.receive()
                    outputs[session.number].append(output)
                    answered = output.sequence == sequence
    return outputs


def is_whole(path, sent):
    sessions = read_recording(path).sessions
    return all(n in sessions and sessions[n].ticks["status"][-1] & LAST for n in sent)
