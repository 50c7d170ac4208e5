"""States that ZeroMQ loses: `step` sends them again, and the daemon ignores copies."""

import asyncio

import numpy as np
import pytest

from support.daemons import daemon_of, described
from support.eventually import PATIENCE
from torqued.client import AsyncClient, TimeoutError

daemon = daemon_of("chain6")

LOCK_STEP = {"law": "passivity", "clock": "lockstep", "frozen_after": 0.0}


class Wire:
    """Delivers each state of a session so many times."""

    def __init__(self, session, copies):
        self._send, self._copies, self.sent = session._transport.send, copies, 0
        session._transport.send = self

    def __call__(self, frame):
        for _ in range(next(self._copies)):
            self._send(frame)
        self.sent += 1


def lossy():
    """Loses the first of every three states, and copies the second."""
    while True:
        yield from (0, 2, 1)


def states(count=30):
    rng = np.random.default_rng(3)
    return [(1e-3 * k, *(0.1 * rng.normal(size=6) for _ in "qv")) for k in range(1, count)]


def drive(client, copies=None):
    with client.session(**LOCK_STEP) as session:
        wire = Wire(session, copies) if copies else None
        outputs = [session.step(q, v, at=at) for at, q, v in states()]
        counters = described(client, session)
    return outputs, counters, wire


def test_lost_and_doubled_states_change_no_torque(client):
    expected, _, _ = drive(client)
    found, counters, wire = drive(client, lossy())
    assert wire.sent > len(found)
    assert [x.status for x in found] == [x.status for x in expected]
    assert all(np.array_equal(x.tau, y.tau) for x, y in zip(found, expected, strict=True))
    assert counters["states"] == len(found)
    assert counters["old_states"] == counters["bad_states"] == 0


def test_momentary_torque_is_in_the_copy(client):
    with client.session("torque", clock="lockstep", low_pass=0.0, walls=False) as session:
        Wire(session, lossy())
        output = session.step(np.zeros(6), np.zeros(6), tau=np.full(6, 0.1))
    assert np.allclose(output.tau, 0.1)


def test_state_that_never_arrives_is_a_timeout(client):
    with client.session("gravity", clock="lockstep") as session:
        wire = Wire(session, iter(lambda: 0, 1))
        with pytest.raises(TimeoutError, match=r"no fresh output for state 1 within 0\.2 s"):
            session.step(np.zeros(6), np.zeros(6), timeout=0.2)
        assert wire.sent >= 2


def test_output_of_a_state_that_was_sent_before(client):
    with client.session("gravity", clock="lockstep") as session:
        Wire(session, lossy())
        for k in range(5):
            sequence = session.send(np.full(6, 0.1 * k), np.zeros(6), at=1e-3 * k)
            assert session.receive(PATIENCE, sequence).sequence == sequence


def test_asyncio_sends_them_again_too(daemon, client):
    expected, _, _ = drive(client)

    async def main():
        async with AsyncClient(daemon.endpoint, timeout=PATIENCE) as client:
            session = await client.session(**LOCK_STEP)
            Wire(session, lossy())
            return [await session.step(q, v, at=at) for at, q, v in states()]

    found = asyncio.run(main())
    assert all(np.array_equal(x.tau, y.tau) for x, y in zip(found, expected, strict=True))
