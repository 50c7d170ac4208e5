"""Sessions in asyncio, with the loop of a daemon in a process of its own."""

import asyncio

import numpy as np
import pytest

from support.agreement import assert_agree
from support.daemons import daemon_of
from support.eventually import PATIENCE
from support.standstill import standing_still
from torqued.client import AsyncClient, AsyncSession, TimeoutError, errors
from torqued.common.status import FALLBACK, STALE
from torqued.kernels import Robot

NV = 20
#: Gravity alone, also of what moves.
UNDAMPED = {"damping": 0.0}


daemon = daemon_of("chain20")


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", NV)


@pytest.fixture(scope="module")
def state(robot):
    return robot.random_state(np.random.default_rng(0))


def run(daemon, program):
    """Run `await program(client)`."""

    async def main():
        async with AsyncClient(daemon.endpoint, timeout=PATIENCE) as client:
            return await program(client)

    return asyncio.run(main())


async def open_sessions(client):
    return (await client.call("sessions", client.control_endpoint)).sessions


def test_session_that_has_ended_goes_on_returning_its_last_frame(daemon, state):
    async def program(client):
        async with await client.session("gravity", gains=UNDAMPED) as session:
            await session.step(*state)
            await client.call("close", session=session.number)
            last = await session.step(*state)
            assert last.is_last
            again = [await session.step(*state), await session.receive(), session.latest()]
            assert all(output is last for output in again)

    run(daemon, program)


def test_step_is_awaited_and_gives_the_output_of_its_state(daemon, robot, state):
    async def program(client):
        async with await client.session("gravity", gains=UNDAMPED) as session:
            assert isinstance(session, AsyncSession)
            return [await session.step(*state) for _ in range(3)]

    outputs = run(daemon, program)
    assert [output.sequence for output in outputs] == [1, 2, 3]
    assert all(np.allclose(output.tau, robot.gravity(state[0])) for output in outputs)


def test_session_is_awaited_or_entered(daemon, state):
    async def program(client):
        async with client.session("gravity", gains=UNDAMPED) as entered:
            awaited = await client.session("gravity", gains=UNDAMPED)
            assert len(await client.sessions()) == 2
            assert (await entered.step(*state)).sequence == 1
        assert entered.closed and not awaited.closed
        with pytest.raises(errors.FieldError, match="law"):
            async with client.session("no such law"):
                pass
        return await client.sessions()

    assert [session["law"] for session in run(daemon, program)] == ["gravity"]
    assert run(daemon, open_sessions) == []


def test_other_work_goes_on_while_a_session_waits(daemon, robot, state):
    async def program(client):
        async with await client.session("stream", want=["M"]) as session:
            waiting = asyncio.create_task(session.step(*state))
            replies = await asyncio.gather(*(client.dynamics(*state) for _ in range(5)))
            return (await waiting).M, replies

    M, replies = run(daemon, program)
    assert all(np.allclose(M, reply.M, rtol=1e-12) for reply in replies)


def test_sending_while_another_task_receives_loses_no_output(daemon, state):
    async def program(client):
        async with await client.session("gravity", gains=UNDAMPED) as session:

            async def receive():
                while (output := await session.receive()).sequence < 50:
                    pass
                return output

            receiving = asyncio.create_task(receive())
            for _ in range(50):
                session.send(*state)
                await asyncio.sleep(0)
            return await receiving

    assert run(daemon, program).sequence == 50


def test_latest_does_not_wait(daemon, state):
    async def program(client):
        async with await client.session("gravity", gains=UNDAMPED) as session:
            sequence = session.send(*state)
            while (output := session.latest()) is None or output.sequence < sequence:
                await asyncio.sleep(0.001)
            while session.latest() is not None:
                pass
            return output

    # On a busy machine the newest output may be one of a state that has grown stale meanwhile.
    output = run(daemon, program)
    assert output.sequence == 1 and output.status & ~(STALE | FALLBACK) == 0


def test_two_sessions_at_once_get_their_own_outputs(daemon, robot, state):
    async def program(client):
        one, two = await asyncio.gather(
            client.session("gravity", gains=UNDAMPED), client.session("gravity", gains=UNDAMPED)
        )
        q, v = state
        steps = one.step(q, v), two.step(0.5 * q, v)
        outputs = await asyncio.gather(*steps)
        assert len(await open_sessions(client)) == 2
        return outputs

    first, second = run(daemon, program)
    assert np.allclose(first.tau, robot.gravity(state[0]))
    assert np.allclose(second.tau, robot.gravity(0.5 * state[0]))


def test_closing_ends_the_session_however_it_is_done(daemon, state):
    async def by_block(client):
        async with await client.session("gravity", gains=UNDAMPED) as session:
            assert len(await open_sessions(client)) == 1
        assert session.closed
        await session.close()  # again: nothing to do
        return await open_sessions(client)

    async def not_at_all(client):
        await client.session("gravity", gains=UNDAMPED)

    assert run(daemon, by_block) == []
    run(daemon, not_at_all)
    assert run(daemon, open_sessions) == []


def test_silence_ends_in_a_timeout(daemon, state):
    async def program(client):
        session = await client.session("gravity", gains=UNDAMPED)
        await session.receive()  # by now it is connected
        with standing_still(daemon.process.pid):
            with pytest.raises(TimeoutError, match="no fresh output for state 1 within"):
                await session.step(*state, timeout=0.1)
            with pytest.raises(TimeoutError, match="no fresh output within"):
                await session.receive(0.05)

    run(daemon, program)


def test_state_of_the_wrong_size_is_refused(daemon):
    async def program(client):
        async with await client.session("gravity", gains=UNDAMPED) as session:
            with pytest.raises(ValueError, match="q has shape"):
                session.send([0.0], [0.0])

    run(daemon, program)


def test_batches_and_requests_are_under_way_together(daemon, robot, state):
    q = np.tile(state[0], (100, 1))

    async def program(client):
        batch, single, tau, a = await asyncio.gather(
            client.batch("dynamics", q=q, want=["g"]),
            client.dynamics(state[0], want=["g"]),
            client.inverse_dynamics(*state, np.ones(NV)),
            client.forward_dynamics(*state, np.zeros(NV)),
        )
        assert_agree(batch.g, np.tile(single.g, (100, 1)), 1e-12)  # but for rounding
        assert np.array_equal(tau, robot.inverse_dynamics(*state, np.ones(NV)))
        assert np.array_equal(a, robot.forward_dynamics(*state, np.zeros(NV)))
        async with await client.session("gravity", gains=UNDAMPED):
            with pytest.raises(errors.OperationError) as caught:
                await client.reload()
            assert caught.value.code == "in_use"
        assert (await client.reload()).nv == NV

    run(daemon, program)
