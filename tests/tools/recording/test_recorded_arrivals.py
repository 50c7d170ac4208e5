"""Ticks of sessions whose states are answered as they arrive: read, recorded and replayed."""

import numpy as np
import pytest

from support.daemons import daemon_of
from support.eventually import eventually
from support.viewing import Recording
from torqued.common.status import LAST
from torqued.kernels import Robot
from torqued.server.observation.layout import ARRIVAL, REPEATED, USED
from torqued.tools.recording.reader import Reader
from torqued.tools.recording.recording import read_recording
from torqued.tools.recording.replay import replay

#: Joints of these states do not answer to torques.
UNCHECKED = {"frozen_after": 0.0}
ON_ARRIVAL = {"transport": "memory", "clock": "state", **UNCHECKED}
ROBOT = "tree8"


daemon = daemon_of(ROBOT, ring_size=16)


def drive(session, ticks=60):
    """States that are answered one by one; the outputs."""
    outputs = []
    for k in range(ticks):
        phase = 0.02 * k + np.arange(8)
        state = 0.2 * np.sin(phase), 4.0 * np.cos(phase)
        outputs.append(session.step(*state, q_ref=state[0] + 0.05))
    return outputs


def taken(reader, numbers):
    """All ticks of sessions, once their last ones have come."""
    found = {number: [] for number in numbers}

    def whole():
        for number, ticks in reader.poll().ticks.items():
            found[number].extend(ticks)
        return all(ticks and ticks[-1]["status"] & LAST for ticks in found.values())

    eventually(whole)
    return {number: np.array(ticks) for number, ticks in found.items()}


def test_every_answer_is_in_the_ring_beside_ticks_of_the_loop(daemon, client):
    reader = Reader(daemon.name, daemon.folder)
    with (
        client.session("pd_plus", **ON_ARRIVAL) as first,
        client.session("pd_plus", **UNCHECKED) as looped,
        client.session("pd_plus", **ON_ARRIVAL) as second,
    ):
        outputs = {session.number: drive(session) for session in (first, looped, second)}
    ticks = taken(reader, outputs)
    assert reader.lost == {} and reader.lost_records == 0
    for session in (first, looped, second):
        found = ticks[session.number]
        assert found["index"].tolist() == list(range(len(found)))
        arrived = found["mode"] & ARRIVAL != 0
        assert arrived.any() == (session is not looped)
        used = found[found["mode"] & (USED | REPEATED) != 0]
        for output in outputs[session.number]:
            # The output of a state that no other follows is repeated.
            tick = used[np.argmin(np.abs(used["time"] - 1e9 * output.time))]
            assert tick["sequence"] == output.sequence
            assert np.array_equal(tick["tau"], output.tau)
            assert tick["time"] == pytest.approx(1e9 * output.time, abs=1e3)
        assert (found["deadline"][arrived] == found["time"][arrived]).all()
        used = found[found["mode"] & USED != 0]
        steps = np.rint(1e9 * used["elapsed"]).astype(int)
        assert (used["period"][1:] == steps[1:]).all() and used["period"][0] == 1_000_000
        assert (found["period"][found["mode"] & REPEATED != 0] == 0).all()


def test_next_session_in_a_slot_goes_on_in_its_ring(daemon, client):
    reader = Reader(daemon.name, daemon.folder)
    numbers = []
    for _ in range(3):
        with client.session("gravity", **ON_ARRIVAL) as session:
            session.step(np.zeros(8), np.zeros(8))
        numbers.append(session.number)
    ticks = taken(reader, numbers)
    assert all(found["index"][0] == 0 for found in ticks.values()) and reader.lost == {}
    assert client.stats().observation["size"] <= (16 + 3 * 4) * 2**20


def test_recording_has_them_and_replays_to_the_last_bit(daemon, client, tmp_path):
    with Recording(daemon, tmp_path) as recording:
        path = recording.file  # it has begun
        options = {"rate_limit": [30.0] * 8, "low_pass": 50.0}  # which go by the step of time
        with client.session("pd_plus", **options, **ON_ARRIVAL) as session:
            drive(session, 100)

        def recorded():
            found = read_recording(path).sessions.get(session.number)
            return found if found and found.ticks["status"][-1] & LAST else None

        found = eventually(recorded)
    assert found.from_start and found.has_all
    steps = found.ticks["period"][found.ticks["mode"] & ARRIVAL != 0]
    assert len(set(steps.tolist())) > 5
    result = replay(found, Robot.family("tree", 8), 1e-3, 0.0)
    assert result.compared > 50 and result.same, result.differences
    # It is the recorded step that makes it so.
    found.ticks["period"] = 4_000_000
    assert not replay(found, Robot.family("tree", 8), 1e-3, 1e-12).same
