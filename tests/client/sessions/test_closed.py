"""A session after `close`."""

import asyncio

import pytest

from support.daemons import daemon_of
from support.eventually import PATIENCE
from torqued.client import AsyncClient, TorquedError

daemon = daemon_of("chain20")


@pytest.mark.parametrize("method", ["step", "send", "receive", "latest"])
def test_closed_session_says_so(daemon, method):
    with daemon.client() as client:
        session = client.session("gravity")
        session.close()
        with pytest.raises(TorquedError, match="the session is closed"):
            getattr(session, method)(*([[0.0] * 20] * 2 if method in ("step", "send") else []))


def test_closed_session_of_asyncio_says_so(daemon):
    async def main():
        async with AsyncClient(daemon.endpoint, timeout=PATIENCE) as client:
            session = await client.session("gravity")
            await session.close()
            with pytest.raises(TorquedError, match="the session is closed"):
                await session.step([0.0] * 20, [0.0] * 20)

    asyncio.run(main())
